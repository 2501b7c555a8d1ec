//! WebTransport (HTTP/3): pages in browsers. One connection carries one session; each bidirectional stream that the page
//! opens on it is one Kafka connection.
//!
//! Of HTTP/3 there is only what a session needs. Everything that a client may send beside is read and refused, or thrown
//! away, within the windows that the connection grants, so that a connection costs a bounded amount of memory.

mod closing;
mod opening;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use broker_core::{CloseReason, Door};
use log_store::Disk;
use quinn::{Connection, RecvStream, SendStream, VarInt};
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio::time::timeout;
use web_transport_proto as proto;

use self::closing::Closing;
use self::opening::Connect;
pub(crate) use self::opening::PATH;
use super::streams::OpenStreams;
use crate::browser::Rules;
use crate::carrier::{self, Ended, Served};
use crate::host::Host;

/// The protocol of browsers over QUIC.
pub(crate) const ALPN_HTTP3: &[u8] = b"h3";

/// Bytes of answers that wait within QUIC until a page takes them, over all streams of its session: with what else waits
/// for one page, under 2 MiB.
const SEND_WINDOW_BYTES: u64 = 512 << 10;

/// Who does not begin a session, or does not say what a stream is, within this time is let go (a guess: slow links need a
/// second).
const OPENING_TIMEOUT: Duration = Duration::from_secs(10);

/// Thrown away at once from streams that mean nothing here, in bytes.
const DISCARD_BYTES: usize = 1024;

/// Further requests on a connection that has its session (RFC 9114, section 8.1).
const H3_REQUEST_REJECTED: u32 = 0x10b;

/// A connection and what is known of its session; shared by its tasks.
struct Session {
    connection: Connection,
    /// Our control stream, which must stay open as long as the connection.
    control: RefCell<Option<SendStream>>,
    /// Whether the client offers WebTransport, once its settings have come.
    settings: Cell<Option<bool>>,
    settled: Notify,
    /// Why the connection is to be closed, once it is.
    closing: RefCell<Option<Closing>>,
    wanted: Notify,
    streams: Rc<OpenStreams>,
    /// Who does not begin a session, or does not say what a stream is, within this time is let go.
    patience: Duration,
}

/// Serves one connection until either side ends it.
pub(crate) async fn serve<D>(host: Rc<Host<D>>, rules: &Rules, connection: Connection, door: Door)
where
    D: Disk + 'static,
    D::File: Served,
{
    connection.set_send_window(SEND_WINDOW_BYTES);
    let session = Rc::new(Session::new(connection, OPENING_TIMEOUT.min(rules.idle)));
    spawn_local(session.clone().take_unidirectional());
    let opened = tokio::select! {
        opened = timeout(session.patience, opening::open(&session, rules, door)) => {
            opened.unwrap_or(Err(Closing::HalfOpen))
        }
        closing = session.wanted() => Err(closing),
    };
    let Connect { writer, reader } = match opened {
        Ok(connect) => connect,
        Err(closing) => {
            tracing::debug!("WebTransport with {:?} ended: {closing}", door.peer);
            return closing.close_connection(&session.connection);
        }
    };
    let id = VarInt::from(writer.id()).into_inner();
    let closing = tokio::select! {
        closing = session.wanted() => closing,
        closing = accept_streams(&host, &session, id, door) => closing,
        closing = session.await_datagram() => closing,
        () = session.streams.idle_for(rules.idle) => Closing::Idle(rules.idle),
        () = session_end(reader) => Closing::ByClient,
    };
    tracing::debug!("WebTransport with {:?} ended: {closing}", door.peer);
    closing.close_session(&session.connection, writer).await;
}

impl Session {
    fn new(connection: Connection, patience: Duration) -> Self {
        Self {
            connection,
            control: RefCell::default(),
            settings: Cell::new(None),
            settled: Notify::new(),
            closing: RefCell::default(),
            wanted: Notify::new(),
            streams: Rc::default(),
            patience,
        }
    }

    fn keep(&self, control: SendStream) {
        self.control.replace(Some(control));
    }

    /// Asks for the end of the connection; the first reason counts.
    fn close(&self, closing: Closing) {
        self.closing.borrow_mut().get_or_insert(closing);
        self.wanted.notify_one();
    }

    async fn wanted(&self) -> Closing {
        loop {
            if let Some(closing) = self.closing.take() {
                return closing;
            }
            self.wanted.notified().await;
        }
    }

    /// Waits for the client's settings.
    async fn await_settings(&self) -> Result<(), Closing> {
        loop {
            match self.settings.get() {
                Some(true) => return Ok(()),
                Some(false) => return Err(Closing::NoWebTransport),
                None => self.settled.notified().await,
            }
        }
    }

    /// Takes the client's unidirectional streams as long as the connection lives.
    async fn take_unidirectional(self: Rc<Self>) {
        while let Ok(stream) = self.connection.accept_uni().await {
            let session = self.clone();
            spawn_local(async move {
                if let Err(closing) = session.read_unidirectional(stream).await {
                    session.close(closing);
                }
            });
        }
    }

    /// The control stream is read for its settings; what else comes on it, and the streams of header compression, which is
    /// not used, are thrown away. A page's own stream is refused.
    async fn read_unidirectional(&self, mut stream: RecvStream) -> Result<(), Closing> {
        let kind = match timeout(self.patience, proto::VarInt::read(&mut stream)).await {
            Ok(Ok(kind)) => proto::StreamUni(kind),
            Ok(Err(_)) => return Ok(()),
            Err(_) => return Err(Closing::StreamHalfOpen),
        };
        if kind == proto::StreamUni::WEBTRANSPORT {
            return Err(Closing::Unidirectional);
        }
        if kind == proto::StreamUni::CONTROL && self.settings.get().is_none() {
            self.read_settings(&mut stream).await?;
        }
        discard(stream).await;
        Ok(())
    }

    async fn read_settings(&self, stream: &mut RecvStream) -> Result<(), Closing> {
        let mut kind = Vec::new();
        proto::StreamUni::CONTROL.encode(&mut kind);
        let mut whole = kind.as_slice().chain(stream);
        let settings = proto::Settings::read(&mut whole).await.map_err(Closing::Settings)?;
        self.settings.set(Some(settings.supports_webtransport() > 0));
        self.settled.notify_one();
        Ok(())
    }

    async fn await_datagram(&self) -> Closing {
        self.connection.read_datagram().await.map_or_else(Closing::from, |_| Closing::Datagram)
    }
}

/// Reads what the client says about its session until it ends it.
async fn session_end(reader: RecvStream) {
    let mut capsules = proto::Http3CapsuleReader::new(reader);
    while let Ok(Some(capsule)) = capsules.read().await {
        if let proto::Capsule::CloseWebTransportSession { code, reason } = capsule {
            return tracing::debug!("a page closes its session with code {code}: {reason}");
        }
    }
}

/// Serves each stream by a task of its own until the connection ends.
async fn accept_streams<D>(host: &Rc<Host<D>>, session: &Rc<Session>, id: u64, door: Door) -> Closing
where
    D: Disk + 'static,
    D::File: Served,
{
    loop {
        let (writer, reader) = match session.connection.accept_bi().await {
            Ok(stream) => stream,
            Err(e) => return e.into(),
        };
        let open = session.streams.open();
        let (host, session) = (host.clone(), session.clone());
        spawn_local(async move {
            if let Err(closing) = stream(host, &session, id, door, writer, reader).await {
                session.close(closing);
            }
            drop(open);
        });
    }
}

/// Serves one stream; an error ends the session.
async fn stream<D>(
    host: Rc<Host<D>>,
    session: &Session,
    id: u64,
    door: Door,
    mut writer: SendStream,
    mut reader: RecvStream,
) -> Result<(), Closing>
where
    D: Disk + 'static,
    D::File: Served,
{
    let header = async {
        let kind = proto::Frame(proto::VarInt::read(&mut reader).await.ok()?);
        let rest = proto::VarInt::read(&mut reader).await.ok()?;
        Some((kind, rest.into_inner()))
    };
    let header = timeout(session.patience, header).await.map_err(|_| Closing::StreamHalfOpen)?;
    match header {
        // The client has given it up.
        None => return Ok(()),
        Some((proto::Frame::WEBTRANSPORT, found)) if found == id => {}
        Some((proto::Frame::HEADERS, _)) => {
            // Another request; a browser makes it on another connection then. Either end may be gone already.
            let _ = writer.reset(VarInt::from_u32(H3_REQUEST_REJECTED));
            let _ = reader.stop(VarInt::from_u32(H3_REQUEST_REJECTED));
            return Ok(());
        }
        Some(_) => return Err(Closing::StreamHeader),
    }
    let ended = carrier::stream::serve(host, door, &mut reader, &mut writer).await;
    // What is written goes out before the end; a stream that the client has stopped is at its end already.
    let _ = writer.finish();
    match ended {
        Ended::Frame(error) => Err(error.into()),
        Ended::ByClient | Ended::Carrier(_) | Ended::ByBroker(CloseReason::Idle) => Ok(()),
        Ended::ByBroker(reason) => Err(reason.into()),
    }
}

/// Reads a stream to its end and keeps nothing.
async fn discard(mut stream: RecvStream) {
    let mut bytes = [0; DISCARD_BYTES];
    while let Ok(Some(_)) = stream.read(&mut bytes).await {}
}
