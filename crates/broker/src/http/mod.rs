//! The HTTP port: liveness, readiness, metrics, what the command line asks of a running broker, and what pages need.
//!
//! | path | answer |
//! |---|---|
//! | `GET /livez` | 200 while the process works, also during recovery |
//! | `GET /readyz` | 200 once clients are served, else 503 with what is still to be done |
//! | `GET /metrics` | Prometheus text |
//! | `GET /cluster` | JSON: this node, the cluster, all brokers with their addresses |
//! | `POST /cluster/token` | JSON: a single-use join token; from the same machine only |
//! | `POST /certificate/rotate` | shows browsers the next certificate at once; from the same machine only |
//! | `GET /brokers` | JSON: where pages reach each live broker, with the hashes of its certificates |
//! | `GET /ws` | a WebSocket: one connection of the Kafka protocol |
//! | `GET /client/`, `/examples/` | the browser package and its examples, if they were built in |
//! | `GET /` | links to all of it |

mod answer;
mod files;
mod pace;
mod websocket;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, HOST, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, ORIGIN, VARY,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use self::answer::{Answer, json, not_allowed, text};
use self::pace::Paced;
use self::websocket::Carries;
pub(crate) use self::websocket::{PATH as WEBSOCKET_PATH, Socket, WebSocket};
use crate::browser::{Rules, Visit};
use crate::doors::{TLS_HANDSHAKE, TOLD_AGAIN, first_byte};
use crate::error::CertificateError;
use crate::seats::Seats;
use crate::status::{Status, TokenRefused};

/// A request's head must be there within this time (a guess: a person's slow link needs less).
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Connections at once, WebSockets not counted; a health check never needs more.
const CONNECTIONS_MAX: usize = 256;

/// What the HTTP port serves; lives on Control's thread.
pub(crate) struct Site {
    pub(crate) status: Status,
    pub(crate) rules: Arc<Rules>,
    pub(crate) seats: Seats,
    /// For HTTPS; none where no certificate of the user's serves.
    pub(crate) tls: Option<TlsAcceptor>,
    /// Shows browsers the next certificate.
    pub(crate) rotate: Box<dyn Fn() -> Result<(), CertificateError>>,
    /// Hands a WebSocket to a shard.
    pub(crate) let_in: Box<dyn Fn(WebSocket)>,
}

/// One connection's ends.
#[derive(Clone, Copy)]
struct Ends {
    local: Option<SocketAddr>,
    peer: SocketAddr,
}

/// Accepts connections for ever. Runs on the thread that owns `site`.
pub(crate) async fn serve(listener: TcpListener, site: Rc<Site>) {
    let permits = Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX));
    let mut told: Option<Instant> = None;
    loop {
        let accepted = listener.accept().await;
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match accepted {
            Ok((stream, peer)) => {
                // An answer over a WebSocket must not wait until those before it are acknowledged.
                if let Err(e) = stream.set_nodelay(true) {
                    tracing::debug!("{peer}: {e}");
                }
                let site = site.clone();
                spawn_local(async move {
                    let ends = Ends { local: stream.local_addr().ok(), peer };
                    greet(stream, ends, site).await;
                    drop(permit);
                });
            }
            Err(e) => {
                if told.is_none_or(|told| told.elapsed() > TOLD_AGAIN) {
                    tracing::warn!("the HTTP port cannot accept: {e}; it goes on trying");
                    told = Some(Instant::now());
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// HTTPS begins with a byte that HTTP never begins with.
async fn greet(stream: TcpStream, ends: Ends, site: Rc<Site>) {
    let Some(tls) = site.tls.clone() else { return connection(stream, ends, site).await };
    let Ok(Ok(Some(first))) = timeout(HEAD_TIMEOUT, first_byte(&stream)).await else { return };
    if first != TLS_HANDSHAKE {
        return connection(stream, ends, site).await;
    }
    match timeout(HEAD_TIMEOUT, tls.accept(stream)).await {
        Ok(Ok(stream)) => connection(stream, ends, site).await,
        Ok(Err(e)) => tracing::debug!("TLS with {} failed: {e}", ends.peer),
        Err(_) => tracing::debug!("TLS with {} took too long", ends.peer),
    }
}

async fn connection<S: Carries>(stream: S, ends: Ends, site: Rc<Site>) {
    let respond = async move |request| answer::<S>(request, ends, &site).await;
    if let Err(e) = converse(stream, respond).await {
        tracing::debug!("HTTP connection from {} ended: {e}", ends.peer);
    }
}

/// Answers requests until either side ends the connection, or the client neither asks nor takes what it asked for.
async fn converse<S: Carries>(
    stream: S,
    answer: impl AsyncFn(Request<Incoming>) -> Answer,
) -> hyper::Result<()> {
    let answer = &answer;
    let service =
        service_fn(|request: Request<Incoming>| async move { Ok::<_, Infallible>(answer(request).await.0) });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(HEAD_BYTES_MAX);
    server.serve_connection(TokioIo::new(Paced::new(stream)), service).with_upgrades().await
}

async fn answer<S: Carries>(mut request: Request<Incoming>, ends: Ends, site: &Rc<Site>) -> Answer {
    let status = &site.status;
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/livez") => text(StatusCode::OK, "live\n".to_owned()),
        (&Method::GET, "/readyz") => match status.unready() {
            None => text(StatusCode::OK, "ready\n".to_owned()),
            Some(reason) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
        },
        (&Method::GET, "/metrics") => text(StatusCode::OK, status.metrics(site.seats.taken()).await),
        (&Method::GET, "/cluster") => json(StatusCode::OK, &status.cluster()),
        (&Method::GET, "/brokers") => brokers(&request, ends, site),
        (&Method::GET, websocket::PATH) => web_socket::<S>(&mut request, ends, site),
        (&Method::POST, "/cluster/token") => token(ends.peer.ip(), status).await,
        (&Method::POST, "/certificate/rotate") => rotate(ends.peer.ip(), site),
        (_, "/livez" | "/readyz" | "/metrics" | "/cluster" | "/brokers" | websocket::PATH) => {
            not_allowed("GET")
        }
        (&Method::GET | &Method::HEAD, "/") => files::home(request.headers().get(IF_NONE_MATCH)),
        (&Method::GET | &Method::HEAD, path) if files::owns(path) => {
            files::answer(path, request.headers().get(IF_NONE_MATCH))
        }
        (_, "/cluster/token" | "/certificate/rotate") => not_allowed("POST"),
        _ => text(
            StatusCode::NOT_FOUND,
            "no such page; / lists what there is, /livez and /readyz tell of the health\n".to_owned(),
        ),
    }
}

/// The refusal of a page that may not connect.
fn refusal(headers: &HeaderMap, ends: Ends, site: &Site) -> Option<Answer> {
    let visit = Visit {
        origin: headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or("null")),
        host: value_of(headers, HOST),
        local: ends.local.map(|local| local.ip()),
    };
    let refused = site.rules.origins.check(visit).err()?;
    tracing::info!("{}: {refused}", ends.peer);
    Some(text(StatusCode::FORBIDDEN, format!("{refused}\n")))
}

fn value_of(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn brokers(request: &Request<Incoming>, ends: Ends, site: &Site) -> Answer {
    if let Some(refused) = refusal(request.headers(), ends, site) {
        return refused;
    }
    let answer = json(StatusCode::OK, &site.status.brokers()).with(VARY, HeaderValue::from_static("origin"));
    match request.headers().get(ORIGIN) {
        Some(origin) => answer.with(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone()),
        None => answer,
    }
}

fn web_socket<S: Carries>(request: &mut Request<Incoming>, ends: Ends, site: &Rc<Site>) -> Answer {
    if let Some(refused) = refusal(request.headers(), ends, site) {
        return refused;
    }
    if let Some(reason) = site.status.unready() {
        return text(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n"));
    }
    let seat = match site.seats.take_with_descriptor() {
        Ok(seat) => seat,
        Err(full) => {
            tracing::warn!("{} is not let in: {full}", ends.peer);
            return text(StatusCode::SERVICE_UNAVAILABLE, format!("{full}\n"));
        }
    };
    let agreed = websocket::agree(request);
    if agreed.0.status() != StatusCode::SWITCHING_PROTOCOLS {
        return agreed;
    }
    let upgrade = hyper::upgrade::on(request);
    let site = site.clone();
    spawn_local(async move {
        if let Some(socket) = websocket::carried::<S>(upgrade, ends.local, ends.peer, seat).await {
            (site.let_in)(socket);
        }
    });
    agreed
}

/// Replaces the certificate for browsers at once.
fn rotate(peer: IpAddr, site: &Site) -> Answer {
    if !peer.to_canonical().is_loopback() {
        return text(StatusCode::FORBIDDEN, "only on the broker's own machine\n".to_owned());
    }
    match (site.rotate)() {
        Ok(()) => text(StatusCode::OK, "browsers are shown the next certificate\n".to_owned()),
        Err(refused @ CertificateError::OfTheUser) => text(StatusCode::CONFLICT, format!("{refused}\n")),
        Err(e) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{e}\n")),
    }
}

async fn token(peer: IpAddr, status: &Status) -> Answer {
    if !peer.to_canonical().is_loopback() {
        return text(
            StatusCode::FORBIDDEN,
            "join tokens are given on the broker's own machine only\n".to_owned(),
        );
    }
    match status.token().await {
        Ok(token) => json(StatusCode::OK, &serde_json::json!({ "token": token })),
        Err(refused @ TokenRefused::NoAuthority) => text(StatusCode::CONFLICT, format!("{refused}\n")),
        Err(refused) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{refused}\n")),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    impl Carries for DuplexStream {
        fn socket(self) -> std::io::Result<Socket> {
            Err(std::io::ErrorKind::Unsupported.into())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_again_and_again_and_reads_nothing_does_not_keep_its_place() {
        let (near, mut far) = duplex(1 << 10);
        let server = converse(near, async |_| text(StatusCode::OK, "x".repeat(10_000)));
        let client = async {
            // Fails once the other end is gone.
            while far.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.is_ok() {}
        };
        let (ended, ()) =
            timeout(Duration::from_secs(3600), async { tokio::join!(server, client) }).await.unwrap();
        assert!(ended.is_err());
    }
}
