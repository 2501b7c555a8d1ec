//! Which partition a record goes to. Keys hash as Kafka's default partitioner hashes them, so that every client
//! puts the same key into the same partition; records without a key stick to one partition until its batch closes.

use crate::random::Random;

/// Murmur2 (Austin Appleby, 32 bit) with the seed that Kafka's Java client uses.
#[must_use]
pub fn murmur2(bytes: &[u8]) -> u32 {
    const MULTIPLIER: u32 = 0x5bd1_e995;
    const SEED: u32 = 0x9747_b28c;
    // The Java client mixes in the length as a 32-bit integer; keys are never longer than that.
    let mut hash = SEED ^ u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        let mut mixed = word.iter().rev().fold(0_u32, |acc, byte| (acc << 8) | u32::from(*byte));
        mixed = mixed.wrapping_mul(MULTIPLIER);
        mixed ^= mixed >> 24;
        mixed = mixed.wrapping_mul(MULTIPLIER);
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed;
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        hash ^= rest.iter().rev().fold(0_u32, |acc, byte| (acc << 8) | u32::from(*byte));
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 15)
}

/// The partition of a record with `key` in a topic of `partitions` partitions; 0 if there are none.
#[must_use]
pub fn partition_of_key(key: &[u8], partitions: u32) -> u32 {
    (murmur2(key) & 0x7fff_ffff).checked_rem(partitions).unwrap_or(0)
}

/// Bytes of records after which the next ones go to another partition, also while the batch takes more. Small enough that a
/// few megabytes are spread evenly over some partitions, large enough that a write is worth its sync (Kafka's is 16 KiB, the
/// default of its `batch.size`; a guess between that and our largest batch).
const TURN_BYTES: usize = 64 << 10;

/// The partition that a topic's records without a key go to for now.
///
/// Which one is next depends on the bytes that each was given alone. Chance would do as well if all turns were of one length;
/// they are not: a batch that is taken ends its turn, and one whose leader is slow to take it grows until it is full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sticky {
    turn: Option<Turn>,
    /// The partitions with a leader at the last choice, and the bytes given to each while it had one.
    given: Vec<(u32, u64)>,
}

/// A partition's turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    partition: u32,
    /// Its place among those with a leader; none has this place where there are none.
    place: usize,
    bytes: usize,
}

impl Sticky {
    /// The partition for the next record without a key. `available` lists the partitions with a leader;
    /// if none has one, any of the `partitions` will do.
    pub(crate) fn partition(&mut self, partitions: u32, available: &[u32], random: &mut Random) -> u32 {
        if let Some(turn) = self.turn
            && turn.partition < partitions
            && turn.bytes < TURN_BYTES
        {
            return turn.partition;
        }
        let turn = self.choose(partitions, available, random);
        self.turn = Some(turn);
        turn.partition
    }

    /// A record of so many bytes went to the partition that was named last.
    pub(crate) fn put(&mut self, bytes: usize) {
        let Some(turn) = &mut self.turn else { return };
        turn.bytes += bytes;
        if let Some((_, given)) = self.given.get_mut(turn.place) {
            *given += bytes as u64;
        }
    }

    /// The batch of `partition` was closed (full, or taken to be sent): the next record goes elsewhere.
    pub(crate) fn batch_closed(&mut self, partition: u32) {
        self.turn.take_if(|turn| turn.partition == partition);
    }

    /// Other partitions have a leader now: none that has none is given more.
    pub(crate) fn leaders_changed(&mut self, available: &[u32]) {
        self.turn.take_if(|turn| !available.contains(&turn.partition));
    }

    fn choose(&mut self, partitions: u32, available: &[u32], random: &mut Random) -> Turn {
        if available.is_empty() {
            let partition = u32::try_from(random.below(u64::from(partitions))).unwrap_or(0);
            return Turn { partition, place: usize::MAX, bytes: 0 };
        }
        self.meet(available);
        let least = self.given.iter().map(|(_, given)| *given).min().unwrap_or(0);
        let poorest = self.given.iter().enumerate().filter(|(_, (_, given))| *given == least);
        let nth = random.below(poorest.clone().count() as u64);
        let chosen = poorest.clone().nth(usize::try_from(nth).unwrap_or(0));
        let (place, partition) =
            chosen.map_or((usize::MAX, 0), |(place, (partition, _))| (place, *partition));
        Turn { partition, place, bytes: 0 }
    }

    /// One that had no leader is not given all that it missed: it begins where the poorest is.
    fn meet(&mut self, available: &[u32]) {
        if self.given.iter().map(|(partition, _)| partition).eq(available) {
            return;
        }
        let known: Vec<(u32, Option<u64>)> = available
            .iter()
            .map(|partition| (*partition, self.given.iter().find(|(known, _)| known == partition)))
            .map(|(partition, known)| (partition, known.map(|(_, given)| *given)))
            .collect();
        let least = known.iter().filter_map(|(_, given)| *given).min().unwrap_or(0);
        self.given =
            known.into_iter().map(|(partition, given)| (partition, given.unwrap_or(least))).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur2_equals_the_java_client() {
        // The vectors that clients in other languages test themselves against.
        for (input, expected) in [
            ("21", -973_932_308_i32),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(input.as_bytes()), expected.cast_unsigned(), "{input}");
        }
    }

    #[test]
    fn keys_map_to_positive_partitions() {
        assert_eq!(
            partition_of_key(b"foobar", 6),
            (790_332_482_i32.wrapping_neg() & 0x7fff_ffff).cast_unsigned() % 6
        );
        assert_eq!(partition_of_key(b"x", 0), 0);
        assert!((0..1000_u32).all(|n| partition_of_key(&n.to_be_bytes(), 7) < 7));
    }

    #[test]
    fn null_keys_stick_until_the_batch_closes() {
        let (mut sticky, mut random) = (Sticky::default(), Random::new(5));
        let available = [0, 2, 5];
        let first = sticky.partition(6, &available, &mut random);
        assert!((0..50).all(|_| sticky.partition(6, &available, &mut random) == first));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let partition = sticky.partition(6, &available, &mut random);
            sticky.put(10);
            seen.insert(partition);
            sticky.batch_closed(partition);
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), available);
        assert!(Sticky::default().partition(3, &[], &mut random) < 3);
    }

    /// What each of six partitions is given of a million short records, if its batch is taken after so many.
    fn given(taken_after: [usize; 6]) -> [u64; 6] {
        const RECORD_BYTES: usize = 14;
        let (mut sticky, mut random) = (Sticky::default(), Random::new(9));
        let (mut given, mut open) = ([0; 6], [0; 6]);
        for _ in 0..1_000_000 {
            let partition = sticky.partition(6, &[0, 1, 2, 3, 4, 5], &mut random);
            sticky.put(RECORD_BYTES);
            let place = partition as usize;
            given[place] += RECORD_BYTES as u64;
            open[place] += 1;
            if open[place] >= taken_after[place] {
                open[place] = 0;
                sticky.batch_closed(partition);
            }
        }
        given
    }

    #[test]
    fn bytes_without_keys_are_even_however_soon_each_leader_takes_its_batches() {
        let (quick, slow) = (3, 70_000);
        for taken_after in [
            [slow; 6],
            [quick; 6],
            [quick, slow, slow, slow, slow, slow],
            [quick, quick, quick, quick, quick, slow],
            [1, 10, 100, 1_000, 10_000, 100_000],
        ] {
            let given = given(taken_after);
            let mean = given.iter().sum::<u64>() / 6;
            let even = given.iter().all(|bytes| bytes.abs_diff(mean) < mean / 5);
            assert!(even, "{given:?} of batches taken after {taken_after:?}");
        }
    }

    #[test]
    fn a_partition_that_had_no_leader_is_not_given_what_it_missed() {
        let (mut sticky, mut random) = (Sticky::default(), Random::new(3));
        let mut given = |sticky: &mut Sticky, available: &[u32], turns: usize| {
            let mut given = [0; 3];
            for _ in 0..turns {
                given[sticky.partition(3, available, &mut random) as usize] += 1;
                sticky.put(TURN_BYTES);
            }
            given
        };
        assert_eq!(given(&mut sticky, &[0, 1], 20), [10, 10, 0]);
        sticky.leaders_changed(&[0, 1, 2]);
        assert_eq!(given(&mut sticky, &[0, 1, 2], 30), [10, 10, 10]);
        sticky.leaders_changed(&[1]);
        assert_eq!(given(&mut sticky, &[1], 1), [0, 1, 0], "nobody leads the others");
    }
}
