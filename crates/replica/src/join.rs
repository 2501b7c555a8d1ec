//! Joining: a node with a token asks a broker for its id and certificate.
//!
//! One stream, one frame each way; the payloads are rkyv archives, checked before access.

use std::sync::Arc;

use bytes::Bytes;
use log_core::{BrokerId, ClusterId, DirectoryId, Frame, FrameLimits, frame_head};
use quinn::{ClientConfig, Endpoint};
use rcgen::{CertificateParams, KeyPair};
use replica_core::StreamKind;
use rkyv::rancor::Error as ArchiveError;
use rkyv::{Archive, Deserialize, Serialize};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use crate::ca::Identity;
use crate::connection::{FrameReceiver, FrameSender, PeerConnection};
use crate::endpoint::{Target, dial};
use crate::error::{ConnectError, IdentityError, JoinError, StreamError};
use crate::ids::ResetKey;
use crate::runtime::QuicRuntime;
use crate::token::JoinToken;
use crate::{tls, transport};

/// The version of the join stream's protocol.
pub const JOIN_STREAM_VERSION: u8 = 1;

const LIMITS: FrameLimits = FrameLimits { header_bytes_max: 8, payload_bytes_max: 64 << 10 };

/// What a joining node asks.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct JoinRequest {
    /// The token's secret.
    pub secret: [u8; 16],
    /// The node's log directory.
    pub directory: [u8; 16],
    /// The broker id that it wishes for; the cluster chooses one if none.
    pub broker: Option<i32>,
    /// Host and port pairs of its replica door.
    pub addresses: Vec<(String, u16)>,
    /// A certificate request (PKCS#10, DER) over the node's own key.
    pub certificate_request: Vec<u8>,
}

/// What the cluster answers.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum JoinAnswer {
    /// The node is let in.
    Joined {
        /// The cluster.
        cluster: [u8; 16],
        /// The node's broker id.
        broker: i32,
        /// Its certificate (DER).
        certificate: Vec<u8>,
        /// The authority's certificate (DER).
        ca: Vec<u8>,
    },
    /// It is not.
    Refused(JoinRefusal),
}

/// Why a node is not let in.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize, thiserror::Error)]
pub enum JoinRefusal {
    /// The token was never made, or is used.
    #[error("the token is unknown or used; `highwater cluster token` prints a new one")]
    UnknownToken,
    /// The token is too old.
    #[error("the token has expired; `highwater cluster token` prints a new one")]
    TokenExpired,
    /// A live broker has the id.
    #[error("broker id {0} is in use; choose another --node-id")]
    IdInUse(i32),
    /// The id is out of range.
    #[error("broker id {0} is not allowed; choose one from 1 on")]
    InvalidId(i32),
    /// This broker does not hold the authority's key.
    #[error("this broker does not hold the authority's key; join through the broker that formed the cluster")]
    NoAuthority,
    /// The certificate request does not check.
    #[error("the certificate request is damaged")]
    BadRequest,
    /// No controller answered in time.
    #[error("no controller answered; try again")]
    NoController,
}

/// What a node has after joining.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The cluster.
    pub cluster: ClusterId,
    /// The node's certificate and broker id.
    pub identity: Identity,
}

impl JoinRequest {
    /// The directory's id.
    #[must_use]
    pub fn directory(&self) -> DirectoryId {
        DirectoryId(self.directory)
    }

    /// Reads the request of a stream that was opened for joining; none if the peer ended it.
    ///
    /// # Errors
    /// A stream that breaks, and bytes that are no request.
    pub async fn receive(stream: &mut FrameReceiver) -> Result<Self, JoinError> {
        let frame = stream.next(LIMITS).await?.ok_or(StreamError::Cut)?;
        rkyv::from_bytes::<Self, ArchiveError>(&aligned(&frame)).map_err(|_| JoinError::Answer)
    }
}

impl JoinAnswer {
    /// Sends the answer and ends the stream.
    ///
    /// # Errors
    /// A stream that breaks.
    pub async fn send(&self, mut stream: FrameSender) -> Result<(), JoinError> {
        let payload = rkyv::to_bytes::<ArchiveError>(self).map_err(|_| JoinError::Answer)?;
        stream.send(&mut frame(&payload)).await?;
        stream.finish();
        Ok(())
    }
}

fn frame(payload: &[u8]) -> [Bytes; 2] {
    [Bytes::from(frame_head(&[], payload.len())), Bytes::copy_from_slice(payload)]
}

/// The archive types are unaligned, so the payload can be read where it lies.
fn aligned(frame: &Frame) -> Bytes {
    frame.payload.clone()
}

/// Joins the cluster of the broker at `host:port`; `broker` is the id wished for.
///
/// # Errors
/// An unreachable broker, a token of another cluster, a refusal.
pub async fn join(
    host: &str,
    port: u16,
    token: &JoinToken,
    directory: DirectoryId,
    broker: Option<BrokerId>,
    addresses: Vec<(String, u16)>,
) -> Result<Joined, JoinError> {
    let key = KeyPair::generate().map_err(IdentityError::from)?;
    let request = JoinRequest {
        secret: token.secret(),
        directory: directory.0,
        broker: broker.map(|broker| broker.0),
        addresses,
        certificate_request: certificate_request(&key)?,
    };
    match ask(host, port, token, &request).await? {
        JoinAnswer::Refused(refusal) => Err(JoinError::Refused(refusal)),
        JoinAnswer::Joined { cluster, broker, certificate, ca } => {
            let (certificate, ca) = (CertificateDer::from(certificate), CertificateDer::from(ca));
            let names_it = tls::broker_of(&certificate).is_ok_and(|named| named.0 == broker);
            if !token.trusts(&ca) || !names_it {
                return Err(JoinError::Answer);
            }
            let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
            let identity = Identity { broker: BrokerId(broker), certificate, key, ca };
            Ok(Joined { cluster: ClusterId(cluster), identity })
        }
    }
}

fn certificate_request(key: &KeyPair) -> Result<Vec<u8>, IdentityError> {
    let request = CertificateParams::default().serialize_request(key)?;
    Ok(request.der().to_vec())
}

async fn ask(
    host: &str,
    port: u16,
    token: &JoinToken,
    request: &JoinRequest,
) -> Result<JoinAnswer, JoinError> {
    let payload = rkyv::to_bytes::<ArchiveError>(request).map_err(|_| JoinError::Answer)?;
    let endpoint = client_endpoint(host, port).await?;
    let mut config = ClientConfig::new(Arc::new(tls::joining(token)?));
    config.transport_config(transport::calling(Target::Control));
    config.initial_dst_cid_provider(Arc::new(|| Target::Control.connection_id()));
    let connection = dial(&endpoint, config, host, port, "joining.highwater.internal").await?;
    let address = format!("{host}:{port}");
    let connection = PeerConnection::new(connection, None)
        .map_err(|cause| ConnectError::Certificate { address, cause })?;
    let (mut sender, mut receiver) = connection.open(StreamKind::Join, JOIN_STREAM_VERSION).await?;
    sender.send(&mut frame(&payload)).await?;
    let frame = receiver.next(LIMITS).await?.ok_or(StreamError::Cut)?;
    let answer =
        rkyv::from_bytes::<JoinAnswer, ArchiveError>(&aligned(&frame)).map_err(|_| JoinError::Answer);
    connection.close("joined");
    endpoint.wait_idle().await;
    answer
}

/// An endpoint of the address family that the host has.
async fn client_endpoint(host: &str, port: u16) -> Result<Endpoint, JoinError> {
    let resolve = |cause| ConnectError::Resolve { address: format!("{host}:{port}"), cause };
    let found = tokio::net::lookup_host((host, port)).await.map_err(resolve)?.next();
    let to = found.ok_or_else(|| resolve(std::io::ErrorKind::AddrNotAvailable.into()))?;
    let any = if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let socket = transport::bind_socket(any.parse().expect("a literal address parses")).map_err(resolve)?;
    let endpoint = Endpoint::new(
        transport::endpoint(ResetKey::random()),
        None,
        socket,
        Arc::new(QuicRuntime::of_this_thread()),
    )
    .map_err(resolve)?;
    Ok(endpoint)
}
