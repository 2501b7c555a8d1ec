//! Metadata and administration: what clients are told of the cluster, and how they change it.

use std::time::Duration;

use highwater_broker_core::{ConnectionId, Door, DoorKind, ShardId};
use kafka_wire::messages::alter_configs::{
    AlterConfigsRequest, AlterConfigsResource as WholeResource, AlterConfigsResponse,
    AlterableConfig as WholeConfig,
};
use kafka_wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_wire::messages::create_partitions::*;
use kafka_wire::messages::create_topics::*;
use kafka_wire::messages::delete_topics::*;
use kafka_wire::messages::describe_cluster::*;
use kafka_wire::messages::describe_configs::*;
use kafka_wire::messages::describe_log_dirs::*;
use kafka_wire::messages::describe_quorum::*;
use kafka_wire::messages::describe_topic_partitions::*;
use kafka_wire::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use kafka_wire::messages::init_producer_id::*;
use kafka_wire::messages::metadata::*;
use kafka_wire::messages::sasl_authenticate::*;
use kafka_wire::messages::sasl_handshake::*;
use kafka_wire::{ErrorCode, Uuid};
use log_core::{PartitionIndex, TopicPartition};

use crate::support::Cluster;
use crate::support::client::*;

fn named(name: &str) -> MetadataRequest<'_> {
    MetadataRequest {
        topics: Some(vec![MetadataRequestTopic { name: Some(name.into()), topic_id: Uuid::NONE }]),
        allow_auto_topic_creation: true,
        ..MetadataRequest::default()
    }
}

#[test]
fn api_versions_tell_what_is_served_with_kafkas_minima() {
    let mut cluster = Cluster::new(1);
    let request = ApiVersionsRequest {
        client_software_name: "librdkafka".into(),
        client_software_version: "2.0.2".into(),
    };
    let frame = cluster.ask(1, 3, &request);
    let response: ApiVersionsResponse<'_> = parse(&frame, 3);
    assert_eq!(response.error_code, ErrorCode::None);
    let range = |key| {
        let found = response.api_keys.iter().find(|api| api.api_key == key);
        found.map(|api| (api.min_version, api.max_version))
    };
    assert_eq!((range(0), range(1), range(18)), (Some((0, 11)), Some((4, 18)), Some((0, 4))));
    assert_eq!((range(11), range(22), range(3)), (Some((0, 9)), Some((0, 5)), Some((0, 13))));
    assert_eq!((range(71), range(68), range(24)), (None, None, None), "no feature that is not there");
}

#[test]
fn a_newer_api_versions_is_answered_in_version_0_with_our_range() {
    let mut cluster = Cluster::new(1);
    let connection = cluster.open(1);
    let newer = bytes::Bytes::from_static(&[0, 18, 0, 99, 0, 0, 0, 5, 0, 0]);
    cluster.send_frame(1, connection, &newer);
    cluster.run();
    let frame = cluster.take_response(1, connection).unwrap();
    assert_eq!(frame[..], [0, 0, 0, 5, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4]);
    assert!(cluster.broker(1).closed.is_empty());
}

#[test]
fn a_client_that_names_itself_badly_is_told() {
    let mut cluster = Cluster::new(1);
    let request =
        ApiVersionsRequest { client_software_name: "-".into(), client_software_version: "1".into() };
    let frame = cluster.ask(1, 3, &request);
    assert_eq!(parse::<ApiVersionsResponse<'_>>(&frame, 3).error_code, ErrorCode::InvalidRequest);
}

#[test]
fn a_topic_is_made_on_first_use_and_answered_with_its_leaders() {
    let mut cluster = Cluster::new(3);
    let frame = cluster.ask(2, 9, &named("new"));
    let response: MetadataResponse<'_> = parse(&frame, 9);
    let topic = &response.topics[0];
    assert_eq!((topic.error_code, topic.name.as_deref()), (ErrorCode::None, Some("new")));
    assert!(!topic.partitions.is_empty());
    for partition in &topic.partitions {
        assert_eq!((partition.error_code, partition.replica_nodes.len()), (ErrorCode::None, 3));
        assert!(partition.leader_id > 0 && partition.leader_epoch >= 0);
    }
    let live: Vec<i32> = response.brokers.iter().map(|broker| broker.node_id).collect();
    assert_eq!(live, [1, 2, 3]);
    assert!(live.contains(&response.controller_id), "never -1");
    assert_eq!(response.cluster_id.as_deref(), Some("BwcHBwcHBwcHBwcHBwcHBw"));
    assert_eq!(topic.topic_authorized_operations, i32::MIN);
}

#[test]
fn auto_creation_can_be_refused_by_the_client_and_by_the_cluster() {
    let mut cluster = Cluster::new(1);
    let mut request = named("new");
    request.allow_auto_topic_creation = false;
    let frame = cluster.ask(1, 9, &request);
    let error = parse::<MetadataResponse<'_>>(&frame, 9).topics[0].error_code;
    assert_eq!(error, ErrorCode::UnknownTopicOrPartition);
    let mut cluster = Cluster::with(1, 1, &[("auto.create.topics.enable", "false")]);
    let frame = cluster.ask(1, 9, &named("new"));
    let error = parse::<MetadataResponse<'_>>(&frame, 9).topics[0].error_code;
    assert_eq!(error, ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn auto_creation_without_a_controller_is_answered_in_time() {
    let mut cluster = Cluster::new(1);
    cluster.controller_silent = true;
    let connection = cluster.open(1);
    cluster.send(1, connection, 9, &named("new"));
    cluster.pass(Duration::from_secs(6));
    let frame = cluster.take_response(1, connection).unwrap();
    let error = parse::<MetadataResponse<'_>>(&frame, 9).topics[0].error_code;
    assert_eq!(error, ErrorCode::LeaderNotAvailable);
}

#[test]
fn null_and_empty_topics_mean_what_they_mean_in_each_version() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("a", 1, 1, &[]);
    let mut count = |version, topics: Option<Vec<MetadataRequestTopic<'static>>>| {
        let frame = cluster.ask(1, version, &MetadataRequest { topics, ..MetadataRequest::default() });
        parse::<MetadataResponse<'_>>(&frame, version).topics.len()
    };
    assert_eq!(count(0, Some(Vec::new())), 1, "version 0: empty is all");
    assert_eq!((count(1, None), count(1, Some(Vec::new()))), (1, 0));
    assert_eq!((count(12, None), count(12, Some(Vec::new()))), (1, 0));
}

#[test]
fn every_version_of_metadata_is_answered() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("a", 1, 1, &[]);
    for version in 0..=13 {
        let request = MetadataRequest {
            topics: (version > 0).then(|| named("a").topics.unwrap()).or(Some(Vec::new())),
            ..MetadataRequest::default()
        };
        let frame = cluster.ask(1, version, &request);
        let response: MetadataResponse<'_> = parse(&frame, version);
        assert_eq!(response.topics[0].name.as_deref(), Some("a"), "version {version}");
    }
}

#[test]
fn topics_are_found_by_id_and_unknown_ids_said() {
    let mut cluster = Cluster::new(1);
    let id = Uuid(cluster.create_topic("a", 1, 1, &[]).0);
    let mut ask = |topic_id| {
        let topics = Some(vec![MetadataRequestTopic { name: None, topic_id }]);
        let frame = cluster.ask(1, 12, &MetadataRequest { topics, ..MetadataRequest::default() });
        let response: MetadataResponse<'_> = parse(&frame, 12);
        (response.topics[0].error_code, response.topics[0].topic_id)
    };
    assert_eq!(ask(id), (ErrorCode::None, id));
    assert_eq!(ask(Uuid([9; 16])), (ErrorCode::UnknownTopicId, Uuid([9; 16])));
}

#[test]
fn brokers_are_named_by_the_listener_the_client_came_by() {
    let mut cluster = Cluster::new(1);
    let mut port = |kind| {
        let local = Some("127.0.0.1:1".parse().unwrap());
        let connection: ConnectionId = cluster.open_at(1, ShardId(0), Door { kind, local, peer: None });
        let frame = cluster.ask_on(1, connection, 1, &MetadataRequest::default());
        let response: MetadataResponse<'_> = parse(&frame, 1);
        response.brokers.first().map(|broker| (broker.host.to_string(), broker.port))
    };
    assert_eq!(port(DoorKind::Tcp), Some(("127.0.0.1".to_owned(), 9_102)));
    assert_eq!(port(DoorKind::Quic), Some(("127.0.0.1".to_owned(), 9_102)));
    assert_eq!(port(DoorKind::WebSocket), None, "no such listener is registered");
}

#[test]
fn a_fenced_broker_is_not_named_as_live() {
    let mut cluster = Cluster::new(3);
    cluster.create_topic("a", 3, 3, &[]);
    cluster.kill(3);
    cluster.fence(3);
    let frame = cluster.ask(1, 9, &named("a"));
    let response: MetadataResponse<'_> = parse(&frame, 9);
    let live: Vec<i32> = response.brokers.iter().map(|broker| broker.node_id).collect();
    assert_eq!(live, [1, 2]);
    for partition in &response.topics[0].partitions {
        assert_ne!(partition.leader_id, 3);
        assert_eq!(partition.offline_replicas, [3]);
    }
    let request =
        DescribeClusterRequest { endpoint_type: 1, include_fenced_brokers: true, ..Default::default() };
    let frame = cluster.ask(1, 2, &request);
    let response: DescribeClusterResponse<'_> = parse(&frame, 2);
    let fenced: Vec<(i32, bool)> =
        response.brokers.iter().map(|broker| (broker.broker_id, broker.is_fenced)).collect();
    assert_eq!(fenced, [(1, false), (2, false), (3, true)]);
}

fn creatable(name: &str, num_partitions: i32, replication_factor: i16) -> CreatableTopic<'_> {
    CreatableTopic { name: name.into(), num_partitions, replication_factor, ..CreatableTopic::default() }
}

fn create(cluster: &mut Cluster, topics: Vec<CreatableTopic<'_>>) -> Vec<(ErrorCode, i32, i16)> {
    let request = CreateTopicsRequest { topics, timeout_ms: 5_000, validate_only: false };
    let frame = cluster.ask(1, 7, &request);
    let response: CreateTopicsResponse<'_> = parse(&frame, 7);
    let result = |topic: &CreatableTopicResult<'_>| {
        assert_eq!(topic.error_code == ErrorCode::None, topic.topic_id != Uuid::NONE);
        (topic.error_code, topic.num_partitions, topic.replication_factor)
    };
    response.topics.iter().map(result).collect()
}

#[test]
fn topics_are_made_with_defaults_and_refused_for_their_reason() {
    let mut cluster = Cluster::new(3);
    let config = |name, value| CreatableTopicConfig { name, value: Some(value) };
    let mut bad_config = creatable("cfg", 1, 1);
    bad_config.configs = vec![config("retention.ms".into(), "soon".into())];
    let mut assigned = creatable("assigned", -1, -1);
    assigned.assignments = vec![CreatableReplicaAssignment { partition_index: 0, broker_ids: vec![3, 1] }];
    let mut both = assigned.clone();
    (both.name, both.num_partitions) = ("both".into(), 2);
    let results = create(
        &mut cluster,
        vec![
            creatable("ok", 2, 3),
            creatable("defaults", -1, -1),
            creatable("../etc/passwd", 1, 1),
            creatable("many", 1_000_000_000, 1),
            creatable("none", 0, 1),
            creatable("wide", 1, 9),
            bad_config,
            assigned,
            both,
            creatable("twice", 1, 1),
            creatable("twice", 1, 1),
        ],
    );
    let errors: Vec<ErrorCode> = results.iter().map(|result| result.0).collect();
    assert_eq!(
        errors,
        [
            ErrorCode::None,
            ErrorCode::None,
            ErrorCode::InvalidTopicException,
            ErrorCode::InvalidPartitions,
            ErrorCode::InvalidPartitions,
            ErrorCode::InvalidReplicationFactor,
            ErrorCode::InvalidConfig,
            ErrorCode::None,
            ErrorCode::InvalidRequest,
            ErrorCode::InvalidRequest,
        ],
        "what is named twice has one result"
    );
    assert_eq!(results[0], (ErrorCode::None, 2, 3));
    assert_eq!(create(&mut cluster, vec![creatable("ok", 1, 1)])[0].0, ErrorCode::TopicAlreadyExists);
}

#[test]
fn topics_are_deleted_by_name_and_by_id() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("a", 1, 1, &[]);
    let id = Uuid(cluster.create_topic("b", 1, 1, &[]).0);
    let request = DeleteTopicsRequest {
        topics: vec![
            DeleteTopicState { name: Some("a".into()), topic_id: Uuid::NONE },
            DeleteTopicState { name: None, topic_id: id },
            DeleteTopicState { name: Some("none".into()), topic_id: Uuid::NONE },
            DeleteTopicState { name: None, topic_id: Uuid([9; 16]) },
        ],
        timeout_ms: 1_000,
        ..DeleteTopicsRequest::default()
    };
    let frame = cluster.ask(1, 6, &request);
    let response: DeleteTopicsResponse<'_> = parse(&frame, 6);
    let results: Vec<_> =
        response.responses.iter().map(|result| (result.error_code, result.name.as_deref())).collect();
    assert_eq!(
        results,
        [
            (ErrorCode::None, Some("a")),
            (ErrorCode::None, Some("b")),
            (ErrorCode::UnknownTopicOrPartition, Some("none")),
            (ErrorCode::UnknownTopicId, None),
        ]
    );
    assert_eq!(cluster.image.topics().count(), 0);
}

#[test]
fn partitions_are_added_and_never_taken() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("a", 2, 1, &[]);
    let mut add = |name: &'static str, count| {
        let topics = vec![CreatePartitionsTopic { name: name.into(), count, assignments: None }];
        let request = CreatePartitionsRequest { topics, timeout_ms: 1_000, validate_only: false };
        let frame = cluster.ask(1, 3, &request);
        parse::<CreatePartitionsResponse<'_>>(&frame, 3).results[0].error_code
    };
    assert_eq!(add("a", 4), ErrorCode::None);
    assert_eq!(add("a", 3), ErrorCode::InvalidPartitions);
    assert_eq!(add("none", 3), ErrorCode::UnknownTopicOrPartition);
    let twice =
        ["a", "a"].map(|name| CreatePartitionsTopic { name: name.into(), count: 9, assignments: None });
    let request = CreatePartitionsRequest { topics: twice.into(), timeout_ms: 1_000, validate_only: false };
    let frame = cluster.ask(1, 3, &request);
    let results = parse::<CreatePartitionsResponse<'_>>(&frame, 3).results;
    let errors: Vec<_> = results.iter().map(|result| (&*result.name, result.error_code)).collect();
    assert_eq!(errors, [("a", ErrorCode::InvalidRequest)]);
    assert_eq!(cluster.produce(1, "a", 3, -1, batch(&["x"])).error, ErrorCode::None);
}

#[test]
fn the_topics_of_brokers_are_neither_made_nor_changed_nor_deleted_by_clients() {
    let mut cluster = Cluster::new(1);
    assert_eq!(
        create(&mut cluster, vec![creatable("__consumer_offsets", 1, 1)])[0].0,
        ErrorCode::InvalidTopicException
    );
    assert_eq!(
        create(&mut cluster, vec![creatable("__heartbeat.a", 1, 1)])[0].0,
        ErrorCode::None,
        "it is its user's"
    );
    assert_eq!(cluster.produce(1, "__heartbeat.a", 0, -1, batch(&["x"])).error, ErrorCode::None);
    let id = Uuid(cluster.create_topic("__consumer_offsets", 8, 1, &[]).0);
    let topics = vec![
        DeleteTopicState { name: Some("__consumer_offsets".into()), topic_id: Uuid::NONE },
        DeleteTopicState { name: None, topic_id: id },
    ];
    let request = DeleteTopicsRequest { topics, timeout_ms: 1_000, ..DeleteTopicsRequest::default() };
    let frame = cluster.ask(1, 6, &request);
    let response: DeleteTopicsResponse<'_> = parse(&frame, 6);
    assert!(response.responses.iter().all(|result| result.error_code == ErrorCode::InvalidTopicException));
    let topics =
        vec![CreatePartitionsTopic { name: "__consumer_offsets".into(), count: 16, assignments: None }];
    let request = CreatePartitionsRequest { topics, timeout_ms: 1_000, validate_only: false };
    let frame = cluster.ask(1, 3, &request);
    let results = parse::<CreatePartitionsResponse<'_>>(&frame, 3).results;
    assert_eq!(results[0].error_code, ErrorCode::InvalidTopicException);
    assert_eq!(cluster.image.topic_by_name("__consumer_offsets").unwrap().partitions().count(), 8);
}

#[test]
fn an_administrative_request_without_a_controller_times_out() {
    let mut cluster = Cluster::new(1);
    cluster.controller_silent = true;
    let connection = cluster.open(1);
    let request =
        CreateTopicsRequest { topics: vec![creatable("a", 1, 1)], timeout_ms: 1_000, validate_only: false };
    cluster.send(1, connection, 7, &request);
    cluster.pass(Duration::from_secs(2));
    let frame = cluster.take_response(1, connection).unwrap();
    let response: CreateTopicsResponse<'_> = parse(&frame, 7);
    assert_eq!(response.topics[0].error_code, ErrorCode::RequestTimedOut);
}

fn describe<'a>(kind: i8, name: &'a str, keys: Option<Vec<&'a str>>) -> DescribeConfigsRequest<'a> {
    DescribeConfigsRequest {
        resources: vec![DescribeConfigsResource {
            resource_type: kind,
            resource_name: name.into(),
            configuration_keys: keys.map(|keys| keys.into_iter().map(Into::into).collect()),
        }],
        include_synonyms: true,
        include_documentation: true,
    }
}

#[test]
fn all_configuration_keys_are_described_with_source_synonyms_type_and_documentation() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("a", 1, 1, &[("retention.ms", "1000")]);
    let frame = cluster.ask(1, 4, &describe(2, "a", None));
    let response: DescribeConfigsResponse<'_> = parse(&frame, 4);
    let configs = &response.results[0].configs;
    let find = |name: &str| configs.iter().find(|config| config.name == name).unwrap();
    let retention = find("retention.ms");
    assert_eq!((retention.value.as_deref(), retention.config_source), (Some("1000"), 1));
    assert_eq!(retention.config_type, 5);
    assert!(retention.documentation.as_deref().is_some_and(|doc| doc.len() > 20));
    assert_eq!(retention.synonyms.first().unwrap().source, 1);
    assert_eq!(find("segment.bytes").config_source, 5);
    let frame = cluster.ask(1, 4, &describe(4, "1", None));
    let response: DescribeConfigsResponse<'_> = parse(&frame, 4);
    let names: Vec<&str> = response.results[0].configs.iter().map(|config| &*config.name).collect();
    for key in
        ["auto.create.topics.enable", "default.replication.factor", "num.partitions", "log.retention.ms"]
    {
        assert!(names.contains(&key), "{key}");
    }
    let frame = cluster.ask(1, 4, &describe(2, "a", Some(vec!["retention.ms"])));
    assert_eq!(parse::<DescribeConfigsResponse<'_>>(&frame, 4).results[0].configs.len(), 1);
    let frame = cluster.ask(1, 4, &describe(2, "none", None));
    let error = parse::<DescribeConfigsResponse<'_>>(&frame, 4).results[0].error_code;
    assert_eq!(error, ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn configuration_is_edited_and_replaced_and_takes_effect() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("a", 1, 1, &[("retention.ms", "1000")]);
    let mut edit = |name: &'static str, config_operation, value: Option<&'static str>| {
        let config = AlterableConfig { name: name.into(), config_operation, value: value.map(Into::into) };
        let resource =
            AlterConfigsResource { resource_type: 2, resource_name: "a".into(), configs: vec![config] };
        let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
        let frame = cluster.ask(1, 1, &request);
        parse::<IncrementalAlterConfigsResponse<'_>>(&frame, 1).responses[0].error_code
    };
    assert_eq!(edit("max.message.bytes", 0, Some("100")), ErrorCode::None);
    assert_eq!(edit("max.message.bites", 0, Some("100")), ErrorCode::InvalidConfig);
    assert_eq!(edit("max.message.bytes", 9, Some("100")), ErrorCode::InvalidRequest);
    assert_eq!(edit("max.message.bytes", 0, None), ErrorCode::InvalidRequest);
    let large = batch(&[&"x".repeat(200)]);
    assert_eq!(cluster.produce(1, "a", 0, -1, large.clone()).error, ErrorCode::MessageTooLarge);
    let config = WholeConfig { name: "retention.ms".into(), value: Some("2000".into()) };
    let resource = WholeResource { resource_type: 2, resource_name: "a".into(), configs: vec![config] };
    let request = AlterConfigsRequest { resources: vec![resource], validate_only: false };
    let frame = cluster.ask(1, 2, &request);
    let error = parse::<AlterConfigsResponse<'_>>(&frame, 2).responses[0].error_code;
    assert_eq!(error, ErrorCode::None);
    assert_eq!(cluster.produce(1, "a", 0, -1, large).error, ErrorCode::None, "the other key is back");
}

#[test]
fn producer_ids_are_unique_across_brokers_and_blocks() {
    let mut cluster = Cluster::with(3, 2, &[]);
    let mut ids = Vec::new();
    for round in 0..9 {
        let request = InitProducerIdRequest { producer_id: -1, producer_epoch: -1, ..Default::default() };
        let frame = cluster.ask(1 + round % 3, 4, &request);
        let response: InitProducerIdResponse = parse(&frame, 4);
        assert_eq!((response.error_code, response.producer_epoch), (ErrorCode::None, 0));
        ids.push(response.producer_id);
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let request = InitProducerIdRequest { transactional_id: Some("tx".into()), ..Default::default() };
    let frame = cluster.ask(1, 4, &request);
    let error = parse::<InitProducerIdResponse>(&frame, 4).error_code;
    assert_eq!(error, ErrorCode::TransactionalIdAuthorizationFailed);
}

#[test]
fn topic_partitions_are_described_page_by_page() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("a", 3, 1, &[]);
    cluster.create_topic("b", 2, 1, &[]);
    let mut cursor: Option<(String, i32)> = None;
    let mut seen = Vec::new();
    for _ in 0..9 {
        let request = DescribeTopicPartitionsRequest {
            topics: Vec::new(),
            response_partition_limit: 2,
            cursor: cursor.as_ref().map(|(name, partition_index)| RequestCursor {
                topic_name: name.as_str().into(),
                partition_index: *partition_index,
            }),
        };
        let frame = cluster.ask(1, 0, &request);
        let response: DescribeTopicPartitionsResponse<'_> = parse(&frame, 0);
        for topic in &response.topics {
            let name = topic.name.as_deref().unwrap().to_owned();
            seen.extend(topic.partitions.iter().map(|partition| (name.clone(), partition.partition_index)));
        }
        cursor = response.next_cursor.map(|next| (next.topic_name.into_owned(), next.partition_index));
        if cursor.is_none() {
            break;
        }
    }
    let expected = [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)];
    assert_eq!(seen, expected.map(|(name, partition)| (name.to_owned(), partition)));
}

#[test]
fn the_quorum_is_described() {
    let mut cluster = Cluster::new(1);
    let partitions = vec![QuorumPartition { partition_index: 0 }];
    let topics = vec![QuorumTopic { topic_name: "__cluster_metadata".into(), partitions }];
    let frame = cluster.ask(1, 2, &DescribeQuorumRequest { topics });
    let response: DescribeQuorumResponse<'_> = parse(&frame, 2);
    assert_eq!(response.error_code, ErrorCode::None);
    assert_eq!(response.topics[0].partitions[0].leader_id, 1);
}

#[test]
fn sasl_is_refused_politely() {
    let mut cluster = Cluster::new(1);
    let frame = cluster.ask(1, 1, &SaslHandshakeRequest { mechanism: "PLAIN".into() });
    let error = parse::<SaslHandshakeResponse<'_>>(&frame, 1).error_code;
    assert_eq!(error, ErrorCode::UnsupportedSaslMechanism);
    let frame = cluster.ask(1, 2, &SaslAuthenticateRequest { auth_bytes: b"x"[..].into() });
    let response: SaslAuthenticateResponse<'_> = parse(&frame, 2);
    assert_eq!(response.error_code, ErrorCode::IllegalSaslState);
    assert!(response.error_message.is_some());
}

#[test]
fn offsets_are_listed_by_time_and_by_special_timestamps() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[]);
    let start = crate::support::START_MS;
    cluster.produce(1, "t", 0, -1, batch_at(&["a", "b", "c"], start));
    cluster.produce(1, "t", 0, -1, batch_at(&["d"], start - 500));
    let mut list = |timestamp| {
        let found = cluster.list_offset(1, "t", 0, timestamp);
        (found.error_code, found.offset, found.timestamp)
    };
    assert_eq!(list(-1), (ErrorCode::None, 4, -1));
    assert_eq!(list(-2), (ErrorCode::None, 0, -1));
    assert_eq!(list(-3), (ErrorCode::None, 2, start + 2));
    assert_eq!(list(-4), (ErrorCode::None, 0, -1));
    assert_eq!(list(-5), (ErrorCode::None, -1, -1));
    assert_eq!(list(-6), (ErrorCode::None, 0, -1));
    assert_eq!(list(start + 1), (ErrorCode::None, 1, start + 1), "the record's own offset and time");
    assert_eq!(list(start + 3), (ErrorCode::None, -1, -1), "none is no error");
    assert_eq!(list(-9).0, ErrorCode::UnsupportedVersion);
    let request = list_request("t", &[(0, -1), (0, -2)]);
    let frame = cluster.ask(1, 11, &request);
    let response: kafka_wire::messages::list_offsets::ListOffsetsResponse<'_> = parse(&frame, 11);
    for partition in &response.topics[0].partitions {
        assert_eq!(partition.error_code, ErrorCode::InvalidRequest, "named twice");
    }
}

fn log_dir<'a>(frame: &'a bytes::Bytes) -> DescribeLogDirsResult<'a> {
    let mut response: DescribeLogDirsResponse<'a> = parse(frame, 5);
    assert_eq!((response.error_code, response.results.len()), (ErrorCode::None, 1));
    response.results.remove(0)
}

#[test]
fn each_broker_tells_what_its_own_replicas_take() {
    let mut cluster = Cluster::new(3);
    let one = cluster.create_topic("one", 2, 3, &[]);
    cluster.create_topic("two", 1, 1, &[]);
    let batch = batch(&["a", "b"]);
    let leader = cluster.leader(TopicPartition { topic_id: one, partition: PartitionIndex(1) });
    cluster.produce(leader, "one", 1, -1, batch.clone());
    let frame = cluster.ask(1, 5, &DescribeLogDirsRequest { topics: None });
    let all = log_dir(&frame);
    assert_eq!((all.error_code, &*all.log_dir, all.total_bytes), (ErrorCode::None, "/data", -1));
    assert!(all.usable_bytes > 0);
    let one = all.topics.iter().find(|topic| topic.name == "one").unwrap();
    let sizes: Vec<_> = one.partitions.iter().map(|it| (it.partition_index, it.partition_size)).collect();
    assert_eq!(sizes, [(0, 0), (1, i64::try_from(batch.len()).unwrap())]);

    let holders = (1..=3).filter(|broker| {
        let frame = cluster.ask(*broker, 5, &DescribeLogDirsRequest { topics: None });
        log_dir(&frame).topics.iter().any(|topic| topic.name == "two")
    });
    assert_eq!(holders.count(), 1, "a replica stands with the broker that has it");
}

#[test]
fn sizes_are_told_of_what_was_asked_for_and_is_there() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("one", 2, 1, &[]);
    cluster.create_topic("two", 1, 1, &[]);
    let asked = |name: &'static str, partitions| DescribableLogDirTopic { name: name.into(), partitions };
    let topics = Some(vec![asked("one", vec![1, 1, 7]), asked("nowhere", vec![0])]);
    let frame = cluster.ask(1, 5, &DescribeLogDirsRequest { topics });
    let found = log_dir(&frame).topics;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].partitions.iter().map(|it| it.partition_index).collect::<Vec<_>>(), [1]);

    let frame = cluster.ask(1, 5, &DescribeLogDirsRequest { topics: Some(Vec::new()) });
    assert_eq!(log_dir(&frame).topics, []);
}

#[test]
fn an_expiration_of_idle_producers_that_is_changed_reaches_logs_that_are_open() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[]);
    let produced = |cluster: &mut Cluster, sequence| {
        cluster.produce(1, "t", 0, -1, numbered(&["x"], 9, 0, sequence)).error
    };
    assert_eq!(produced(&mut cluster, 0), ErrorCode::None);
    assert_eq!(produced(&mut cluster, 7), ErrorCode::OutOfOrderSequenceNumber);
    let set = metadata_core::record::ConfigOp::Set("60000".into());
    let configs = metadata_core::record::SetConfigs {
        resource: metadata_core::record::Resource::Cluster,
        replace: false,
        changes: vec![("producer.id.expiration.ms".into(), set)],
    };
    cluster.apply(metadata_core::MetadataRecord::SetConfigs(configs)).unwrap();
    cluster.pass(Duration::from_secs(3_600));
    assert_eq!(produced(&mut cluster, 7), ErrorCode::None, "it is forgotten, and may begin anywhere");
}
