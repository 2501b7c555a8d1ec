//! Forming, feature levels, producer ids, join tokens.

use super::*;

const HASH: TokenHash = [5; 32];

fn token(world: &mut World, expires_in_ms: i64) {
    let expires = Timestamp(world.now_ms + expires_in_ms);
    world.ok(MetadataRecord::CreateJoinToken(CreateJoinToken { hash: HASH, expires }));
}

fn join(directory: u8, broker: Option<i32>) -> MetadataRecord {
    MetadataRecord::UseJoinToken(UseJoinToken {
        hash: HASH,
        directory: dir(directory),
        broker: broker.map(BrokerId),
        endpoints: vec![],
    })
}

fn joined(broker: i32) -> Answer {
    Answer::Joined { cluster_id: ClusterId([9; 16]), broker: b(broker) }
}

#[test]
fn a_cluster_is_formed_once_and_first() {
    let form = || FormCluster { cluster_id: ClusterId([1; 16]), feature_level: 1, configs: vec![] };
    let mut world = World::formed();
    assert_eq!(world.refused(MetadataRecord::FormCluster(form())), Refusal::AlreadyFormed);
    let mut world = World { image: ClusterImage::new(), now_ms: 0, incarnation: 0 };
    let early = MetadataRecord::RegisterBroker(Box::new(registration(1, 1, 1)));
    assert_eq!(world.refused(early), Refusal::NotFormed);
    let configs = vec![("log.retention.ms".into(), "5".into())];
    world.ok(MetadataRecord::FormCluster(FormCluster { configs, ..form() }));
    assert_eq!(world.image.settings().topic.retention_ms, Some(5));
}

#[test]
fn the_feature_level_rises_only_to_what_every_broker_knows() {
    let mut world = World::formed_at(1);
    let raise = |level| MetadataRecord::SetFeatureLevel(SetFeatureLevel { level });
    world.register_as(RegisterBroker { feature_level_max: 1, ..registration(2, 2, 1) });
    world.register(1);
    assert!(matches!(world.refused(raise(1)), Refusal::FeatureLevel { .. }));
    assert!(matches!(world.refused(raise(2)), Refusal::FeatureLevelRefused { .. }));
    world.register_as(RegisterBroker { feature_level_max: 2, ..registration(2, 2, 2) });
    world.ok(raise(2));
    assert!(matches!(world.refused(raise(3)), Refusal::FeatureLevelRefused { .. }));
    let old = RegisterBroker { feature_level_max: 1, ..registration(3, 3, 1) };
    let refusal = world.refused(MetadataRecord::RegisterBroker(Box::new(old)));
    assert!(matches!(refusal, Refusal::FeatureLevelRefused { .. }));
}

#[test]
fn a_level_that_this_build_does_not_know_is_applied_as_others_apply_it_and_told() {
    let newer = FEATURE_LEVEL_MAX + 1;
    let raise = MetadataRecord::SetFeatureLevel(SetFeatureLevel { level: newer });
    let mut world = World::brokers(2);
    assert!(matches!(world.refused(raise.clone()), Refusal::FeatureLevelRefused { .. }));
    assert!(world.image.is_known_level(), "refused everywhere: a broker of this build was there first");
    for broker in 1..=2u8 {
        let fields = registration(broker.into(), broker, 100);
        world.register_as(RegisterBroker { feature_level_max: newer, ..fields });
    }
    world.ok(raise);
    assert_eq!((world.image.feature_level(), world.image.is_known_level()), (newer, false));
    let image = ClusterImage::decode(&world.image.encode());
    assert_eq!(image, Err(crate::DecodeError::Level { found: newer }));
}

#[test]
fn blocks_of_producer_ids_never_overlap() {
    let mut world = World::brokers(2);
    let take = |world: &World, broker, count| {
        MetadataRecord::AllocateProducerIds(AllocateProducerIds {
            broker: b(broker),
            broker_epoch: world.epoch(broker),
            count,
        })
    };
    let first = take(&world, 1, 1000);
    assert_eq!(world.ok(first), Answer::ProducerIds { first: ProducerId(0), count: 1000 });
    let second = take(&world, 2, 10);
    assert_eq!(world.ok(second.clone()), Answer::ProducerIds { first: ProducerId(1000), count: 10 });
    world.register(2);
    assert!(matches!(world.refused(second), Refusal::StaleBrokerEpoch { .. }));
    for count in [0, crate::image::PRODUCER_ID_BLOCK_MAX + 1] {
        let record = take(&world, 1, count);
        assert_eq!(world.refused(record), Refusal::InvalidProducerIds { count });
    }
}

#[test]
fn a_join_token_is_good_for_one_directory_until_it_expires() {
    let mut world = World::brokers(1);
    assert_eq!(world.refused(join(2, None)), Refusal::UnknownToken);
    token(&mut world, 1000);
    assert_eq!(world.ok(join(2, None)), joined(2));
    assert_eq!(world.ok(join(2, None)), joined(2), "the answer may have been lost");
    assert_eq!(world.refused(join(3, None)), Refusal::UnknownToken);
    world.now_ms += 1000;
    assert!(matches!(world.refused(join(2, None)), Refusal::TokenExpired { .. }));
}

#[test]
fn a_joining_directory_gets_the_id_it_asks_for_unless_a_live_broker_has_it() {
    let mut world = World::brokers(2);
    token(&mut world, 1000);
    assert_eq!(world.refused(join(22, Some(2))), Refusal::DuplicateBroker { broker: b(2) });
    assert_eq!(world.refused(join(22, Some(-1))), Refusal::InvalidBrokerId { broker: b(-1) });
    world.fence(&[2]);
    assert_eq!(world.ok(join(22, Some(2))), joined(2));
    let other = registration(2, 2, world.next_incarnation());
    let refusal = world.refused(MetadataRecord::RegisterBroker(Box::new(other)));
    assert_eq!(refusal, Refusal::ReservedBroker { broker: b(2) });
    world.register_from(2, 22);
}

#[test]
fn expired_tokens_make_room_and_doubles_are_refused() {
    let mut world = World::brokers(1);
    token(&mut world, 10);
    let again = CreateJoinToken { hash: HASH, expires: Timestamp(world.now_ms + 10) };
    assert_eq!(world.refused(MetadataRecord::CreateJoinToken(again)), Refusal::TokenRefused);
    world.now_ms += 10;
    let past = CreateJoinToken { hash: [6; 32], expires: Timestamp(world.now_ms) };
    assert_eq!(world.refused(MetadataRecord::CreateJoinToken(past)), Refusal::TokenRefused);
    for number in 0..crate::image::JOIN_TOKENS_MAX {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_le_bytes());
        let expires = Timestamp(world.now_ms + 1);
        world.ok(MetadataRecord::CreateJoinToken(CreateJoinToken { hash, expires }));
    }
    let one_more = CreateJoinToken { hash: [8; 32], expires: Timestamp(world.now_ms + 1) };
    assert_eq!(world.refused(MetadataRecord::CreateJoinToken(one_more)), Refusal::TokenRefused);
}
