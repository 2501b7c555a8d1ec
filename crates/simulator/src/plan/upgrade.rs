//! Which build each start of a broker is of, as far as its feature level shows it. Drawn from dice of its own, so that the seeds of
//! other mixes mean what they meant.

use std::time::Duration;

use metadata_core::controller::FEATURE_LEVEL_CALM;
use metadata_core::record::{FEATURE_LEVEL_MAX, FEATURE_LEVEL_MIN, LOG_START_LEVEL};

use super::Mix;
use crate::dice::Dice;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Upgrade {
    /// What brokers know at their first start.
    before: u16,
    /// At which start each broker is upgraded, and whether it is put back for one start after that.
    starts: Vec<(u64, bool)>,
    /// How long brokers have to be calm before the level rises.
    pub(crate) calm: Duration,
}

impl Upgrade {
    pub(super) fn of(seed: u64, mix: Mix, brokers: usize) -> Self {
        if mix != Mix::Upgrades {
            return Self { before: FEATURE_LEVEL_MAX, starts: Vec::new(), calm: FEATURE_LEVEL_CALM };
        }
        let mut dice = Dice::new(seed, 29);
        let before = dice.pick(&[LOG_START_LEVEL, LOG_START_LEVEL, LOG_START_LEVEL - 1, FEATURE_LEVEL_MIN]);
        let starts = (0..brokers).map(|_| (dice.pick(&[1, 2, 2, 2]), dice.permille(200))).collect();
        Self { before, starts, calm: Duration::from_millis(dice.pick(&[100, 300, 1_000])) }
    }

    /// What a broker knows at that start of it, the first of which is 1. Who is put back takes part in what the cluster has by then.
    pub(crate) fn level_of(&self, broker: usize, start: u64) -> u16 {
        let Some((upgraded, put_back)) = self.starts.get(broker) else { return self.before };
        let old = start < *upgraded || *put_back && start == upgraded + 1;
        if old { self.before } else { FEATURE_LEVEL_MAX }
    }

    /// Whether what is told to be gone stays gone: below that level a leader's own disk is all that counts (ADR 0015).
    pub(super) const fn confirms_log_starts(&self) -> bool {
        self.before >= LOG_START_LEVEL
    }
}
