//! Quorums of one process: nodes with disks that outlive them, and a network that can be cut.

mod cluster;
mod disk;
mod messages;
mod single;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use log_core::{BrokerId, DirectoryId, MetadataOffset};
use metadata_core::{Members, MetadataQuorum, Proposal, ProposalId, QuorumEvent, QuorumMember};
use tokio::sync::{Notify, watch};

use crate::network::{Call, RaftTransport};
use crate::{CallError, QuorumError, RaftQuorum, RaftService, Start};
use disk::Medium;

/// What one node's `Control` would keep: everything agreed, from offset 0 on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Taken {
    entries: Vec<Option<Bytes>>,
    snapshots: usize,
    is_leader: bool,
    poisoned: bool,
}

impl Taken {
    fn applied(&self) -> Option<MetadataOffset> {
        self.entries.len().checked_sub(1).map(|last| MetadataOffset(i64::try_from(last).unwrap()))
    }

    fn image(&self) -> Bytes {
        postcard::to_allocvec(&self.entries).unwrap().into()
    }

    /// The agreed proposals, in order.
    fn proposals(&self) -> Vec<u32> {
        let number = |bytes: &Bytes| u32::from_be_bytes(bytes[..].try_into().unwrap());
        self.entries.iter().flatten().map(number).collect()
    }

    fn take(&mut self, event: QuorumEvent) {
        match event {
            QuorumEvent::Committed { entries } => {
                for entry in entries {
                    let at = usize::try_from(entry.offset.0).unwrap();
                    match self.entries.get(at) {
                        Some(known) => assert_eq!(*known, entry.bytes, "redelivery shows the same"),
                        None => {
                            assert_eq!(at, self.entries.len(), "nothing is left out");
                            self.entries.push(entry.bytes);
                        }
                    }
                }
            }
            QuorumEvent::Snapshot { upto, bytes } => {
                self.entries = postcard::from_bytes(&bytes).unwrap();
                self.snapshots += 1;
                assert_eq!(self.applied(), Some(upto));
            }
            QuorumEvent::Leader { is_self, .. } => self.is_leader = is_self,
            QuorumEvent::Poisoned => self.poisoned = true,
        }
    }
}

/// Reaches the node that runs on a broker, whichever directory it has.
#[derive(Default)]
struct Net {
    services: Mutex<BTreeMap<BrokerId, RaftService>>,
    cut_off: Mutex<BTreeSet<BrokerId>>,
}

struct Link {
    net: Arc<Net>,
    from: BrokerId,
}

impl RaftTransport for Link {
    fn call(&self, member: &QuorumMember, request: Vec<u8>) -> Call {
        let to = member.broker;
        let cut = self.net.cut_off.lock().unwrap();
        let service = self.net.services.lock().unwrap().get(&to).cloned();
        let service = service.filter(|_| !cut.contains(&to) && !cut.contains(&self.from));
        Box::pin(async move {
            let cause = std::io::ErrorKind::ConnectionRefused.into();
            let refused = CallError::Unreachable { address: to.0.to_string(), cause };
            service.ok_or(refused)?.answer(&request).await
        })
    }
}

/// A node: its disk and copy outlive its quorum.
struct Node {
    directory: DirectoryId,
    broker: BrokerId,
    medium: Medium,
    net: Arc<Net>,
    entries_kept: u64,
    running: Arc<Mutex<Running>>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Running {
    quorum: Option<RaftQuorum>,
    copy: Taken,
}

fn directory(number: u8) -> DirectoryId {
    DirectoryId([number; 16])
}

impl Node {
    fn new(net: &Arc<Net>, broker: i32, directory: DirectoryId) -> Self {
        Self {
            directory,
            broker: BrokerId(broker),
            medium: Medium::default(),
            net: net.clone(),
            entries_kept: 1_000,
            running: Arc::default(),
            changed: watch::Sender::new(()),
        }
    }

    fn member(&self) -> QuorumMember {
        let addresses = vec![("127.0.0.1".to_owned(), 9093)];
        QuorumMember { directory: self.directory, broker: self.broker, addresses }
    }

    async fn try_start(&self) -> Result<(), QuorumError> {
        let (wake, disk_wake) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let copy = self.copy();
        let woken = wake.clone();
        let start = Start {
            directory: self.directory,
            applied: copy.applied(),
            snapshot: copy.applied().map(|applied| (applied, copy.image())),
            entries_kept: self.entries_kept,
            transport: Arc::new(Link { net: self.net.clone(), from: self.broker }),
            wake: Box::new(move || woken.notify_one()),
            disk_wake: disk_wake.clone(),
        };
        let quorum = RaftQuorum::start(self.medium.disk(disk_wake), "metadata", start).await?;
        self.net.services.lock().unwrap().insert(self.broker, quorum.service());
        let mut metrics = quorum.core.metrics();
        self.running.lock().unwrap().quorum = Some(quorum);
        let (running, changed) = (self.running.clone(), self.changed.clone());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = wake.notified() => {}
                    moved = metrics.changed() => if moved.is_err() { return },
                }
                if !running.lock().unwrap().take_events() {
                    return;
                }
                changed.send_replace(());
            }
        });
        Ok(())
    }

    async fn start(&self) {
        self.try_start().await.unwrap();
    }

    async fn stop(&self) {
        self.net.services.lock().unwrap().remove(&self.broker);
        let quorum = self.running.lock().unwrap().quorum.take().unwrap();
        quorum.stop().await;
        self.running.lock().unwrap().copy.is_leader = false;
    }

    fn copy(&self) -> Taken {
        self.running.lock().unwrap().copy.clone()
    }

    fn with<T>(&self, call: impl FnOnce(&mut RaftQuorum) -> T) -> T {
        call(self.running.lock().unwrap().quorum.as_mut().unwrap())
    }

    fn propose(&self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            let id = ProposalId { origin: self.directory, number: u64::from(number) };
            let bytes = Bytes::copy_from_slice(&number.to_be_bytes());
            self.with(|quorum| quorum.propose(Proposal { id, bytes }));
        }
    }

    /// Waits until the node is seen in such a state.
    async fn until(&self, done: impl Fn(&mut Running) -> bool) {
        let mut changed = self.changed.subscribe();
        while !done(&mut self.running.lock().unwrap()) {
            changed.changed().await.unwrap();
        }
    }

    async fn until_it_leads(&self) {
        self.until(|running| running.copy.is_leader).await;
    }

    async fn until_agreed(&self, proposals: &[u32]) {
        self.until(|running| running.copy.proposals() == proposals).await;
    }

    fn cut_off(&self, is_cut: bool) {
        let mut cut = self.net.cut_off.lock().unwrap();
        if is_cut {
            cut.insert(self.broker)
        } else {
            cut.remove(&self.broker)
        };
    }
}

impl Running {
    /// As `Control` does: takes what happened into the copy, then says so.
    fn take_events(&mut self) -> bool {
        let Some(quorum) = &mut self.quorum else { return false };
        while let Some(event) = quorum.poll_event() {
            self.copy.take(event);
            if let Some(applied) = self.copy.applied() {
                quorum.applied(applied);
            }
        }
        true
    }
}

fn members(nodes: &[&Node], voters: &[&Node]) -> Members {
    Members {
        nodes: nodes.iter().map(|node| (node.directory, node.member())).collect(),
        voters: voters.iter().map(|node| node.directory).collect(),
    }
}

/// A node that leads a quorum of itself.
async fn formed(net: &Arc<Net>, entries_kept: u64) -> Node {
    let mut node = Node::new(net, 1, directory(1));
    node.entries_kept = entries_kept;
    node.start().await;
    node.with(|quorum| quorum.form(node.member()));
    node.until_it_leads().await;
    node
}
