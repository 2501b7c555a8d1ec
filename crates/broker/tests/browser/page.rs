//! A page with WebTransport, by quinn and the parts of HTTP/3: one session on a connection of its own.

use std::sync::Arc;

use futures_util::FutureExt;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{Connection, Endpoint, RecvStream, SendStream, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};
use web_transport_proto as proto;

use crate::support::{Running, api_versions};

/// Takes certificates by their hash, or any where there is no list.
#[derive(Debug)]
struct ByHash {
    hashes: Option<Vec<Vec<u8>>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ByHash {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let hash = ::ring::digest::digest(&::ring::digest::SHA256, certificate);
        match self.hashes.as_ref().is_none_or(|hashes| hashes.iter().any(|known| known == hash.as_ref())) {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A QUIC connection that agreed on a protocol, with the endpoint that drives it.
pub(crate) async fn dial(
    running: &Running,
    alpn: &[u8],
    hashes: Option<Vec<Vec<u8>>>,
) -> Result<(Connection, Endpoint), quinn::ConnectionError> {
    let endpoint = endpoint_for(alpn, hashes);
    let connection = endpoint.connect(running.quic(), "localhost").unwrap().await?;
    Ok((connection, endpoint))
}

/// What a browser has one of for many pages.
pub(crate) fn endpoint(hashes: Option<Vec<Vec<u8>>>) -> Endpoint {
    endpoint_for(b"h3", hashes)
}

fn endpoint_for(alpn: &[u8], hashes: Option<Vec<Vec<u8>>>) -> Endpoint {
    let provider = Arc::new(ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ByHash { hashes, provider }))
        .with_no_client_auth();
    tls.alpn_protocols = vec![alpn.to_vec()];
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    // What a page has not read waits at the broker and not here.
    let mut transport = quinn::TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(16 << 10)).receive_window(VarInt::from_u32(64 << 10));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    endpoint.set_default_client_config(config);
    endpoint
}

/// Sends settings that offer WebTransport; the stream has to stay.
pub(crate) async fn settle(connection: &Connection) -> SendStream {
    offer(connection).await.unwrap()
}

async fn offer(connection: &Connection) -> Result<SendStream, String> {
    let mut settings = proto::Settings::default();
    settings.enable_webtransport(1);
    let mut control = connection.open_uni().await.map_err(|error| error.to_string())?;
    settings.write(&mut control).await.map_err(|error| error.to_string())?;
    Ok(control)
}

/// A request for a session.
pub(crate) fn ask(running: &Running, path: &str, origin: Option<&str>) -> Vec<u8> {
    let url: url::Url = format!("https://{}{path}", running.quic()).parse().unwrap();
    let mut request = proto::ConnectRequest::new(url);
    if let Some(origin) = origin {
        request.headers.insert("origin", origin.parse().unwrap());
    }
    let mut bytes = Vec::new();
    request.encode(&mut bytes).unwrap();
    bytes
}

/// Every hash that the list of brokers names.
pub(crate) async fn hashes(running: &Running) -> Vec<Vec<u8>> {
    let body = running.brokers().await;
    let certificates = body["brokers"][0]["certificates"].as_array().unwrap();
    certificates.iter().map(|found| unhex(found["sha256"].as_str().unwrap())).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// A session that has begun.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    id: u64,
    connect: (SendStream, RecvStream),
    _control: SendStream,
    _endpoint: Endpoint,
}

impl Session {
    /// Connects by the hashes in the list of brokers.
    pub(crate) async fn begin(running: &Running) -> Self {
        Self::begin_by(running, hashes(running).await, None).await.unwrap()
    }

    /// Connects by these hashes; an error is what the connection or the answer says.
    pub(crate) async fn begin_by(
        running: &Running,
        hashes: Vec<Vec<u8>>,
        origin: Option<&str>,
    ) -> Result<Self, String> {
        Self::begin_by_origin(running, &endpoint(Some(hashes)), origin).await
    }

    /// Connects from an endpoint that others may use too.
    pub(crate) async fn begin_at(running: &Running, endpoint: &Endpoint) -> Result<Self, String> {
        Self::begin_by_origin(running, endpoint, None).await
    }

    async fn begin_by_origin(
        running: &Running,
        endpoint: &Endpoint,
        origin: Option<&str>,
    ) -> Result<Self, String> {
        let connecting = endpoint.connect(running.quic(), "localhost").unwrap();
        let connection = connecting.await.map_err(|error| error.to_string())?;
        // A connection that is closed meanwhile says why; the streams of it do not.
        let told = |error: String| connection.close_reason().map_or(error, |reason| reason.to_string());
        let control = offer(&connection).await.map_err(told)?;
        let (mut writer, mut reader) = connection.open_bi().await.map_err(|error| error.to_string())?;
        let asked = writer.write_all(&ask(running, "/kafka", origin)).await;
        asked.map_err(|error| told(error.to_string()))?;
        let answer = proto::ConnectResponse::read(&mut reader).await;
        let answer = answer.map_err(|error| told(error.to_string()))?;
        assert_eq!(answer.status, 200);
        let id = VarInt::from(writer.id()).into_inner();
        Ok(Self { connection, id, connect: (writer, reader), _control: control, _endpoint: endpoint.clone() })
    }

    /// Opens a stream of this session.
    pub(crate) async fn open(&self) -> (SendStream, RecvStream) {
        let (mut writer, reader) = self.connection.open_bi().await.unwrap();
        let mut header = Vec::new();
        proto::Frame::WEBTRANSPORT.encode(&mut header);
        proto::VarInt::try_from(self.id).unwrap().encode(&mut header);
        writer.write_all(&header).await.unwrap();
        (writer, reader)
    }

    /// Whether the broker lets the session open one more stream now.
    pub(crate) fn may_open(&self) -> bool {
        self.connection.open_bi().now_or_never().is_some()
    }

    /// Ends the session as a page does that has nothing more to say.
    pub(crate) fn end(mut self) {
        self.connect.0.finish().unwrap();
        self.connection.close(VarInt::from_u32(0x100), b"");
    }

    /// The code and the reason with which the broker ends the session.
    pub(crate) async fn closed(mut self) -> (u32, String) {
        let ending = ending(&mut self.connect.1).await;
        self.connection.close(VarInt::from_u32(0x100), b"");
        ending
    }

    /// The same if it does; none if it goes on to answer.
    pub(crate) async fn closed_or_goes_on(mut self) -> Option<(u32, String)> {
        let (mut writer, mut reader) = self.open().await;
        let answered = async {
            writer.write_all(&api_versions(1)).await.ok()?;
            reader.read_chunk(64 << 10, true).await.ok()?
        };
        let ended = tokio::select! {
            Some(_) = answered => None,
            ending = ending(&mut self.connect.1) => Some(ending),
        };
        self.connection.close(VarInt::from_u32(0x100), b"");
        ended
    }
}

async fn ending(reader: &mut RecvStream) -> (u32, String) {
    match proto::Http3CapsuleReader::new(reader).read().await.unwrap() {
        Some(proto::Capsule::CloseWebTransportSession { code, reason }) => (code, reason),
        other => panic!("{other:?}"),
    }
}
