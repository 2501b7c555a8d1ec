//! Why a WebTransport session ends, with the codes and the reason that the page or its browser sees.
//!
//! A session that has begun is closed by a capsule, whose code and reason a page reads from `transport.closed`; before that
//! there is only the connection, which is closed with a code of HTTP/3 (RFC 9114, section 8.1) and the same reason.

use std::time::Duration;

use broker_core::CloseReason;
use kafka_wire::FrameError;
use quinn::{Connection, SendStream, VarInt};
use web_transport_proto as proto;

/// How long a browser may take to read why its session ends (a guess: a slow link needs a second).
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

const H3_NO_ERROR: u32 = 0x100;
const H3_GENERAL_PROTOCOL_ERROR: u32 = 0x101;
const H3_STREAM_CREATION_ERROR: u32 = 0x103;
const H3_FRAME_UNEXPECTED: u32 = 0x105;
const H3_EXCESSIVE_LOAD: u32 = 0x107;
const H3_SETTINGS_ERROR: u32 = 0x109;

/// Why a session ends.
#[derive(Debug, thiserror::Error)]
pub(super) enum Closing {
    /// The client closed the session or is gone.
    #[error("closed by the client")]
    ByClient,
    /// The connection failed.
    #[error(transparent)]
    Connection(#[from] quinn::ConnectionError),
    /// No session was begun in time.
    #[error("no WebTransport session was begun in time")]
    HalfOpen,
    /// The client's settings are not those of HTTP/3.
    #[error("the settings of HTTP/3 are wrong: {0}")]
    Settings(proto::SettingsError),
    /// The client does not speak WebTransport.
    #[error("the client does not offer WebTransport")]
    NoWebTransport,
    /// The bytes on the first stream are no request.
    #[error("this is no request of HTTP/3: {0}")]
    Request(proto::ConnectError),
    /// The request for a session was answered with this status.
    #[error("the request for a session was refused with status {0}")]
    Refused(u16),
    /// Too many requests that are no WebTransport.
    #[error("only WebTransport is served here")]
    OnlyWebTransport,
    /// An unidirectional stream.
    #[error("unidirectional streams are not taken: open bidirectional ones")]
    Unidirectional,
    /// A datagram.
    #[error("datagrams are not taken: open bidirectional streams")]
    Datagram,
    /// A stream that begins with something else.
    #[error("a stream does not begin as one of this session")]
    StreamHeader,
    /// A stream that does not say in time what it is.
    #[error("a stream does not say in time what it is")]
    StreamHalfOpen,
    /// A stream's bytes are no frame of the Kafka protocol that is taken here.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The broker ended the connection of a stream.
    #[error(transparent)]
    Broker(#[from] CloseReason),
    /// No stream was open for too long.
    #[error("no stream was open for {} s", .0.as_secs())]
    Idle(Duration),
}

impl Closing {
    /// The code of a session's end, as `docs/browser.md` lists them.
    const fn code(&self) -> u32 {
        match self {
            Self::ByClient | Self::Connection(_) => 0,
            Self::Idle(_) | Self::Broker(CloseReason::Idle) => 1,
            Self::Broker(CloseReason::Stopping) => 2,
            Self::Frame(_) | Self::Broker(CloseReason::Malformed(_)) => 3,
            Self::Unidirectional => 4,
            Self::Datagram => 5,
            Self::StreamHeader | Self::StreamHalfOpen => 6,
            Self::Broker(CloseReason::FetchAsReplica) => 7,
            Self::Broker(_) => 8,
            Self::HalfOpen
            | Self::Settings(_)
            | Self::NoWebTransport
            | Self::Request(_)
            | Self::Refused(_)
            | Self::OnlyWebTransport => 9,
        }
    }

    const fn http3_code(&self) -> u32 {
        match self {
            Self::Settings(_) | Self::NoWebTransport => H3_SETTINGS_ERROR,
            Self::Request(proto::ConnectError::UnexpectedFrame(_)) => H3_FRAME_UNEXPECTED,
            Self::Request(_) | Self::StreamHeader => H3_GENERAL_PROTOCOL_ERROR,
            Self::Unidirectional => H3_STREAM_CREATION_ERROR,
            Self::OnlyWebTransport => H3_EXCESSIVE_LOAD,
            _ => H3_NO_ERROR,
        }
    }

    /// Closes a connection on which no session has begun.
    pub(super) fn close_connection(&self, connection: &Connection) {
        connection.close(VarInt::from_u32(self.http3_code()), self.to_string().as_bytes());
    }

    /// Closes a session, and lets the browser read why before the connection goes.
    pub(super) async fn close_session(&self, connection: &Connection, mut connect: SendStream) {
        if !matches!(self, Self::ByClient | Self::Connection(_)) {
            let capsule =
                proto::Capsule::CloseWebTransportSession { code: self.code(), reason: self.to_string() };
            let told = async {
                connect.write_all(&data_frame(|payload| capsule.encode(payload))).await?;
                // A stream that is finished already has told it.
                let _ = connect.finish();
                connection.closed().await;
                Ok::<_, quinn::WriteError>(())
            };
            if let Ok(Err(e)) = tokio::time::timeout(CLOSE_TIMEOUT, told).await {
                tracing::debug!("a session could not be closed in good order: {e}");
            }
        }
        self.close_connection(connection);
    }
}

/// A DATA frame (RFC 9114, section 7.2.1).
pub(super) fn data_frame(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut payload = Vec::new();
    write(&mut payload);
    let mut frame = Vec::new();
    proto::Frame::DATA.encode(&mut frame);
    proto::VarInt::from_u32(u32::try_from(payload.len()).unwrap_or(u32::MAX)).encode(&mut frame);
    frame.extend(payload);
    frame
}
