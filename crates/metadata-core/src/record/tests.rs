//! Entries: bytes frozen, cut and flipped.

use proptest::prelude::*;

use super::*;
use crate::error::DecodeError;

fn entry(record: MetadataRecord) -> Entry {
    Entry {
        offset: MetadataOffset(5),
        proposal: ProposalId { origin: DirectoryId([0xd1; 16]), number: 0x0102 },
        time: Timestamp(1_700_000_000_000),
        record,
    }
}

/// One of each kind, with every field at a value of its own.
fn one_of_each() -> Vec<MetadataRecord> {
    let (topic_id, broker, broker_epoch) = (TopicId([7; 16]), BrokerId(3), BrokerEpoch(44));
    let partition = topic_partition(topic_id, 2);
    let configs = vec![("retention.ms".to_owned(), "1".to_owned())];
    let assignment = vec![vec![BrokerId(1), BrokerId(2)]];
    let report = DirectoryReport {
        clean: true,
        suspect: vec![SuspectReport { partition, last_epoch: LeaderEpoch(1), end: Offset(9) }],
        faulty: vec![partition],
    };
    let endpoints = vec![Endpoint { listener: Listener::Replica, host: "h".into(), port: 9093 }];
    vec![
        MetadataRecord::FormCluster(FormCluster {
            cluster_id: ClusterId([9; 16]),
            feature_level: 1,
            configs: configs.clone(),
        }),
        MetadataRecord::RegisterBroker(Box::new(RegisterBroker {
            broker,
            directory: DirectoryId([1; 16]),
            incarnation: Incarnation(77),
            rack: Some("r".into()),
            endpoints,
            shards: 4,
            feature_level_max: 1,
            report,
        })),
        MetadataRecord::UnregisterBroker(UnregisterBroker { broker, broker_epoch: Some(broker_epoch) }),
        MetadataRecord::FenceBrokers(FenceBrokers { brokers: vec![(broker, broker_epoch)] }),
        MetadataRecord::UnfenceBroker(UnfenceBroker { broker, broker_epoch }),
        MetadataRecord::BrokerShuttingDown(BrokerShuttingDown { broker, broker_epoch }),
        MetadataRecord::CreateTopic(CreateTopic {
            topic_id,
            name: "t".into(),
            partitions: Some(2),
            replication_factor: None,
            assignment: assignment.clone(),
            configs,
        }),
        MetadataRecord::DeleteTopic(DeleteTopic { topic_id }),
        MetadataRecord::AddPartitions(AddPartitions { topic_id, total: 3, assignment }),
    ]
    .into_iter()
    .chain(the_later_ones())
    .collect()
}

fn the_later_ones() -> Vec<MetadataRecord> {
    let (topic_id, broker, broker_epoch) = (TopicId([7; 16]), BrokerId(3), BrokerEpoch(44));
    let (partition, partition_epoch) = (topic_partition(topic_id, 2), PartitionEpoch(6));
    let shown = vec![ShownEnd { broker, last_epoch: Some(LeaderEpoch(1)), end: None }];
    vec![
        MetadataRecord::ChangeIsr(ChangeIsr {
            partition,
            leader: broker,
            leader_broker_epoch: broker_epoch,
            leader_epoch: LeaderEpoch(5),
            partition_epoch,
            isr: vec![(broker, broker_epoch)],
            proven: vec![broker],
            behind: vec![BrokerId(1)],
        }),
        MetadataRecord::ReportFaulty(ReportFaulty { broker, broker_epoch, partition, partition_epoch }),
        MetadataRecord::ResetReplica(ResetReplica { broker, broker_epoch, partition, partition_epoch }),
        MetadataRecord::ElectPreferred(ElectPreferred { partitions: vec![(partition, partition_epoch)] }),
        MetadataRecord::ElectUnclean(ElectUnclean {
            partition,
            partition_epoch,
            broker: Some(broker),
            shown,
        }),
        MetadataRecord::SetConfigs(SetConfigs {
            resource: Resource::Topic(topic_id),
            replace: true,
            changes: vec![("retention.ms".into(), ConfigOp::Set("5".into())), ("a".into(), ConfigOp::Delete)],
        }),
        MetadataRecord::AllocateProducerIds(AllocateProducerIds { broker, broker_epoch, count: 1000 }),
        MetadataRecord::ConfirmRemoval(ConfirmRemoval { broker, broker_epoch, topics: vec![topic_id] }),
        MetadataRecord::ForgetTopics(ForgetTopics { topics: vec![topic_id] }),
        MetadataRecord::SetFeatureLevel(SetFeatureLevel { level: 1 }),
        MetadataRecord::CreateJoinToken(CreateJoinToken { hash: [5; 32], expires: Timestamp(99) }),
        MetadataRecord::UseJoinToken(UseJoinToken {
            hash: [5; 32],
            directory: DirectoryId([2; 16]),
            broker: Some(broker),
            endpoints: vec![Endpoint { listener: Listener::Replica, host: "h".into(), port: 9093 }],
        }),
        MetadataRecord::NoOp,
        MetadataRecord::ResignLeader(ResignLeader {
            partition,
            leader: broker,
            leader_epoch: LeaderEpoch(5),
        }),
        MetadataRecord::AnnounceBrowserDoor(AnnounceBrowserDoor {
            broker,
            broker_epoch,
            door: BrowserDoor {
                webtransport: Some("https://h:1/kafka".into()),
                websocket: None,
                certificates: vec![BrowserCertificate {
                    sha256: [6; 32],
                    not_before: Timestamp(1),
                    not_after: Timestamp(2),
                }],
            },
        }),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn each_kind_of_record_comes_back_from_its_bytes() {
    for record in one_of_each() {
        let entry = entry(record);
        assert_eq!(Entry::decode(entry.offset, &entry.encode()), Ok(entry));
    }
}

/// The bytes on disk: a line that changes needs a new version of that record, not a new snapshot.
#[test]
fn the_bytes_of_each_kind_are_frozen() {
    let lines: Vec<String> = one_of_each()
        .into_iter()
        .map(|record| {
            let bytes = entry(record).encode();
            let (header, fields) = bytes.split_at(ENTRY_HEADER_LEN);
            format!(
                "{} {} {} | {} | {}",
                hex(&header[..1]),
                hex(&header[1..2]),
                hex(&header[2..3]),
                hex(&header[3..]),
                hex(fields)
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn unknown_formats_kinds_versions_and_trailing_bytes_are_named() {
    let bytes = entry(MetadataRecord::NoOp).encode();
    let with = |index: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[index] = byte;
        Entry::decode(MetadataOffset(0), &bytes)
    };
    assert_eq!(with(0, 9), Err(DecodeError::Format { found: 9 }));
    assert_eq!(with(1, 200), Err(DecodeError::UnknownKind { kind: 200 }));
    assert_eq!(with(2, 2), Err(DecodeError::UnknownVersion { kind: 22, version: 2 }));
    let trailing = [bytes.clone(), vec![0]].concat();
    assert_eq!(Entry::decode(MetadataOffset(0), &trailing), Err(DecodeError::Trailing { kind: 22, len: 1 }));
    assert_eq!(Entry::decode(MetadataOffset(0), &bytes[..34]), Err(DecodeError::Short { len: 34 }));
}

proptest! {
    #[test]
    fn decoding_survives_arbitrary_bytes(kind in 0..26u8, tail in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = entry(MetadataRecord::NoOp).encode();
        bytes[1] = kind;
        bytes.extend(tail);
        if let Ok(read) = Entry::decode(MetadataOffset(0), &bytes) {
            prop_assert_eq!(Entry::decode(MetadataOffset(0), &read.encode()), Ok(read));
        }
    }

    #[test]
    fn decoding_survives_cuts_and_flips(which in 0..24usize, cut in any::<prop::sample::Index>(), flip in any::<u8>()) {
        let mut bytes = entry(one_of_each().swap_remove(which)).encode();
        let at = cut.index(bytes.len());
        let _ = Entry::decode(MetadataOffset(0), &bytes[..at]);
        bytes[at] ^= flip;
        let _ = Entry::decode(MetadataOffset(0), &bytes);
    }
}
