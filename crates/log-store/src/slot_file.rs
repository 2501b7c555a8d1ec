//! A small state in two slots of one file: a write never touches the only readable one (D3). For raft's votes and the like.
//!
//! ```text
//! 0     slot 0: a container whose payload is a number u64 and the state        4096  slot 1: the same
//! ```
//! Where states may be longer, the second slot begins later ([`SlotFile::open_sized`]).
//! Each write has the number after the last one; the readable slot with the greater number wins.

use log_core::Crc32c;
use log_core::container::{CONTAINER_HEADER_BYTES, Container};

use crate::disk::{Completion, Disk, LogId, OpenMode, Ticket, with_ancestors};
use crate::error::{DiskError, DiskFault, DiskOperation};

/// Where the second slot starts, in bytes, unless said otherwise: a page, so that the slots share none.
const SLOT_BYTES: usize = 4096;

/// The bytes of a slot that are not its state.
const SLOT_OVERHEAD_BYTES: usize = CONTAINER_HEADER_BYTES + size_of::<u64>();

/// The longest state in bytes, unless the slots were made longer.
pub const SLOT_STATE_BYTES_MAX: usize = SLOT_BYTES - SLOT_OVERHEAD_BYTES;

/// What a slot file held at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// Nothing was ever written.
    Empty,
    /// The last state that was written whole.
    Written(Vec<u8>),
    /// Something was written, and no slot can be read.
    Unreadable,
}

/// See the module. One write is on its way at a time; states given meanwhile replace each other.
#[derive(Debug)]
pub struct SlotFile<D: Disk> {
    id: LogId,
    dir: String,
    file: D::File,
    crc: Crc32c,
    container: Container,
    slot_bytes: usize,
    next_slot: usize,
    /// The number of the last write that was begun.
    written: u64,
    /// The number of the last write that is on the medium.
    durable: u64,
    in_flight: bool,
    waiting: Option<(u64, Vec<u8>)>,
    given: u64,
}

impl<D: Disk> SlotFile<D> {
    /// Opens or makes the file `name` in `dir`. What it holds is to be acted upon once it [is settled](SlotFile::is_settled): a
    /// process that was killed between a write and its sync leaves a state that only the page cache knows.
    ///
    /// # Errors
    /// A failing disk.
    pub fn open(
        disk: &mut D,
        id: LogId,
        dir: &str,
        name: &str,
        magic: [u8; 4],
        crc: Crc32c,
    ) -> Result<(Self, SlotState), DiskError> {
        Self::open_sized(disk, id, dir, name, Container { magic, version: 1 }, crc, SLOT_BYTES)
    }

    /// Like [`SlotFile::open`], with slots of `slot_bytes`, a multiple of 4096 and always the same for one file.
    ///
    /// # Errors
    /// A failing disk.
    pub fn open_sized(
        disk: &mut D,
        id: LogId,
        dir: &str,
        name: &str,
        container: Container,
        crc: Crc32c,
        slot_bytes: usize,
    ) -> Result<(Self, SlotState), DiskError> {
        disk.create_dir(dir)?;
        let file = disk.open(&format!("{dir}/{name}"), OpenMode::Create)?;
        let mut bytes = vec![0; 2 * slot_bytes];
        let len = disk.read_around_cache(&file, 0, &mut bytes)?;
        let slots = bytes.split_at(slot_bytes);
        let found = [read(slots.0, container, crc), read(slots.1, container, crc)];
        let next_slot = match &found {
            [None, _] => 0,
            [_, None] => 1,
            [Some(first), Some(second)] => usize::from(first.0 > second.0),
        };
        let winner = found.into_iter().flatten().max_by_key(|(number, _)| *number);
        let number = winner.as_ref().map_or(0, |(number, _)| *number);
        let state = match winner {
            Some((_, state)) => SlotState::Written(state),
            None if len == 0 || bytes.iter().all(|byte| *byte == 0) => SlotState::Empty,
            None => SlotState::Unreadable,
        };
        let mut slot_file = Self {
            id,
            dir: dir.to_owned(),
            file,
            crc,
            container,
            slot_bytes,
            next_slot,
            written: number,
            durable: 0,
            in_flight: false,
            waiting: None,
            given: number,
        };
        if number > 0 {
            slot_file.sync(disk);
        }
        Ok((slot_file, state))
    }

    /// Gives a state to keep; it is durable when [`SlotFile::durable`] has reached the number returned.
    ///
    /// # Errors
    /// A failing disk; a state longer than a slot counts as one that does not fit on it.
    pub fn write(&mut self, disk: &mut D, state: &[u8]) -> Result<u64, DiskError> {
        if state.len() > self.slot_bytes - SLOT_OVERHEAD_BYTES {
            return Err(DiskError::new(DiskOperation::Write, DiskFault::Full));
        }
        self.given += 1;
        self.waiting = Some((self.given, state.to_vec()));
        self.begin(disk)?;
        Ok(self.given)
    }

    /// The number of the last state that is on the medium.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// Whether the last state, that of the start included, is on the medium.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        !self.in_flight && self.waiting.is_none()
    }

    /// Takes the end of a sync; completions of others are ignored.
    ///
    /// # Errors
    /// The sync or a following write failed: nothing more may be acknowledged (D5).
    pub fn handle_completion(&mut self, disk: &mut D, completion: &Completion) -> Result<(), DiskError> {
        if !self.in_flight || completion.ticket != self.ticket() {
            return Ok(());
        }
        if let Err(error) = &completion.result {
            return Err(*error);
        }
        self.in_flight = false;
        self.durable = self.written;
        self.begin(disk)
    }

    fn begin(&mut self, disk: &mut D) -> Result<(), DiskError> {
        if self.in_flight {
            return Ok(());
        }
        let Some((number, state)) = self.waiting.take() else { return Ok(()) };
        let mut payload = number.to_be_bytes().to_vec();
        payload.extend_from_slice(&state);
        let position = (self.next_slot * self.slot_bytes) as u64;
        disk.write_at(&self.file, position, &[&self.container.seal(&payload, self.crc)])?;
        self.next_slot = 1 - self.next_slot;
        self.written = number;
        self.sync(disk);
        Ok(())
    }

    fn sync(&mut self, disk: &mut D) {
        self.in_flight = true;
        disk.submit_sync(self.ticket(), std::slice::from_ref(&self.file), &with_ancestors(&self.dir));
    }

    fn ticket(&self) -> Ticket {
        Ticket { log: self.id, sequence: self.written }
    }
}

fn read(slot: &[u8], container: Container, crc: Crc32c) -> Option<(u64, Vec<u8>)> {
    let (_, payload, _) = container.open_prefix(slot, crc).ok()?;
    let (number, state) = payload.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), state.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryDisk;

    const CRC: Crc32c = crc32c::crc32c_append;

    fn open(disk: &mut MemoryDisk) -> (SlotFile<MemoryDisk>, SlotState) {
        SlotFile::open(disk, LogId(1), "raft", "vote", *b"HWVT", CRC).unwrap()
    }

    fn settle(file: &mut SlotFile<MemoryDisk>, disk: &mut MemoryDisk) {
        while let Some(completion) = disk.poll() {
            file.handle_completion(disk, &completion).unwrap();
        }
    }

    #[test]
    fn the_last_durable_state_survives_any_power_cut() {
        for seed in 0..50 {
            let mut disk = MemoryDisk::new();
            let (mut file, state) = open(&mut disk);
            assert_eq!(state, SlotState::Empty);
            let number = file.write(&mut disk, b"one").unwrap();
            settle(&mut file, &mut disk);
            assert_eq!(file.durable(), number);
            disk.hold(true);
            file.write(&mut disk, b"two").unwrap();
            file.write(&mut disk, b"three").unwrap();
            disk.power_cut(seed);
            let (_, state) = open(&mut disk);
            assert!([b"one".to_vec(), b"two".to_vec()].map(SlotState::Written).contains(&state), "{state:?}");
        }
    }

    #[test]
    fn what_a_start_finds_in_the_page_cache_alone_is_on_the_medium_when_it_is_settled() {
        for seed in 0..50 {
            let mut disk = MemoryDisk::new();
            let (mut file, _) = open(&mut disk);
            file.write(&mut disk, b"one").unwrap();
            settle(&mut file, &mut disk);
            disk.hold(true);
            file.write(&mut disk, b"two").unwrap();
            disk.kill_process();
            let (mut file, state) = open(&mut disk);
            assert_eq!(state, SlotState::Written(b"two".to_vec()), "the page cache has it");
            assert!(!file.is_settled() && file.durable() == 0);
            disk.hold(false);
            settle(&mut file, &mut disk);
            assert!(file.is_settled());
            disk.power_cut(seed);
            assert_eq!(open(&mut disk).1, state, "seed {seed}: whoever acted upon it can rely on it");
        }
    }

    #[test]
    fn states_given_meanwhile_replace_each_other_and_the_last_is_kept() {
        let mut disk = MemoryDisk::new();
        let (mut file, _) = open(&mut disk);
        let numbers: Vec<u64> = (0..5u8).map(|state| file.write(&mut disk, &[state]).unwrap()).collect();
        settle(&mut file, &mut disk);
        assert_eq!(Some(&file.durable()), numbers.last());
        assert_eq!(open(&mut disk).1, SlotState::Written(vec![4]));
    }

    #[test]
    fn longer_slots_hold_longer_states() {
        let mut disk = MemoryDisk::new();
        let container = Container { magic: *b"HWLO", version: 1 };
        let long = vec![7; 3 * SLOT_BYTES];
        let reopen = |disk: &mut MemoryDisk| {
            SlotFile::open_sized(disk, LogId(1), "raft", "long", container, CRC, 4 * SLOT_BYTES).unwrap()
        };
        let (mut file, _) = reopen(&mut disk);
        for state in [&long[..1], &long] {
            file.write(&mut disk, state).unwrap();
            settle(&mut file, &mut disk);
        }
        assert!(file.write(&mut disk, &vec![7; 4 * SLOT_BYTES]).is_err());
        assert_eq!(reopen(&mut disk).1, SlotState::Written(long));
    }

    #[test]
    fn one_damaged_slot_leaves_the_other_and_two_are_said() {
        let mut disk = MemoryDisk::new();
        let (mut file, _) = open(&mut disk);
        for state in [b"one", b"two"] {
            file.write(&mut disk, state).unwrap();
            settle(&mut file, &mut disk);
        }
        disk.rot("raft/vote", 4096 + 20, 1);
        assert_eq!(open(&mut disk).1, SlotState::Written(b"one".to_vec()));
        disk.rot("raft/vote", 20, 1);
        assert_eq!(open(&mut disk).1, SlotState::Unreadable);
    }
}
