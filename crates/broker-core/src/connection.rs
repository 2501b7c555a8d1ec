//! One client connection: which requests run, which wait, and that answers leave in the order of the requests.
//!
//! Produce and Fetch may overlap with each other; any other request starts when all before it are answered and is
//! answered before the next starts, as if the broker handled one request at a time. So a client that pipelines a commit
//! and a look at it sees what it committed.

use std::collections::VecDeque;

use bytes::Bytes;
use kafka_wire::{Rope, Segment};
use log_core::MonoTime;

use crate::config::Limits;
use crate::door::{Door, ShardId};
use crate::peer::PendingId;

/// After so many Produce and Fetch requests in a row, all for partitions of one other shard, a connection that comes to rest moves
/// there (a guess). A move costs about what two of them cost by way of another thread.
const REQUESTS_BEFORE_MOVE_MIN: u32 = 64;

/// A request's place in its connection, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sequence(pub(crate) u64);

#[derive(Debug)]
pub(crate) struct Connection<F> {
    pub(crate) door: Door,
    pub(crate) limits: Limits,
    running: VecDeque<Slot<F>>,
    /// The sequence of the first in `running`.
    first: u64,
    running_bytes: usize,
    waiting: VecDeque<Bytes>,
    waiting_bytes: usize,
    unsent_bytes: u64,
    pub(crate) paused: bool,
    pub(crate) last_active: MonoTime,
    affinity: Affinity,
}

/// Where the partitions live that a connection was used for lately.
#[derive(Debug, Default)]
struct Affinity {
    /// The shard of all of them, if it is one.
    shard: Option<ShardId>,
    /// Requests for it in a row.
    requests: u32,
}

#[derive(Debug)]
struct Slot<F> {
    overlaps: bool,
    request_bytes: usize,
    answer: Answer<F>,
    /// What is waited for on behalf of this client alone.
    parked: Option<PendingId>,
}

#[derive(Debug)]
enum Answer<F> {
    Awaited,
    Ready(Rope<F>),
    /// Produce with acks=0.
    Silent,
}

impl<F> Connection<F> {
    pub(crate) fn new(now: MonoTime, door: Door, limits: Limits) -> Self {
        Self {
            door,
            limits,
            running: VecDeque::new(),
            first: 0,
            running_bytes: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            unsent_bytes: 0,
            paused: false,
            last_active: now,
            affinity: Affinity::default(),
        }
    }

    /// A Produce or Fetch request named partitions of these shards.
    pub(crate) fn note_shards(&mut self, mut shards: impl Iterator<Item = ShardId>) {
        let first = shards.next();
        let shard = first.filter(|first| shards.all(|shard| shard == *first));
        let requests =
            if shard == self.affinity.shard { self.affinity.requests.saturating_add(1) } else { 1 };
        self.affinity = Affinity { shard, requests };
    }

    /// Where it should move, if it can now: it has nothing under way and is used for one other shard than `own` alone.
    pub(crate) fn shard_to_move_to(&self, own: ShardId) -> Option<ShardId> {
        let is_at_rest =
            self.running.is_empty() && self.waiting.is_empty() && self.unsent_bytes == 0 && !self.paused;
        let is_due = self.affinity.requests >= REQUESTS_BEFORE_MOVE_MIN;
        self.affinity.shard.filter(|shard| is_due && is_at_rest && *shard != own)
    }

    pub(crate) fn push(&mut self, now: MonoTime, frame: Bytes) {
        self.last_active = now;
        self.waiting_bytes += frame.len();
        self.waiting.push_back(frame);
    }

    /// The next frame that may start, with its place.
    pub(crate) fn start_next(&mut self) -> Option<(Sequence, Bytes)> {
        let (overlaps, limits) = (overlaps(self.waiting.front()?), &self.limits);
        let fits = self.running.len() < limits.requests_in_flight_max
            && self.running_bytes < limits.request_bytes_in_flight_max
            && self.unsent_bytes < limits.unsent_bytes_max;
        let alone = self.running.is_empty();
        // One that does not overlap is alone, so that the first stands for all.
        let joins = overlaps && self.running.front().is_some_and(|slot| slot.overlaps);
        if !fits || !(alone || joins) {
            return None;
        }
        let frame = self.waiting.pop_front()?;
        self.waiting_bytes -= frame.len();
        self.running_bytes += frame.len();
        let sequence = Sequence(self.first + self.running.len() as u64);
        let (request_bytes, answer) = (frame.len(), Answer::Awaited);
        self.running.push_back(Slot { overlaps, request_bytes, answer, parked: None });
        Some((sequence, frame))
    }

    /// Takes the answer of a request; none where the protocol has none.
    pub(crate) fn answer(&mut self, sequence: Sequence, rope: Option<Rope<F>>) {
        if let Some(slot) = self.slot(sequence) {
            slot.answer = rope.map_or(Answer::Silent, Answer::Ready);
        }
    }

    /// A request waits for what only its client wants.
    pub(crate) fn park(&mut self, sequence: Sequence, pending: PendingId) {
        if let Some(slot) = self.slot(sequence) {
            slot.parked = Some(pending);
        }
    }

    /// What is waited for on behalf of this client alone, or was until a moment ago.
    pub(crate) fn parked(&self) -> impl Iterator<Item = PendingId> {
        self.running.iter().filter_map(|slot| slot.parked)
    }

    fn slot(&mut self, sequence: Sequence) -> Option<&mut Slot<F>> {
        let place = sequence.0.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.running.get_mut(place))
    }

    /// All answers that may leave now, as one.
    pub(crate) fn take_ready(&mut self) -> Option<Rope<F>> {
        let mut segments: Vec<Segment<F>> = Vec::new();
        while let Some(slot) = self.running.pop_front_if(|slot| !matches!(slot.answer, Answer::Awaited)) {
            self.first += 1;
            self.running_bytes -= slot.request_bytes;
            if let Answer::Ready(rope) = slot.answer {
                segments.extend(rope.into_segments());
            }
        }
        let rope = Rope::from_segments(segments);
        self.unsent_bytes += rope.len() as u64;
        (!rope.is_empty()).then_some(rope)
    }

    pub(crate) fn written(&mut self, now: MonoTime, bytes: u64) {
        self.last_active = now;
        self.unsent_bytes = self.unsent_bytes.saturating_sub(bytes);
    }

    /// Whether no more should be read from the client now.
    pub(crate) fn is_full(&self) -> bool {
        let limits = &self.limits;
        self.waiting_bytes >= limits.waiting_bytes_max
            || self.waiting.len() >= limits.requests_in_flight_max
            || self.unsent_bytes >= limits.unsent_bytes_max
    }
}

/// Whether a request may run beside others: Produce (key 0) and Fetch (key 1).
fn overlaps(frame: &[u8]) -> bool {
    matches!(frame.first_chunk::<2>(), Some([0, 0 | 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRODUCE: &[u8] = &[0, 0, 0, 7];
    const METADATA: &[u8] = &[0, 3, 0, 7];

    fn connection(frames: &[&'static [u8]]) -> Connection<u8> {
        limited(Limits::default(), frames)
    }

    fn limited(limits: Limits, frames: &[&'static [u8]]) -> Connection<u8> {
        let mut connection = Connection::new(MonoTime(0), Door::MEMORY, limits);
        frames.iter().for_each(|frame| connection.push(MonoTime(0), Bytes::from_static(frame)));
        connection
    }

    fn start_all(connection: &mut Connection<u8>) -> Vec<u64> {
        std::iter::from_fn(|| connection.start_next()).map(|(sequence, _)| sequence.0).collect()
    }

    fn answer(connection: &mut Connection<u8>, sequence: u64, text: &'static str) {
        let rope = Rope::from_segments([Segment::Bytes(Bytes::from_static(text.as_bytes()))]);
        connection.answer(Sequence(sequence), Some(rope));
    }

    fn ready(connection: &mut Connection<u8>) -> String {
        let rope = connection.take_ready();
        let segments = rope.into_iter().flat_map(Rope::into_segments);
        let bytes = segments.map(|segment| match segment {
            Segment::Bytes(bytes) => bytes,
            Segment::File(_) => panic!("no files here"),
        });
        bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect()
    }

    #[test]
    fn answers_leave_in_the_order_of_the_requests() {
        let mut connection = connection(&[PRODUCE, PRODUCE, PRODUCE]);
        assert_eq!(start_all(&mut connection), [0, 1, 2]);
        answer(&mut connection, 2, "c");
        answer(&mut connection, 1, "b");
        assert_eq!(ready(&mut connection), "");
        answer(&mut connection, 0, "a");
        assert_eq!(ready(&mut connection), "abc");
    }

    #[test]
    fn a_request_without_answer_leaves_no_gap() {
        let mut connection = connection(&[PRODUCE, PRODUCE]);
        start_all(&mut connection);
        answer(&mut connection, 1, "b");
        connection.answer(Sequence(0), None);
        assert_eq!(ready(&mut connection), "b");
    }

    #[test]
    fn only_produce_and_fetch_overlap() {
        let mut connection = connection(&[PRODUCE, METADATA, PRODUCE]);
        assert_eq!(start_all(&mut connection), [0]);
        answer(&mut connection, 0, "a");
        ready(&mut connection);
        assert_eq!(start_all(&mut connection), [1]);
        answer(&mut connection, 1, "b");
        ready(&mut connection);
        assert_eq!(start_all(&mut connection), [2]);
    }

    #[test]
    fn nothing_overtakes_a_request_that_does_not_overlap() {
        let mut connection = connection(&[PRODUCE, PRODUCE, METADATA, PRODUCE, PRODUCE]);
        let mut started = vec![start_all(&mut connection)];
        for sequence in [1, 0, 2] {
            answer(&mut connection, sequence, "a");
            ready(&mut connection);
            started.push(start_all(&mut connection));
        }
        assert_eq!(started, [vec![0, 1], vec![], vec![2], vec![3, 4]]);
    }

    #[test]
    fn a_reader_that_does_not_read_stops_being_read() {
        let limits = Limits { unsent_bytes_max: 4, ..Limits::default() };
        let mut connection = limited(limits, &[PRODUCE, PRODUCE]);
        connection.start_next().unwrap();
        answer(&mut connection, 0, "12345");
        assert_eq!(ready(&mut connection), "12345");
        assert!(connection.is_full());
        assert_eq!(connection.start_next(), None);
        connection.written(MonoTime(1), 5);
        assert!(!connection.is_full());
        assert!(connection.start_next().is_some());
    }

    #[test]
    fn a_connection_is_to_move_to_a_shard_after_many_requests_for_it_in_a_row() {
        let mut connection = connection(&[]);
        let (own, other) = (ShardId(0), ShardId(1));
        for _ in 1..REQUESTS_BEFORE_MOVE_MIN {
            connection.note_shards([other, other].into_iter());
        }
        assert_eq!(connection.shard_to_move_to(own), None);
        connection.note_shards([other].into_iter());
        assert_eq!(connection.shard_to_move_to(own), Some(other));
        assert_eq!(connection.shard_to_move_to(other), None, "it is there");
        connection.push(MonoTime(1), Bytes::from_static(METADATA));
        assert_eq!(connection.shard_to_move_to(own), None, "it has something under way");
        connection.start_next().unwrap();
        answer(&mut connection, 0, "a");
        assert_eq!(ready(&mut connection), "a");
        assert_eq!(connection.shard_to_move_to(own), None, "its answer is not written yet");
        connection.written(MonoTime(2), 1);
        assert_eq!(connection.shard_to_move_to(own), Some(other), "other requests do not count");
        connection.note_shards([own, other].into_iter());
        assert_eq!(connection.shard_to_move_to(own), None);
    }

    #[test]
    fn requests_in_flight_are_bounded() {
        let limits = Limits { requests_in_flight_max: 2, ..Limits::default() };
        let mut connection = limited(limits, &[PRODUCE; 5]);
        let started = std::iter::from_fn(|| connection.start_next()).count();
        assert_eq!(started, 2);
        assert!(connection.is_full());
    }
}
