//! How a session begins: settings both ways, then the request for it (RFC 9114, RFC 9220, WebTransport over HTTP/3).

use broker_core::Door;
use quinn::{RecvStream, SendStream};
use web_transport_proto as proto;
use web_transport_proto::http::StatusCode;

use super::Session;
use super::closing::{Closing, data_frame};
use crate::browser::{Rules, Visit};

/// Where pages connect.
pub(crate) const PATH: &str = "/kafka";

/// Requests that are no WebTransport and are answered, before the connection is closed.
const REQUESTS_MAX: usize = 4;

/// How long the client may take to read a refusal.
const REFUSAL_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);

const ONLY_WEBTRANSPORT: &str =
    "only WebTransport is served here, at /kafka; pages are on the HTTP port of the broker\n";

/// A session's two ends of the stream on which it was asked for.
pub(super) struct Connect {
    pub(super) writer: SendStream,
    pub(super) reader: RecvStream,
}

/// Begins a session, or says why not. Ends when the client's settings and its request have come.
pub(super) async fn open(session: &Session, rules: &Rules, door: Door) -> Result<Connect, Closing> {
    send_settings(session).await?;
    session.await_settings().await?;
    for _ in 0..REQUESTS_MAX {
        let (writer, mut reader) = session.connection.accept_bi().await?;
        match proto::ConnectRequest::read(&mut reader).await {
            Ok(request) => return decide(request, Connect { writer, reader }, rules, door).await,
            Err(e) => match status_for(&e) {
                Some(status) => drop(refuse(writer, status, ONLY_WEBTRANSPORT).await),
                None => return Err(Closing::Request(e)),
            },
        }
    }
    Err(Closing::OnlyWebTransport)
}

async fn send_settings(session: &Session) -> Result<(), Closing> {
    let mut settings = proto::Settings::default();
    settings.enable_webtransport(1);
    let mut control = session.connection.open_uni().await?;
    settings.write(&mut control).await.map_err(Closing::Settings)?;
    session.keep(control);
    Ok(())
}

/// The answer to a whole request that asks for something else; none if it is no request at all.
fn status_for(error: &proto::ConnectError) -> Option<StatusCode> {
    use proto::ConnectError as E;
    match error {
        E::WrongMethod(_) | E::InvalidMethod => Some(StatusCode::METHOD_NOT_ALLOWED),
        E::WrongProtocol(_) | E::InvalidProtocol => Some(StatusCode::NOT_IMPLEMENTED),
        E::WrongScheme(_)
        | E::WrongAuthority
        | E::WrongPath
        | E::InvalidUrl(_)
        | E::InvalidHttpHeaderName
        | E::InvalidHttpHeaderValue
        | E::StructuredFieldError(_) => Some(StatusCode::BAD_REQUEST),
        E::FieldSectionTooLarge => Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        _ => None,
    }
}

async fn decide(
    request: proto::ConnectRequest,
    mut connect: Connect,
    rules: &Rules,
    door: Door,
) -> Result<Connect, Closing> {
    if request.url.path() != PATH {
        return Err(refuse(connect.writer, StatusCode::NOT_FOUND, ONLY_WEBTRANSPORT).await);
    }
    let origin = request.headers.get("origin").map(|origin| origin.to_str().unwrap_or("null"));
    let host = request.url.host_str().unwrap_or_default();
    let visit = Visit { origin, host, local: door.local.map(|local| local.ip()) };
    if let Err(refused) = rules.origins.check(visit) {
        tracing::info!("{:?}: {refused}", door.peer);
        return Err(refuse(connect.writer, StatusCode::FORBIDDEN, &format!("{refused}\n")).await);
    }
    proto::ConnectResponse::OK.write(&mut connect.writer).await.map_err(Closing::Request)?;
    Ok(connect)
}

/// Answers a request with a status and a text, and waits until the client has it.
async fn refuse(mut writer: SendStream, status: StatusCode, text: &str) -> Closing {
    let answered = async {
        proto::ConnectResponse::new(status).write(&mut writer).await.ok()?;
        writer.write_all(&data_frame(|payload| payload.extend_from_slice(text.as_bytes()))).await.ok()?;
        writer.finish().ok()?;
        writer.stopped().await.ok()
    };
    // A client that does not wait for the answer is refused all the same.
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, answered).await;
    Closing::Refused(status.as_u16())
}
