//! How the broker stands, for `/livez`, `/readyz` and metrics.

use log_store::Disk;
use metadata_core::{MetadataQuorum, Standing};

use super::{Control, ControlAction};

/// How the broker stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlStatus {
    /// How far its life is.
    pub phase: ControlPhase,
    /// Whether a controller is known.
    pub controller_known: bool,
    /// Whether this broker is the controller.
    pub is_controller: bool,
}

/// How far a broker's life is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ControlPhase {
    /// Logs are being opened and checked.
    #[default]
    Recovering,
    /// The cluster or its controller is not reached yet, or the registration is not applied.
    Registering,
    /// Registered, and not let in yet, or fenced.
    Fenced,
    /// It lives: it leads and follows.
    Active,
    /// It is stopping.
    Stopping,
    /// It has ended.
    Ended,
}

impl ControlStatus {
    /// Whether clients should be sent here (`/readyz`).
    #[must_use]
    pub const fn is_ready(self) -> bool {
        matches!(self.phase, ControlPhase::Active)
    }

    /// Whether the process does what it should (`/livez`): a broker that recovers, waits or stops lives.
    #[must_use]
    pub const fn is_live(self) -> bool {
        !matches!(self.phase, ControlPhase::Ended)
    }
}

impl ControlPhase {
    /// The phase in words, for health answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recovering => "recovering",
            Self::Registering => "registering",
            Self::Fenced => "fenced",
            Self::Active => "active",
            Self::Stopping => "stopping",
            Self::Ended => "ended",
        }
    }
}

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    pub(super) fn show_status(&mut self) {
        let status = ControlStatus {
            phase: self.phase(),
            controller_known: self.finder.known().is_some() || self.leads_quorum(),
            is_controller: matches!(self.leadership, super::lead::Leadership::Leads { .. }),
        };
        if status != self.status {
            self.status = status;
            let (phase, is_controller) = (status.phase.name(), status.is_controller);
            tracing::info!(phase, is_controller, controller_known = status.controller_known, "broker");
            if !self.ended {
                self.actions.push_back(ControlAction::Status(status));
            }
        }
    }

    fn phase(&self) -> ControlPhase {
        if self.ended {
            return ControlPhase::Ended;
        }
        if self.stopping.is_some() {
            return ControlPhase::Stopping;
        }
        if !self.life.is_recovered() {
            return ControlPhase::Recovering;
        }
        let standing = self.image.broker(self.config.broker).map(|found| found.standing);
        match (self.life.broker_epoch(), standing) {
            (Some(_), Some(Standing::Active)) => ControlPhase::Active,
            (Some(_), _) => ControlPhase::Fenced,
            (None, _) => ControlPhase::Registering,
        }
    }
}
