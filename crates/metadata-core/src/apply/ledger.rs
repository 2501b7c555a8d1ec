//! What the cluster keeps count of: its forming, feature level, producer ids, join tokens and reserved broker ids.

use std::sync::Arc;

use log_core::{BrokerId, DirectoryId, ProducerId};

use super::Step;
use crate::config::{ConfigMap, Scope, edit};
use crate::error::Refusal;
use crate::image::{ClusterImage, JOIN_TOKENS_MAX, JoinToken, PRODUCER_ID_BLOCK_MAX, Reservation};
use crate::outcome::{Answer, Change};
use crate::record::{
    AllocateProducerIds, ConfigOp, CreateJoinToken, FormCluster, SetFeatureLevel, UseJoinToken,
};

impl ClusterImage {
    pub(super) fn form_cluster(&mut self, step: &mut Step, fields: &FormCluster) -> Result<Answer, Refusal> {
        if self.cluster_id.is_some() {
            return Err(Refusal::AlreadyFormed);
        }
        let set = |(key, value): &(String, String)| (key.clone(), ConfigOp::Set(value.clone()));
        let changes: Vec<_> = fields.configs.iter().map(set).collect();
        let configs = edit(Scope::Cluster, &ConfigMap::new(), true, &changes)?;
        self.cluster_id = Some(fields.cluster_id);
        self.feature_level = fields.feature_level;
        self.set_cluster_configs(step, configs);
        Ok(Answer::Done)
    }

    /// A level that this build does not know is applied like any other: whether a record is refused must not depend on who
    /// applies it. The broker that finds it in its image has to end ([`ClusterImage::is_known_level`]).
    pub(super) fn set_feature_level(
        &mut self,
        step: &mut Step,
        fields: &SetFeatureLevel,
    ) -> Result<Answer, Refusal> {
        let (asked, level) = (fields.level, self.feature_level);
        let behind = self.brokers().find(|broker| broker.feature_level_max < asked).map(|broker| broker.id);
        if let Some(broker) = behind {
            return Err(Refusal::FeatureLevelRefused { asked, level, broker });
        }
        if asked <= level {
            return Err(Refusal::FeatureLevel { required: asked, level });
        }
        self.feature_level = asked;
        step.changes.push(Change::Cluster);
        Ok(Answer::Done)
    }

    pub(super) fn allocate_producer_ids(
        &mut self,
        step: &mut Step,
        fields: &AllocateProducerIds,
    ) -> Result<Answer, Refusal> {
        self.current_broker(fields.broker, fields.broker_epoch)?;
        let count = fields.count;
        let first = self.next_producer_id;
        let next =
            first.checked_add(i64::from(count)).filter(|_| (1..=PRODUCER_ID_BLOCK_MAX).contains(&count));
        self.next_producer_id = next.ok_or(Refusal::InvalidProducerIds { count })?;
        step.changes.push(Change::Ledger);
        Ok(Answer::ProducerIds { first: ProducerId(first), count })
    }

    pub(super) fn create_join_token(
        &mut self,
        step: &mut Step,
        fields: &CreateJoinToken,
    ) -> Result<Answer, Refusal> {
        let expired = |token: &JoinToken| token.expires <= step.time;
        let live = self.tokens.values().filter(|token| !expired(token)).count();
        if self.tokens.contains_key(&fields.hash) || fields.expires <= step.time || live >= JOIN_TOKENS_MAX {
            return Err(Refusal::TokenRefused);
        }
        let tokens = Arc::make_mut(&mut self.tokens);
        tokens.retain(|_, token| !expired(token));
        tokens.insert(fields.hash, JoinToken { expires: fields.expires, used_by: None });
        step.changes.push(Change::Ledger);
        Ok(Answer::Done)
    }

    /// A token is good for one directory, until it expires: the same directory may ask again, since the first answer
    /// may have been lost.
    pub(super) fn use_join_token(
        &mut self,
        step: &mut Step,
        fields: &UseJoinToken,
    ) -> Result<Answer, Refusal> {
        let token = *self.tokens.get(&fields.hash).ok_or(Refusal::UnknownToken)?;
        if token.expires <= step.time {
            return Err(Refusal::TokenExpired { expires: token.expires });
        }
        if token.used_by.is_some_and(|directory| directory != fields.directory) {
            return Err(Refusal::UnknownToken);
        }
        let broker = self.id_for(fields.directory, fields.broker)?;
        let cluster_id = self.cluster_id.ok_or(Refusal::NotFormed)?;
        let used = JoinToken { used_by: Some(fields.directory), ..token };
        Arc::make_mut(&mut self.tokens).insert(fields.hash, used);
        let kept = Reservation { directory: fields.directory, endpoints: fields.endpoints.clone() };
        Arc::make_mut(&mut self.reserved).insert(broker, kept);
        step.changes.push(Change::Ledger);
        Ok(Answer::Joined { cluster_id, broker })
    }

    /// The id that is asked for if no live broker of another directory has it; else the one the directory has, or the
    /// next one that is free.
    fn id_for(&self, directory: DirectoryId, asked: Option<BrokerId>) -> Result<BrokerId, Refusal> {
        let Some(broker) = asked else {
            let own = self.broker_of_directory(directory).map(|broker| broker.id);
            let kept =
                || self.reserved.iter().find(|(_, kept)| kept.directory == directory).map(|(id, _)| *id);
            return Ok(own.or_else(kept).unwrap_or_else(|| self.free_id()));
        };
        if broker.0 < 0 {
            return Err(Refusal::InvalidBrokerId { broker });
        }
        let lives =
            self.broker(broker).is_some_and(|found| self.holds_its_id(found) && found.directory != directory);
        if lives { Err(Refusal::DuplicateBroker { broker }) } else { Ok(broker) }
    }

    fn free_id(&self) -> BrokerId {
        let taken = self.brokers.keys().chain(self.reserved.keys()).max();
        BrokerId(taken.map_or(1, |broker| broker.0.saturating_add(1)))
    }
}
