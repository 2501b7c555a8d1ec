//! How long to wait before the next try: doubling from a first delay to a greatest one, with jitter.

use core::time::Duration;

use crate::random::Random;

/// The delays of one kind of retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// The delay after the first failure.
    pub(crate) first: Duration,
    /// No delay is longer than this (before jitter).
    pub(crate) greatest: Duration,
}

impl Backoff {
    /// For requests: 20 ms, 40 ms, ... 1 s.
    pub(crate) const REQUEST: Self =
        Self { first: Duration::from_millis(20), greatest: Duration::from_secs(1) };
    /// For questions about who leads, while the answer may change any moment: 20 ms, 40 ms, ... 250 ms.
    pub(crate) const LEADERS: Self =
        Self { first: Duration::from_millis(20), greatest: Duration::from_millis(250) };
    /// For connections: 50 ms, 100 ms, ... 2 s.
    pub(crate) const CONNECT: Self =
        Self { first: Duration::from_millis(50), greatest: Duration::from_secs(2) };

    /// The delay after `failures` failures in a row (1 or more), with ±20 % jitter so that many clients do not come back together.
    #[must_use]
    pub(crate) fn delay(self, failures: u32, random: &mut Random) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        let plain = self.first.saturating_mul(1 << doublings).min(self.greatest);
        let micros = u64::try_from(plain.as_micros()).unwrap_or(u64::MAX);
        let jitter = random.below(micros / 5 * 2 + 1);
        Duration::from_micros(micros - micros / 5 + jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_to_the_greatest_within_jitter() {
        let mut random = Random::new(3);
        for (failures, plain_ms) in [(1, 20), (2, 40), (3, 80), (7, 1000), (400, 1000)] {
            for _ in 0..50 {
                let delay = Backoff::REQUEST.delay(failures, &mut random).as_micros();
                assert!(delay >= plain_ms * 800 && delay <= plain_ms * 1200, "{failures}: {delay}");
            }
        }
    }
}
