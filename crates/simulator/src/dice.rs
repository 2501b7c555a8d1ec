//! Chance from a seed: the same throws for the same seed, on every machine.

/// splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice of one purpose: those of other purposes of the same seed throw independently of it.
    pub(crate) const fn new(seed: u64, purpose: u64) -> Self {
        Self(mix(seed ^ mix(purpose)))
    }

    pub(crate) const fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`; 0 if that is 0.
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.throw() % bound }
    }

    /// An index below `len`.
    pub(crate) const fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub(crate) const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    pub(crate) const fn permille(&mut self, permille: u64) -> bool {
        self.below(1_000) < permille
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are none.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let at = self.index(from.len());
        *from.get(at).expect("there is something to pick from")
    }
}

/// A bijection that spreads bits.
pub(crate) const fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
