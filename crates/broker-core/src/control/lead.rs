//! Being the controller: only while the quorum says so, and only after every earlier entry is applied here.

use std::collections::BTreeMap;

use log_core::{DirectoryId, MonoTime};
use log_store::Disk;
use metadata_core::record::FormCluster;
use metadata_core::{
    Change, ControlFrame, Controller, ControllerAction, Heartbeat, MetadataQuorum, MetadataRecord,
};

use super::{Control, ControlAction, FrameSource, PeerStreamId};

/// This node's part in the quorum.
#[derive(Debug)]
pub(super) enum Leadership {
    /// Another node leads, or none.
    Follows,
    /// This node leads; entries below that end are not all applied yet.
    AwaitingEntries(u64),
    /// This node is the controller.
    Leads {
        /// Its decisions.
        controller: Box<Controller>,
        /// Where each broker's heartbeat came from last.
        streams: BTreeMap<DirectoryId, PeerStreamId>,
    },
}

impl Leadership {
    pub(super) fn poll_timeout(&self) -> Option<MonoTime> {
        match self {
            Self::Leads { controller, .. } => Some(controller.poll_timeout()),
            Self::Follows | Self::AwaitingEntries(_) => None,
        }
    }
}

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    /// Whether the quorum has said that this node leads it.
    pub(super) const fn leads_quorum(&self) -> bool {
        !matches!(self.leadership, Leadership::Follows)
    }

    /// The quorum says who leads.
    pub(super) fn take_leader(&mut self, leader: Option<DirectoryId>, is_self: bool) {
        self.finder.led_by(self.now.mono, leader);
        match (is_self, self.leads_quorum()) {
            (true, false) => {
                self.leadership = Leadership::AwaitingEntries(self.copy.end());
                self.take_over_if_ready();
            }
            (false, true) => self.leadership = Leadership::Follows,
            _ => {}
        }
        self.flush_proposals();
        if leader.is_some() {
            self.hurry_registration();
        }
        self.beat_if_due();
    }

    /// Becomes the controller once all that was agreed before is applied; forms the cluster if nobody has.
    pub(super) fn take_over_if_ready(&mut self) {
        let Leadership::AwaitingEntries(end) = self.leadership else { return };
        let next = self.image.applied().map_or(0, |offset| u64::try_from(offset.0 + 1).unwrap_or_default());
        if next < end {
            return;
        }
        let before = self.finder.last_answer();
        let (now, own, calm) = (self.now.mono, self.config.directory, self.config.feature_level_calm);
        let controller = Controller::take_over(now, own, &self.image, before, calm);
        self.leadership = Leadership::Leads { controller: Box::new(controller), streams: BTreeMap::new() };
        if self.image.cluster_id().is_none() && self.config.forms {
            self.propose_own(MetadataRecord::FormCluster(FormCluster {
                cluster_id: self.config.cluster_id,
                feature_level: self.config.feature_level_max,
                configs: self.config.cluster_configs.clone(),
            }));
        }
        self.finder.hurry(self.now.mono);
        self.beat_if_due();
        self.hurry_registration();
    }

    /// Another broker says that it lives.
    pub(super) fn take_heartbeat(&mut self, source: FrameSource, beat: &Heartbeat) {
        let leader = self.finder.known().filter(|leader| *leader != self.config.directory);
        match &mut self.leadership {
            Leadership::Leads { controller, streams } => {
                if let FrameSource::Accepted(stream) = source {
                    streams.insert(beat.directory, stream);
                }
                controller.handle_heartbeat(self.now.mono, &self.image, beat);
            }
            // It leads and will soon know everything: no answer is better than a wrong one.
            Leadership::AwaitingEntries(_) => {}
            Leadership::Follows => self.reply(source, ControlFrame::NotController { leader }),
        }
    }

    pub(super) fn hear_own_heartbeat(&mut self, beat: &Heartbeat) {
        if let Leadership::Leads { controller, .. } = &mut self.leadership {
            controller.handle_heartbeat(self.now.mono, &self.image, beat);
        }
    }

    pub(super) fn reply(&mut self, source: FrameSource, frame: ControlFrame) {
        if let FrameSource::Accepted(stream) = source {
            self.actions.push_back(ControlAction::Reply { stream, frame });
        }
    }

    pub(super) fn tell_controller(&mut self, changes: &[Change]) {
        if let Leadership::Leads { controller, .. } = &mut self.leadership
            && !changes.is_empty()
        {
            for change in changes {
                if let Change::Broker(broker) = change {
                    let standing = self.image.broker(*broker).map(|found| found.standing);
                    tracing::info!(%broker, ?standing, "a broker stands differently");
                }
            }
            controller.handle_applied(self.now.mono, &self.image, changes);
        }
    }

    pub(super) fn drive_controller_timers(&mut self) {
        if let Leadership::Leads { controller, .. } = &mut self.leadership
            && self.now.mono >= controller.poll_timeout()
        {
            controller.handle_timeout(self.now, &self.image, &self.quorum.status());
        }
    }

    pub(super) fn carry_out_controller_actions(&mut self) {
        while let Leadership::Leads { controller, streams } = &mut self.leadership {
            let Some(action) = controller.poll_action() else { return };
            match action {
                ControllerAction::Propose(record) => self.propose_own(record),
                ControllerAction::ChangeMembers(members) => self.quorum.change_members(members),
                ControllerAction::AnswerHeartbeat { to, answer } => {
                    let stream = streams.get(&to).copied();
                    let frame = ControlFrame::HeartbeatAnswer(answer);
                    self.actions.extend(stream.map(|stream| ControlAction::Reply { stream, frame }));
                }
            }
        }
    }
}
