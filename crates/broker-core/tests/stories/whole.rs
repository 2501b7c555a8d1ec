//! One whole broker: shards and the real Control with its copy of the metadata log, on one disk.

use std::collections::BTreeMap;
use std::time::Duration;

use highwater_broker_core::control::{Control, ControlAction, ControlConfig};
use highwater_broker_core::{
    ConnectionId, Door, Limits, Shard, ShardAction, ShardConfig, ShardId, ShardMessage,
};
use kafka_wire::messages::fetch::FetchResponse;
use kafka_wire::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use kafka_wire::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use kafka_wire::messages::produce::ProduceResponse;
use kafka_wire::{Body, Encode, ErrorCode, Segment};
use log_core::{BrokerId, ClusterId, DirectoryId, Incarnation, MonoTime, Now, Timestamp};
use log_store::{Disk, MemoryDisk};
use metadata_core::{Endpoint, Listener, QuorumMember, SoloQuorum};

use crate::support::client::{batch, fetch_request, frame, parse, produce_request, values_of};
use crate::support::{START_MS, crc};

const SHARDS: u16 = 2;

struct Whole {
    now: Now,
    disk: MemoryDisk,
    shards: Vec<Shard<MemoryDisk>>,
    control: Control<MemoryDisk, SoloQuorum>,
    received: BTreeMap<ConnectionId, Vec<u8>>,
    next_connection: u64,
}

impl Whole {
    fn start(disk: MemoryDisk, starts: u64) -> Self {
        let now = Now { mono: MonoTime(starts * 1_000_000_000_000), wall: Timestamp(START_MS) };
        let shard_config = |shard| ShardConfig {
            broker: BrokerId(1),
            shard: ShardId(shard),
            shards: SHARDS,
            crc,
            codecs: compression::CODECS,
            seed: 42,
            limits: Limits::default(),
            groups: coordinator_core::GroupConfig::default(),
            replication: replica_core::Settings::default(),
            clean_start: false,
            log_dir: "/data".into(),
            reserve_bytes: 64 << 10,
        };
        let endpoint = |listener, port| Endpoint { listener, host: "127.0.0.1".to_owned(), port };
        let directory = DirectoryId([1; 16]);
        let config = ControlConfig {
            broker: BrokerId(1),
            directory,
            cluster_id: ClusterId([7; 16]),
            forms: true,
            incarnation: Incarnation(starts),
            clean: false,
            rack: None,
            endpoints: vec![endpoint(Listener::Kafka, 9_092), endpoint(Listener::Replica, 9_093)],
            shards: SHARDS,
            feature_level_max: metadata_core::record::FEATURE_LEVEL_MAX,
            feature_level_calm: metadata_core::controller::FEATURE_LEVEL_CALM,
            cluster_configs: Vec::new(),
            seed: [u8::try_from(starts).unwrap(); 16],
            crc,
        };
        let own = QuorumMember { directory, broker: BrokerId(1), addresses: Vec::new() };
        let control =
            Control::open(now, config, disk.another_handle(), |applied| SoloQuorum::new(applied, own));
        let mut whole = Self {
            now,
            shards: (0..SHARDS).map(|id| Shard::new(now, shard_config(id), disk.another_handle())).collect(),
            disk,
            control: control.unwrap(),
            received: BTreeMap::new(),
            next_connection: 0,
        };
        whole.pass(Duration::from_secs(5));
        whole
    }

    fn pass(&mut self, time: Duration) {
        for _ in 0..time.as_millis() / 50 {
            self.now.mono = self.now.mono.after(Duration::from_millis(50));
            self.now.wall.0 += 50;
            self.run();
        }
    }

    fn run(&mut self) {
        let now = self.now;
        self.control.handle_timeout(now);
        self.shards.iter_mut().for_each(|shard| shard.handle_timeout(now));
        let mut idle = 0;
        while idle < 4 {
            idle += 1;
            self.control.handle_quorum(now);
            self.control.handle_disk(now);
            while let Some(action) = self.control.poll_action() {
                idle = 0;
                if let ControlAction::ToShard(shard, message) = action {
                    self.tell(shard, message);
                }
            }
            for shard in 0..SHARDS {
                self.shards[usize::from(shard)].handle_disk(now);
                while let Some(action) = self.shards[usize::from(shard)].poll_action() {
                    idle = 0;
                    self.act(ShardId(shard), action);
                }
            }
        }
    }

    fn tell(&mut self, shard: ShardId, message: ShardMessage) {
        let now = self.now;
        self.shards[usize::from(shard.0)].handle_message(now, message);
    }

    fn act(&mut self, shard: ShardId, action: ShardAction<log_store::MemoryFile>) {
        let now = self.now;
        match action {
            ShardAction::Send { connection, rope } => {
                let len = rope.len() as u64;
                let received = self.received.entry(connection).or_default();
                for segment in rope.into_segments() {
                    match segment {
                        Segment::Bytes(bytes) => received.extend_from_slice(&bytes),
                        Segment::File(range) => {
                            let mut bytes = vec![0; range.len as usize];
                            self.disk.read_at(&range.file, range.position, &mut bytes).unwrap();
                            received.extend_from_slice(&bytes);
                        }
                    }
                }
                self.shards[usize::from(shard.0)].handle_written(now, connection, len);
            }
            ShardAction::ToControl(request) => self.control.handle_request(now, shard, request),
            ShardAction::ToShard(to, message) => {
                self.shards[usize::from(to.0)].handle_peer(now, shard, message);
            }
            other => panic!("not expected of one broker: {other:?}"),
        }
    }

    fn ask<B: Body + Encode>(&mut self, version: i16, body: &B) -> bytes::Bytes {
        self.next_connection += 1;
        let connection = ConnectionId(self.next_connection);
        let now = self.now;
        self.shards[0].handle_connection_opened(now, connection, Door::MEMORY);
        self.shards[0].handle_frame(now, connection, frame(1, version, body));
        for _ in 0..200 {
            self.pass(Duration::from_millis(50));
            if let Some(received) = self.received.remove(&connection) {
                return bytes::Bytes::from(received).slice(4..);
            }
        }
        panic!("no answer in 10 s")
    }
}

#[test]
fn a_whole_broker_forms_a_cluster_serves_and_comes_back_with_everything() {
    let disk = MemoryDisk::new();
    let mut whole = Whole::start(disk.another_handle(), 1);
    let topics = vec![MetadataRequestTopic { name: Some("t".into()), ..MetadataRequestTopic::default() }];
    let wanted = MetadataRequest {
        topics: Some(topics),
        allow_auto_topic_creation: true,
        ..MetadataRequest::default()
    };
    let answer = whole.ask(9, &wanted);
    let metadata: MetadataResponse<'_> = parse(&answer, 9);
    assert_eq!((metadata.brokers.len(), metadata.controller_id), (1, 1));
    assert_eq!(metadata.topics[0].error_code, ErrorCode::None);
    let partitions = i32::try_from(metadata.topics[0].partitions.len()).unwrap();

    let init = InitProducerIdRequest { producer_id: -1, producer_epoch: -1, ..Default::default() };
    let answer = whole.ask(4, &init);
    assert_eq!(parse::<InitProducerIdResponse>(&answer, 4).error_code, ErrorCode::None);
    for partition in 0..partitions {
        let answer = whole.ask(9, &produce_request("t", partition, -1, batch(&["a", "b"])));
        let produced: ProduceResponse<'_> = parse(&answer, 9);
        assert_eq!(produced.responses[0].partition_responses[0].error_code, ErrorCode::None);
    }
    let find = FindCoordinatorRequest { key: "g".into(), ..FindCoordinatorRequest::default() };
    let answer = whole.ask(2, &find);
    let found: FindCoordinatorResponse<'_> = parse(&answer, 2);
    assert_eq!((found.error_code, found.node_id), (ErrorCode::None, 1));

    drop(whole);
    disk.power_cut(11);
    let mut whole = Whole::start(disk, 2);
    for partition in 0..partitions {
        let answer = whole.ask(12, &fetch_request("t", partition, 0, 0));
        let fetched: FetchResponse<'_> = parse(&answer, 12);
        let partition = fetched.responses[0].partitions[0].clone();
        assert_eq!(partition.error_code, ErrorCode::None);
        assert_eq!(values_of(&partition.records.into_bytes()), ["a", "b"]);
    }
}
