//! The network: ordered streams between brokers and from clients to brokers. A stream loses nothing while it lives, but
//! takes longer where packets are lost, breaks where nothing passes for long, and knows nothing of other streams.

use std::collections::{BTreeMap, VecDeque};

use broker_core::action::StreamId;
use broker_core::control::PeerStreamId;
use broker_core::{ConnectionId, ShardId};
use bytes::{Bytes, BytesMut};
use kafka_wire::{Rope, Segment};
use log_core::DirectoryId;
use log_store::MemoryFile;
use metadata_core::ControlFrame;

use super::queue::ProcessId;

/// How long nothing may pass before a stream is given up, in nanoseconds.
pub(crate) const PATIENCE: u64 = 3_000_000_000;

/// What one end of a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A replication stream's end at a shard.
    Replica { process: ProcessId, shard: ShardId, stream: StreamId },
    /// The end of a control stream that dialled the node of this directory.
    Dialled { process: ProcessId, directory: DirectoryId },
    /// The end of a control stream that was dialled.
    Accepted { process: ProcessId, stream: PeerStreamId },
    /// A client's connection at a shard.
    Served { process: ProcessId, shard: ShardId, connection: ConnectionId },
    /// A client.
    Client { client: usize, connection: ConnectionId, broker: usize },
}

impl End {
    /// The process at this end; none for a client.
    pub(crate) const fn process(&self) -> Option<ProcessId> {
        match self {
            Self::Replica { process, .. }
            | Self::Dialled { process, .. }
            | Self::Accepted { process, .. }
            | Self::Served { process, .. } => Some(*process),
            Self::Client { .. } => None,
        }
    }
}

/// What travels on a stream.
#[derive(Debug)]
pub(crate) enum Parcel {
    /// Bytes, and ranges of files that are read when they leave.
    Rope(Rope<MemoryFile>),
    /// Bytes of a client.
    Bytes(Bytes),
    /// A frame between Controls.
    Frame(ControlFrame),
    /// The sender closed the stream.
    Fin,
}

/// One direction of a stream.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    parcels: VecDeque<(u64, Parcel)>,
    last_at: u64,
    planned: bool,
    /// Since when nothing passes.
    pub(crate) blocked_since: Option<u64>,
    /// The receiver has closed its end: what comes is dropped.
    pub(crate) deaf: bool,
    /// Bytes that arrived and are no whole frame yet.
    pub(crate) received: BytesMut,
}

/// A stream: lane 0 leads from the first end to the second.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) ends: [End; 2],
    pub(crate) lanes: [Lane; 2],
}

/// All streams, and which ways are cut.
#[derive(Debug, Default)]
pub(crate) struct Net {
    pub(crate) streams: BTreeMap<u64, Stream>,
    opened: u64,
    /// Until when nothing passes from one broker to another.
    cuts: BTreeMap<(usize, usize), u64>,
    pub(crate) factor: u64,
    pub(crate) replicas: BTreeMap<(ProcessId, StreamId), u64>,
    pub(crate) dialled: BTreeMap<(ProcessId, DirectoryId), u64>,
    pub(crate) accepted: BTreeMap<(ProcessId, PeerStreamId), u64>,
    pub(crate) connections: BTreeMap<ConnectionId, u64>,
}

impl Net {
    pub(crate) fn new() -> Self {
        Self { factor: 1, ..Self::default() }
    }

    pub(crate) fn cut(&mut self, from: usize, to: usize, until: u64) {
        let cut = self.cuts.entry((from, to)).or_default();
        *cut = (*cut).max(until);
    }

    pub(crate) fn mend_all(&mut self) {
        self.cuts.clear();
        self.factor = 1;
    }

    /// Whether anything passes from one broker to another.
    pub(crate) fn passes(&self, from: usize, to: usize, now: u64) -> bool {
        self.cuts.get(&(from, to)).is_none_or(|until| *until <= now)
    }

    /// Whether two brokers can speak with each other.
    pub(crate) fn connects(&self, one: usize, other: usize, now: u64) -> bool {
        self.passes(one, other, now) && self.passes(other, one, now)
    }

    /// A number for a stream that is not used again; the next one is free too.
    pub(crate) const fn number(&mut self) -> u64 {
        self.opened += 2;
        self.opened
    }

    pub(crate) fn open(&mut self, number: u64, ends: [End; 2]) {
        for end in ends {
            match end {
                End::Replica { process, stream, .. } => {
                    self.replicas.insert((process, stream), number);
                }
                End::Dialled { process, directory } => {
                    self.dialled.insert((process, directory), number);
                }
                End::Accepted { process, stream } => {
                    self.accepted.insert((process, stream), number);
                }
                End::Client { connection, .. } => {
                    self.connections.insert(connection, number);
                }
                End::Served { .. } => {}
            }
        }
        self.streams.insert(number, Stream { ends, lanes: Default::default() });
    }

    /// Forgets a stream, and gives its ends.
    pub(crate) fn forget(&mut self, number: u64) -> Option<Stream> {
        let stream = self.streams.remove(&number)?;
        for end in stream.ends {
            match end {
                End::Replica { process, stream, .. } => {
                    self.replicas.remove(&(process, stream));
                }
                End::Dialled { process, directory } => {
                    if self.dialled.get(&(process, directory)) == Some(&number) {
                        self.dialled.remove(&(process, directory));
                    }
                }
                End::Accepted { process, stream } => {
                    self.accepted.remove(&(process, stream));
                }
                End::Client { connection, .. } => {
                    self.connections.remove(&connection);
                }
                End::Served { .. } => {}
            }
        }
        Some(stream)
    }

    /// The streams of a process.
    pub(crate) fn of(&self, process: ProcessId) -> Vec<u64> {
        let has = |stream: &Stream| stream.ends.iter().any(|end| end.process() == Some(process));
        self.streams.iter().filter(|(_, stream)| has(stream)).map(|(number, _)| *number).collect()
    }
}

impl Stream {
    /// The brokers that a lane leads from and to; none where an end is a client.
    pub(crate) fn way(&self, lane: usize) -> Option<(usize, usize)> {
        let [first, second] = &self.ends;
        let (first, second) = (first.process()?.broker, second.process()?.broker);
        Some(if lane == 0 { (first, second) } else { (second, first) })
    }
}

impl Lane {
    /// Puts a parcel behind the others; whether an arrival has to be planned, and when.
    pub(crate) fn send(&mut self, at: u64, parcel: Parcel) -> Option<u64> {
        self.last_at = self.last_at.max(at);
        self.parcels.push_back((self.last_at, parcel));
        self.plan()
    }

    /// When the first parcel may arrive, if no arrival is planned.
    pub(crate) fn plan(&mut self) -> Option<u64> {
        let at = self.parcels.front().filter(|_| !self.planned)?.0;
        self.planned = true;
        Some(at)
    }

    /// The planned arrival happens now, and takes the first parcel if it may.
    pub(crate) fn arrive(&mut self, passes: bool) -> Option<Parcel> {
        self.planned = false;
        if !passes {
            return None;
        }
        self.blocked_since = None;
        self.parcels.pop_front().map(|(_, parcel)| parcel)
    }

    /// The planned arrival is put off.
    pub(crate) const fn put_off(&mut self) {
        self.planned = true;
    }

    /// The sender closes: file ranges that have not left do not leave any more, since other bytes may come to stand
    /// there; what is in memory does.
    pub(crate) fn drop_file_ranges(&mut self) {
        let in_memory =
            |rope: &Rope<MemoryFile>| rope.segments().all(|segment| matches!(segment, Segment::Bytes(_)));
        self.parcels.retain(|(_, parcel)| match parcel {
            Parcel::Rope(rope) => in_memory(rope),
            Parcel::Bytes(_) | Parcel::Frame(_) | Parcel::Fin => true,
        });
    }

    pub(crate) fn has_fin(&self) -> bool {
        matches!(self.parcels.back(), Some((_, Parcel::Fin)))
    }
}

/// The bytes of a rope; none if a file cannot be read any more.
pub(crate) fn flatten(rope: Rope<MemoryFile>) -> Option<BytesMut> {
    let mut bytes = BytesMut::with_capacity(rope.len());
    for segment in rope.into_segments() {
        match segment {
            Segment::Bytes(part) => bytes.extend_from_slice(&part),
            Segment::File(range) => {
                let at = bytes.len();
                bytes.resize(at + usize::try_from(range.len).ok()?, 0);
                let read = range.file.read_at(range.position, bytes.get_mut(at..)?).ok()?;
                if at + read < bytes.len() {
                    return None;
                }
            }
        }
    }
    Some(bytes)
}
