//! The metadata log: entries that are decoded and applied one after the other, and images.
//!
//! Applying checks the image's own laws after each entry; an image that decodes is encoded again to one that is equal.

#![no_main]

use highwater_fuzz::Choices;
use log_core::{BrokerId, ClusterId, DirectoryId, Incarnation, MetadataOffset, Timestamp, TopicId};
use metadata_core::image::{SNAPSHOT_FORMAT_MAX, SNAPSHOT_MAGIC};
use metadata_core::record::{CreateTopic, FormCluster, RegisterBroker, UnfenceBroker};
use metadata_core::{Answer, ClusterImage, Endpoint, Entry, Listener, MetadataRecord, ProposalId};

highwater_fuzz::target!(seeds, check);

fn check(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, rest)) => image(rest),
        Some((_, rest)) => entries(rest),
        None => {}
    }
}

/// A snapshot with this body, its header as it should be.
fn image(body: &[u8]) {
    let mut file = SNAPSHOT_MAGIC.to_vec();
    file.extend_from_slice(&SNAPSHOT_FORMAT_MAX.to_le_bytes());
    file.extend_from_slice(&[0; 2]);
    file.extend_from_slice(&crc32c::crc32c(body).to_le_bytes());
    file.extend_from_slice(&(body.len() as u64).to_le_bytes());
    file.extend_from_slice(body);
    let _ = ClusterImage::decode(body);
    let Ok(mut image) = ClusterImage::decode(&file) else { return };
    let again = ClusterImage::decode(&image.encode()).expect("what was encoded decodes");
    assert_eq!(again, image);
    assert_eq!(image.broken_law(), None);
    let next = image.applied().map_or(0, |offset| offset.0.saturating_add(1));
    if next < i64::MAX {
        let record = MetadataRecord::NoOp;
        image.apply(&entry(next, record));
    }
}

/// Entries on top of a cluster of three brokers with a topic: kind, and fields as they stand.
fn entries(bytes: &[u8]) {
    let mut image = cluster();
    let mut choices = Choices::new(bytes);
    while !choices.is_empty() {
        let offset = image.applied().map_or(0, |offset| offset.0 + 1);
        let mut whole = entry(offset, MetadataRecord::NoOp).encode();
        whole[1] = choices.byte();
        whole.extend_from_slice(choices.piece(400));
        let Ok(read) = Entry::decode(MetadataOffset(offset), &whole) else { continue };
        let again = Entry::decode(MetadataOffset(offset), &read.encode()).expect("what was encoded decodes");
        assert_eq!(again, read);
        let before = image.clone();
        let outcome = image.apply(&read);
        assert_eq!(image.broken_law(), None, "after {read:?}");
        if outcome.result.is_err() {
            let mut skipped = before;
            skipped.skip(MetadataOffset(offset));
            assert_eq!(skipped, image, "a refused record changes nothing: {read:?}");
        }
    }
    let again = ClusterImage::decode(&image.encode()).expect("what was encoded decodes");
    assert_eq!(again, image);
}

fn entry(offset: i64, record: MetadataRecord) -> Entry {
    let time = Timestamp(1_700_000_000_000 + offset);
    Entry { offset: MetadataOffset(offset), proposal: ProposalId::default(), time, record }
}

fn formed() -> MetadataRecord {
    MetadataRecord::FormCluster(FormCluster {
        cluster_id: ClusterId([9; 16]),
        feature_level: 1,
        configs: vec![("log.retention.ms".into(), "1000".into())],
    })
}

fn registered(broker: i32) -> MetadataRecord {
    MetadataRecord::RegisterBroker(Box::new(RegisterBroker {
        broker: BrokerId(broker),
        directory: DirectoryId([broker as u8; 16]),
        incarnation: Incarnation(1),
        rack: None,
        endpoints: vec![Endpoint { listener: Listener::Kafka, host: "h".into(), port: 9092 }],
        shards: 2,
        feature_level_max: 1,
        report: metadata_core::record::DirectoryReport::default(),
    }))
}

fn created() -> MetadataRecord {
    MetadataRecord::CreateTopic(CreateTopic {
        topic_id: TopicId([7; 16]),
        name: "orders".into(),
        partitions: None,
        replication_factor: None,
        assignment: vec![vec![BrokerId(1), BrokerId(2), BrokerId(3)]; 2],
        configs: vec![("min.insync.replicas".into(), "2".into())],
    })
}

fn cluster() -> ClusterImage {
    let mut image = ClusterImage::default();
    let mut offset = 0;
    let mut apply = |record| {
        let outcome = image.apply(&entry(offset, record));
        offset += 1;
        outcome.result.expect("the start is in order")
    };
    apply(formed());
    for broker in 1..=3 {
        if let Answer::Registered { broker_epoch } = apply(registered(broker)) {
            apply(MetadataRecord::UnfenceBroker(UnfenceBroker { broker: BrokerId(broker), broker_epoch }));
        }
    }
    apply(created());
    image
}

fn seeds() -> Vec<Vec<u8>> {
    let image = cluster().encode();
    let mut seeds = vec![[&[0][..], &image[24..]].concat()];
    let mut all = vec![1];
    for record in [registered(4), formed(), created(), MetadataRecord::NoOp] {
        let bytes = entry(0, record).encode();
        let fields = &bytes[metadata_core::record::ENTRY_HEADER_LEN..];
        let length = (fields.len() as u16).to_be_bytes();
        let one = [&[bytes[1]][..], &length, fields].concat();
        seeds.push([&[1][..], &one].concat());
        all.extend(one);
    }
    // Every kind with short fields of small numbers, as most are.
    for kind in 1..=23 {
        all.extend([kind, 0, 6, 2, 8, 2, 1, 1, 2]);
    }
    seeds.push(all);
    seeds
}
