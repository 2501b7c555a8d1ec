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

/// The partition that a topic's records without a key go to for now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sticky {
    current: Option<u32>,
}

impl Sticky {
    /// The partition for the next record without a key. `available` lists the partitions with a leader;
    /// if none has one, any of the `partitions` will do.
    pub(crate) fn partition(&mut self, partitions: u32, available: &[u32], random: &mut Random) -> u32 {
        match self.current {
            Some(current) if current < partitions => current,
            _ => {
                let chosen = choose(partitions, available, random);
                self.current = Some(chosen);
                chosen
            }
        }
    }

    /// The batch of `partition` was closed (full, or taken to be sent): the next record goes elsewhere.
    pub(crate) fn batch_closed(&mut self, partition: u32) {
        if self.current == Some(partition) {
            self.current = None;
        }
    }
}

fn choose(partitions: u32, available: &[u32], random: &mut Random) -> u32 {
    let among = u64::try_from(available.len()).unwrap_or(0);
    let chosen = usize::try_from(random.below(among)).ok().and_then(|index| available.get(index));
    match chosen {
        Some(partition) => *partition,
        None => u32::try_from(random.below(u64::from(partitions))).unwrap_or(0),
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
            seen.insert(partition);
            sticky.batch_closed(partition);
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), available);
        assert!(Sticky::default().partition(3, &[], &mut random) < 3);
    }
}
