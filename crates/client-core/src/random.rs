//! Randomness from a seed: jitter of backoff and the choice of sticky partitions. Not for secrets.

/// A small generator (`SplitMix64`, Steele, Lea and Flood 2014); the face gives the seed.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// A generator that always gives the same numbers for the same `seed`.
    #[must_use]
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0. The bias of the remainder is below 2^-32 for the small bounds used here.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next_u64().checked_rem(bound).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_numbers() {
        let (mut one, mut two) = (Random::new(7), Random::new(7));
        assert!((0..100).all(|_| one.next_u64() == two.next_u64()));
        assert_ne!(Random::new(7).next_u64(), Random::new(8).next_u64());
    }

    #[test]
    fn below_stays_below() {
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| random.below(6) < 6));
        assert_eq!(random.below(0), 0);
    }
}
