//! Pauses that double, with jitter from a seed, so that peers that lost the same broker do not return together.

use core::time::Duration;

use crate::view::Settings;

/// The pauses of one thing that is tried again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    seed: u64,
    failures: u32,
}

impl Backoff {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, failures: 0 }
    }

    /// It succeeded: the next pause is the shortest again.
    pub(crate) const fn reset(&mut self) {
        self.failures = 0;
    }

    /// It failed again: how long to wait, between half and all of the doubled pause.
    pub(crate) fn next(&mut self, settings: &Settings) -> Duration {
        let doubled = settings.backoff_min.saturating_mul(1 << self.failures.min(16));
        let pause = doubled.min(settings.backoff_max);
        self.failures = self.failures.saturating_add(1);
        pause / 2 + (pause / 2).mul_f64(self.fraction())
    }

    /// A number in [0, 1) (splitmix64).
    fn fraction(&mut self) -> f64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        f64::from(u32::try_from(mixed >> 32).unwrap_or(0)) / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_start_again_after_a_success() {
        let settings = Settings::default();
        let mut backoff = Backoff::new(7);
        for failures in 0..40 {
            let full = settings.backoff_min.saturating_mul(1 << failures.min(16)).min(settings.backoff_max);
            let pause = backoff.next(&settings);
            assert!(pause >= full / 2 && pause <= full, "{pause:?} after {failures} failures");
        }
        backoff.reset();
        assert!(backoff.next(&settings) <= settings.backoff_min);
    }

    #[test]
    fn two_seeds_do_not_pause_alike() {
        let pauses = |seed| {
            let mut backoff = Backoff::new(seed);
            [(); 4].map(|()| backoff.next(&Settings::default()))
        };
        assert_ne!(pauses(1), pauses(2));
        assert_eq!(pauses(3), pauses(3));
    }
}
