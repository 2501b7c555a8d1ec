//! Letting nodes in: the broker that holds the authority's key checks a token with the cluster and signs a certificate.

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use broker_core::message::{AdminAnswer, AdminCommand, AdminError};
use log_core::{BrokerId, Timestamp};
use log_store::Disk;
use metadata_core::{Endpoint, Listener, MetadataQuorum, Refusal};
use replica::{ClusterCa, FrameReceiver, FrameSender, JoinAnswer, JoinRefusal, JoinRequest, JoinToken};
use rustls::pki_types::CertificateDer;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::control_host::ControlHost;
use crate::links::Standing;
use crate::random;
use crate::status::TokenRefused;

/// How long a node waits for the cluster's answer at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a token is good.
const TOKEN_LIFE: Duration = Duration::from_secs(24 * 3_600);

/// Holds the authority, where this broker has it.
#[derive(Default)]
pub(crate) struct Gate {
    ca: Option<ClusterCa>,
    /// Whether the cluster knows the tokens that were made with it; before that an unknown token may still become known.
    open: Cell<bool>,
}

impl Gate {
    pub(crate) fn new(ca: Option<ClusterCa>) -> Self {
        Self { ca, open: Cell::new(false) }
    }
}

/// Answers one node that asks to join.
pub(crate) async fn let_in<D, Q>(
    host: &Rc<ControlHost<D, Q>>,
    sender: FrameSender,
    mut receiver: FrameReceiver,
) where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    let request = match JoinRequest::receive(&mut receiver).await {
        Ok(request) => request,
        Err(e) => return tracing::info!("a node's request to join cannot be read: {e}"),
    };
    let answer = answer(host, &request).await;
    match &answer {
        JoinAnswer::Joined { broker, .. } => {
            tracing::info!("broker {broker} joins with directory {}", request.directory())
        }
        JoinAnswer::Refused(JoinRefusal::NoController) => {}
        JoinAnswer::Refused(refusal) => {
            tracing::info!("directory {} may not join: {refusal}", request.directory())
        }
    }
    if let Err(e) = answer.send(sender).await {
        tracing::info!("the answer to a joining node is lost: {e}");
    }
}

async fn answer<D, Q>(host: &Rc<ControlHost<D, Q>>, request: &JoinRequest) -> JoinAnswer
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    let Some(ca) = &host.peers.gate().ca else { return JoinAnswer::Refused(JoinRefusal::NoAuthority) };
    if !host.peers.gate().open.get() {
        return JoinAnswer::Refused(JoinRefusal::NoController);
    }
    let endpoints = request.addresses.iter().map(|(host, port)| Endpoint {
        listener: Listener::Replica,
        host: host.clone(),
        port: *port,
    });
    let command = AdminCommand::Join {
        hash: JoinToken::hash(&request.secret),
        directory: request.directory(),
        broker: request.broker.map(BrokerId),
        endpoints: endpoints.collect(),
    };
    match host.command(command, PATIENCE).await {
        Ok(AdminAnswer::Joined { cluster_id, broker }) => match ca.sign(broker, &request.certificate_request)
        {
            Ok(certificate) => JoinAnswer::Joined {
                cluster: cluster_id.0,
                broker: broker.0,
                certificate: certificate.to_vec(),
                ca: ca.certificate().to_vec(),
            },
            Err(_) => JoinAnswer::Refused(JoinRefusal::BadRequest),
        },
        Ok(_) => JoinAnswer::Refused(JoinRefusal::NoController),
        Err(error) => JoinAnswer::Refused(refusal(&error)),
    }
}

fn refusal(error: &AdminError) -> JoinRefusal {
    match error {
        AdminError::Refused(Refusal::UnknownToken) => JoinRefusal::UnknownToken,
        AdminError::Refused(Refusal::TokenExpired { .. }) => JoinRefusal::TokenExpired,
        AdminError::Refused(Refusal::DuplicateBroker { broker }) => JoinRefusal::IdInUse(broker.0),
        AdminError::Refused(Refusal::InvalidBrokerId { broker }) => JoinRefusal::InvalidId(broker.0),
        _ => JoinRefusal::NoController,
    }
}

/// Makes a join token that the whole cluster knows.
pub(crate) async fn make_token<D, Q>(
    host: &Rc<ControlHost<D, Q>>,
    now: Timestamp,
) -> Result<JoinToken, TokenRefused>
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    let ca = host.peers.gate().ca.as_ref().ok_or(TokenRefused::NoAuthority)?;
    let token = JoinToken::new(ca.certificate(), random::bytes());
    announce(host, &token, now).await?;
    Ok(token)
}

/// Tells the cluster about a token, so that it lets a node in.
pub(crate) async fn announce<D, Q>(
    host: &Rc<ControlHost<D, Q>>,
    token: &JoinToken,
    now: Timestamp,
) -> Result<(), TokenRefused>
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    let life = i64::try_from(TOKEN_LIFE.as_millis()).expect("a day fits");
    let hash = JoinToken::hash(&token.secret());
    let command = AdminCommand::CreateJoinToken { hash, expires: Timestamp(now.0 + life) };
    host.command(command, PATIENCE).await.map(drop).map_err(TokenRefused::Cluster)
}

/// Tokens that were made before the cluster was formed (`highwater cluster init`): one a line.
pub(crate) const FIRST_TOKENS_FILE: &str = "first-tokens";

/// Tells the cluster about the tokens that were made with it, once; the file is removed when it knows them all.
pub(crate) async fn announce_first_tokens<D, Q>(
    host: Rc<ControlHost<D, Q>>,
    data_dir: PathBuf,
    ca: CertificateDer<'static>,
    mut standing: watch::Receiver<Standing>,
    clock: Clock,
) where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    if standing.wait_for(|standing| standing.status.is_ready()).await.is_err() {
        return;
    }
    let path = data_dir.join(FIRST_TOKENS_FILE);
    if let Ok(text) = std::fs::read_to_string(&path) {
        let tokens = text.lines().filter_map(|line| line.parse::<JoinToken>().ok());
        for token in tokens.filter(|token| token.trusts(&ca)) {
            if let Err(e) = announce(&host, &token, clock.now().wall).await {
                return tracing::warn!(
                    "a join token is not known to the cluster; the next start tries again: {e}"
                );
            }
        }
        if let Err(e) = std::fs::remove_file(&path) {
            tracing::warn!("{} cannot be removed: {e}", path.display());
        }
    }
    host.peers.gate().open.set(true);
}
