//! Images: bytes, laws, sharing, getters.

use std::sync::Arc;

use log_core::{DirectoryId, Timestamp, TopicId};
use proptest::prelude::*;

use super::*;
use crate::apply::tests::{TOPIC, World, b, p0};
use crate::error::DecodeError;
use crate::record::*;

fn rich() -> ClusterImage {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.register_suspect(1, 0, 5);
    world.unfence(1);
    world.set("retention.ms", "1000");
    let expires = Timestamp(world.now_ms + 10);
    world.ok(MetadataRecord::CreateJoinToken(CreateJoinToken { hash: [1; 32], expires }));
    let (hash, directory) = ([1; 32], DirectoryId([8; 16]));
    world.ok(MetadataRecord::UseJoinToken(UseJoinToken { hash, directory, broker: None, endpoints: vec![] }));
    let (broker, broker_epoch) = (b(1), world.epoch(1));
    world.ok(MetadataRecord::AllocateProducerIds(AllocateProducerIds { broker, broker_epoch, count: 10 }));
    world.ok(MetadataRecord::DeleteTopic(DeleteTopic { topic_id: TOPIC }));
    world.announce(2, "https://h:1/kafka");
    world.ok(MetadataRecord::CreateTopic(CreateTopic {
        topic_id: TopicId([8; 16]),
        name: "orders".into(),
        partitions: Some(4),
        replication_factor: Some(3),
        assignment: vec![],
        configs: vec![],
    }));
    world.image
}

#[test]
fn an_image_comes_back_from_its_bytes() {
    for image in [ClusterImage::new(), rich()] {
        assert_eq!(ClusterImage::decode(&image.encode()), Ok(image));
    }
}

#[test]
fn an_image_of_a_lower_feature_level_is_written_as_its_brokers_read_it() {
    let mut world = World::formed_at(1);
    world.register(1);
    let bytes = world.image.encode();
    assert_eq!(bytes[8], 1);
    assert_eq!(ClusterImage::decode(&bytes), Ok(world.image));
    assert_eq!(rich().encode()[8], 2);
}

#[test]
fn damage_and_other_formats_are_refused() {
    let bytes = rich().encode();
    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert!(matches!(ClusterImage::decode(&flipped), Err(DecodeError::Checksum { .. })));
    let mut newer = bytes.clone();
    newer[8] = 3;
    assert_eq!(ClusterImage::decode(&newer), Err(DecodeError::Format { found: 3 }));
    assert!(matches!(ClusterImage::decode(&bytes[..bytes.len() - 1]), Err(DecodeError::Short { .. })));
    assert!(matches!(ClusterImage::decode(&[]), Err(DecodeError::Short { .. })));
}

#[test]
fn an_image_in_a_format_that_its_feature_level_does_not_have_is_refused() {
    let mut world = World::formed_at(1);
    world.register(1);
    let mut bytes = world.image.encode();
    bytes[8] = 2;
    // No doors: without the check it would be read, and written again in the other format.
    bytes.push(0);
    let (sum, len) = (crc32c::crc32c(&bytes[24..]), (bytes.len() - 24) as u64);
    bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    bytes[16..24].copy_from_slice(&len.to_le_bytes());
    assert_eq!(ClusterImage::decode(&bytes), Err(DecodeError::Image));
}

#[test]
fn bytes_that_break_a_law_are_refused() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let topic = Arc::make_mut(Arc::make_mut(&mut world.image.topics).get_mut(&TOPIC).unwrap());
    Arc::make_mut(&mut topic.partitions[0]).elr = vec![b(1)];
    assert!(world.image.broken_law().is_some());
    assert_eq!(ClusterImage::decode(&world.image.encode()), Err(DecodeError::Image));
}

#[test]
fn a_clone_shares_what_does_not_change() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let snapshot = world.image.clone();
    world.fence(&[3]);
    assert_eq!(snapshot.partition(p0()).unwrap().isr, [b(1), b(2), b(3)]);
    assert_eq!(world.state().isr, [b(1), b(2)]);
    assert!(Arc::ptr_eq(&snapshot.names, &world.image.names));
    assert!(Arc::ptr_eq(&snapshot.brokers[&b(1)], &world.image.brokers[&b(1)]));
}

#[test]
fn getters_find_by_name_id_directory_and_holder() {
    let image = rich();
    assert_eq!(image.topic_names().collect::<Vec<_>>(), ["orders"]);
    assert_eq!(image.topic_by_name("orders").map(|topic| topic.id), Some(TopicId([8; 16])));
    assert_eq!(image.broker_of_directory(DirectoryId([2; 16])).map(|broker| broker.id), Some(b(2)));
    assert_eq!((image.partitions_of(b(1)).count(), image.partition_count()), (4, 4));
    assert_eq!(image.removals_of(b(3)).collect::<Vec<_>>(), [TOPIC]);
    assert!(!image.is_offline(topic_partition(TopicId([8; 16]), 0)));
    assert_eq!(image.partition(topic_partition(TopicId([8; 16]), -1)), None);
}

proptest! {
    #[test]
    fn decoding_survives_cuts_and_flips_behind_a_right_checksum(at in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let bytes = rich().encode();
        let mut body = bytes[24..].to_vec();
        let at = at.index(body.len());
        body[at] ^= flip;
        let mut forged = bytes[..12].to_vec();
        forged.extend(crc32c::crc32c(&body).to_le_bytes());
        forged.extend((body.len() as u64).to_le_bytes());
        forged.extend(body);
        if let Ok(image) = ClusterImage::decode(&forged) {
            prop_assert_eq!(image.broken_law(), None);
        }
    }
}
