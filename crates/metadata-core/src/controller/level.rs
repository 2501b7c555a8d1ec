//! The cluster's feature level rises to what every broker knows, once brokers have been calm for a while (ADR 0017). It never falls.

use std::time::Duration;

use log_core::{DirectoryId, MonoTime};

use super::PROPOSAL_RETRY;
use crate::image::ClusterImage;
use crate::quorum::QuorumStatus;
use crate::record::{FEATURE_LEVEL_MAX, MetadataRecord, SetFeatureLevel};

#[derive(Debug)]
pub(super) struct Level {
    calm: Duration,
    due: MonoTime,
}

impl Level {
    pub(super) fn new(now: MonoTime, calm: Duration) -> Self {
        Self { calm, due: now.after(calm) }
    }

    /// Brokers come or go, and one that comes may be of an older build: the calm begins anew.
    pub(super) fn disturbed(&mut self, now: MonoTime) {
        self.due = now.after(self.calm);
    }

    /// The raise to be proposed now. Whether every broker knows the level is asked again when the record is applied (C1): one
    /// may register in between.
    pub(super) fn due(
        &mut self,
        now: MonoTime,
        image: &ClusterImage,
        quorum: &QuorumStatus,
    ) -> Option<MetadataRecord> {
        if now < self.due {
            return None;
        }
        let level = known_to_all(image).filter(|level| *level > image.feature_level());
        self.due = now.after(if level.is_some() { PROPOSAL_RETRY } else { self.calm });
        let level = level.filter(|_| !quorum.changing && votes_are_of_brokers(image, quorum))?;
        Some(MetadataRecord::SetFeatureLevel(SetFeatureLevel { level }))
    }

    pub(super) const fn poll_timeout(&self) -> MonoTime {
        self.due
    }
}

/// The greatest level that every registered broker knows, fenced ones too, and this build; none without brokers.
fn known_to_all(image: &ClusterImage) -> Option<u16> {
    let least = image.brokers().map(|broker| broker.feature_level_max).min()?;
    Some(least.min(FEATURE_LEVEL_MAX))
}

/// Whether every voter is the directory of a registered broker: of another one nobody knows what its build can read.
fn votes_are_of_brokers(image: &ClusterImage, quorum: &QuorumStatus) -> bool {
    let of_broker = |voter: &DirectoryId| image.broker_of_directory(*voter).is_some();
    quorum.members.voters.iter().all(of_broker)
}
