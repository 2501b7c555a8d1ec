//! What users do with the client, against a broker: one in memory in the same process, and, where `HIGHWATER_TEST_BOOTSTRAP`
//! names one (with its certificates in `HIGHWATER_TEST_CA`), a real one: Apache Kafka or a Highwater cluster. `cargo xtask
//! compat` does that.

#![allow(clippy::indexing_slicing, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use highwater_broker::Broker;
use highwater_client::{
    Acks, Address, Client, ClientBuilder, ClientError, CommittedOffset, Compression, ConfigChange,
    ConfigResource, ConsumedRecord, ErrorCode, GroupReset, GroupState, NewTopic, OffsetSpec, Record, ResetTo,
    Start,
};

/// A client, a topic name that no other run uses, and the broker, if it lives in this process.
async fn setup(story: &str) -> (Client, String, Option<Broker>) {
    let since = std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970");
    let topic = format!("{story}-{}", since.as_micros());
    let (bootstrap, broker) = match std::env::var("HIGHWATER_TEST_BOOTSTRAP") {
        Ok(bootstrap) => (bootstrap, None),
        Err(_) => ("in-memory:9092".to_owned(), Some(Broker::in_memory().expect("a broker in memory"))),
    };
    let mut builder = Client::builder(bootstrap).unknown_topic_wait(Duration::from_millis(1500));
    if let Some(broker) = &broker {
        broker.ready().await.expect("the broker gets ready");
        builder = reaching(broker, builder);
    }
    if let Ok(ca) = std::env::var("HIGHWATER_TEST_CA") {
        builder = builder.ca_file(ca);
    }
    (builder.connect().await.expect("the broker answers"), topic, broker)
}

fn reaching(broker: &Broker, builder: ClientBuilder) -> ClientBuilder {
    let connect = broker.connector();
    builder.connector(move |_: Address| {
        let stream = connect();
        async move { Ok(stream) }
    })
}

async fn create(client: &Client, topic: &str, partitions: u32) {
    let topic = NewTopic::named(topic).partitions(partitions);
    client.admin().create_topic(topic).await.expect("the topic is created");
}

async fn read_all(client: &Client, topic: &str, start: Start) -> Vec<ConsumedRecord> {
    let mut consumer = client.consumer(topic).start(start).until_end().build().await.expect("a consumer");
    let mut all = Vec::new();
    while let Some(record) = consumer.try_next().await.expect("a record or the end") {
        all.push(record);
    }
    all
}

#[tokio::test]
async fn records_come_back_in_order_per_key_with_every_codec() {
    let (client, topic, _broker) = setup("codecs").await;
    create(&client, &topic, 6).await;
    let codecs =
        [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    for codec in codecs {
        let producer =
            client.producer().compression(codec).linger(Duration::from_millis(2)).build().expect("fits");
        for number in 0..2000 {
            let record = Record::to(topic.as_str())
                .key(format!("key-{}", number % 16))
                .value(format!("{} {number}", codec.name()))
                .header("codec", codec.name());
            drop(producer.enqueue(record).await.expect("accepted"));
        }
        producer.close().await.expect("all delivered");
    }
    let all = read_all(&client, &topic, Start::Earliest).await;
    assert_eq!(all.len(), 2000 * codecs.len());
    let mut by_key: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for record in &all {
        assert_eq!(record.headers.len(), 1);
        let text = String::from_utf8(record.value.clone().expect("a value").to_vec()).expect("text");
        by_key.entry(record.key.clone()).or_default().push(text);
    }
    assert_eq!(by_key.len(), 16);
    for (key, values) in by_key {
        let key = String::from_utf8(key.expect("a key").to_vec()).expect("text");
        let first: usize = key.trim_start_matches("key-").parse().expect("a number");
        let expected = codecs
            .iter()
            .flat_map(|codec| (first..2000).step_by(16).map(|number| format!("{} {number}", codec.name())));
        assert_eq!(values, expected.collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn acks_name_partition_and_offset() {
    let (client, topic, _broker) = setup("acks").await;
    create(&client, &topic, 1).await;
    for (acks, expected) in [(Acks::All, 0), (Acks::Leader, 1), (Acks::None, -1), (Acks::All, 3)] {
        let producer = client.producer().acks(acks).build().expect("fits");
        let ack = producer.send(Record::to(topic.as_str()).value("x")).await.expect("delivered");
        assert_eq!((ack.partition, ack.offset), (0, expected));
        // What nobody acknowledges has to arrive before the next producer's record.
        let mut end = -1;
        while end <= expected.max(2 * i64::from(acks == Acks::None)) - i64::from(acks != Acks::None) {
            let ends =
                client.admin().list_offsets(topic.as_str(), [0], OffsetSpec::Latest).await.expect("asked");
            end = ends.into_iter().next().expect("one").expect("known").offset.expect("an end");
        }
    }
}

#[tokio::test]
async fn a_consumer_seeks_by_offset_time_and_end() {
    let (client, topic, _broker) = setup("seek").await;
    create(&client, &topic, 1).await;
    let producer = client.producer().build().expect("fits");
    let base = 1_700_000_000_000;
    for number in 0..100 {
        let record = Record::to(topic.as_str()).value(number.to_string()).timestamp(base + 1000 * number);
        producer.send(record).await.expect("delivered");
    }
    let mut consumer =
        client.consumer(topic.as_str()).start(Start::Offset(42)).build().await.expect("a consumer");
    let next = async |consumer: &mut highwater_client::Consumer| {
        consumer.try_next().await.expect("no error").expect("no end").offset
    };
    assert_eq!(next(&mut consumer).await, 42);
    assert_eq!(consumer.position(&topic, 0), Some(43));
    consumer.seek(&topic, 0, Start::Earliest).expect("assigned");
    assert_eq!(next(&mut consumer).await, 0);
    consumer.seek(&topic, 0, Start::Timestamp(base + 70_001)).expect("assigned");
    assert_eq!(next(&mut consumer).await, 71);
    assert_eq!(consumer.lag().await.expect("asked")[0].records(), 28);
    consumer.seek(&topic, 0, Start::Latest).expect("assigned");
    while consumer.position(&topic, 0).is_none() {
        let waited = tokio::time::timeout(Duration::from_millis(20), consumer.try_next()).await;
        assert!(waited.is_err(), "nothing is behind the end");
    }
    producer.send(Record::to(topic.as_str()).value("100")).await.expect("delivered");
    assert_eq!(next(&mut consumer).await, 100);
    let found = client.admin().list_offsets(topic.as_str(), [0], OffsetSpec::Timestamp(base + 500)).await;
    assert_eq!(found.expect("asked")[0].as_ref().expect("found").offset, Some(1));
    let found = client.admin().list_offsets(topic.as_str(), [0], OffsetSpec::Timestamp(i64::MAX)).await;
    assert_eq!(found.expect("asked")[0].as_ref().expect("asked").offset, None);
}

#[tokio::test]
async fn a_paused_partition_gives_nothing_until_it_is_resumed() {
    let (client, topic, _broker) = setup("pause").await;
    create(&client, &topic, 2).await;
    let mut consumer =
        client.consumer(topic.as_str()).start(Start::Earliest).build().await.expect("a consumer");
    consumer.pause(&topic, 0).expect("assigned");
    let producer = client.producer().build().expect("fits");
    producer.send(Record::to(topic.as_str()).partition(0).value("zero")).await.expect("delivered");
    producer.send(Record::to(topic.as_str()).partition(1).value("one")).await.expect("delivered");
    let first = consumer.try_next().await.expect("no error").expect("no end");
    assert_eq!(first.partition, 1);
    consumer.resume(&topic, 0).expect("assigned");
    let second = consumer.try_next().await.expect("no error").expect("no end");
    assert_eq!(second.partition, 0);
}

#[tokio::test]
async fn the_admin_creates_describes_changes_and_deletes() {
    let (client, topic, _broker) = setup("admin").await;
    let admin = client.admin();
    let new = NewTopic::named(topic.as_str()).partitions(3).replication(1).config("retention.ms", "86400000");
    let checked = admin.validate_topic(new.clone()).await.expect("could be created");
    assert_eq!(&*checked.name, topic);
    let created = admin.create_topic(new.clone()).await.expect("created");
    assert_eq!((created.partitions, created.replication), (Some(3), Some(1)));
    let again = admin.create_topic(new).await.map_err(|error| error.code());
    assert_eq!(again, Err("TOPIC_ALREADY_EXISTS"));
    let described = admin.describe_topic(topic.as_str()).await.expect("described");
    assert_eq!(described.partitions.len(), 3);
    assert_eq!(described.id, created.id);
    assert!(described.partitions.iter().all(|partition| partition.leader.is_some()));
    assert!(admin.list_topics().await.expect("listed").iter().any(|listed| *listed.name == *topic));

    admin.create_partitions(topic.as_str(), 5).await.expect("grown");
    while admin.describe_topic(topic.as_str()).await.expect("described").partitions.len() != 5 {}

    let resource = ConfigResource::Topic(topic.as_str().into());
    let value = |entries: Vec<highwater_client::ConfigEntry>| {
        let found = entries.into_iter().find(|entry| &*entry.name == "retention.ms");
        found.and_then(|entry| entry.value).expect("set")
    };
    assert_eq!(&*value(admin.describe_configs(resource.clone()).await.expect("described")), "86400000");
    let change = ConfigChange::Set("retention.ms".into(), "1000".into());
    admin.alter_configs(resource.clone(), vec![change]).await.expect("altered");
    while &*value(admin.describe_configs(resource.clone()).await.expect("described")) != "1000" {}
    let wrong = ConfigChange::Set("retention.ms".into(), "soon".into());
    let refused = admin.alter_configs(resource, vec![wrong]).await.map_err(|error| error.code());
    assert_eq!(refused, Err("INVALID_CONFIG"));

    let cluster = admin.describe_cluster().await.expect("described");
    assert!(!cluster.brokers.is_empty() && cluster.cluster_id.is_some());
    let quorum = admin.describe_quorum().await.expect("described");
    assert!(quorum.leader.is_some() && !quorum.voters.is_empty());

    admin.delete_topic(topic.as_str()).await.expect("deleted");
    let gone = admin.delete_topic(topic.as_str()).await.map_err(|error| error.code());
    assert_eq!(gone, Err("UNKNOWN_TOPIC_OR_PARTITION"));
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let (client, topic, _broker) = setup("wrong").await;
    let described = client.admin().describe_topic(topic.as_str()).await.expect_err("there is none");
    assert_eq!((described.code(), described.topic()), ("UNKNOWN_TOPIC_OR_PARTITION", Some(topic.as_str())));
    let producer = client.producer().auto_create_topics(false).build().expect("fits");
    let refused = producer.send(Record::to(topic.as_str()).value("x")).await.expect_err("there is none");
    assert_eq!(refused.code(), "UNKNOWN_TOPIC_OR_PARTITION");
    let consumer = client.consumer(topic.as_str()).build().await.expect_err("there is none");
    assert_eq!(consumer.code(), "UNKNOWN_TOPIC_OR_PARTITION");
    create(&client, &topic, 2).await;
    let refused =
        producer.send(Record::to(topic.as_str()).partition(2).value("x")).await.expect_err("0 and 1");
    assert_eq!((refused.code(), refused.partition()), ("NO_SUCH_PARTITION", Some(2)));
    let large = Record::to(topic.as_str()).value(vec![0; 2_000_000]);
    assert_eq!(producer.send(large).await.map_err(|error| error.code()), Err("RECORD_TOO_LARGE"));
    let mut consumer = client.consumer(topic.as_str()).build().await.expect("a consumer");
    let elsewhere = consumer.seek(&topic, 9, Start::Earliest).map_err(|error| error.code());
    assert_eq!(elsewhere, Err("NOT_ASSIGNED"));
    consumer.seek(&topic, 0, Start::Offset(1000)).expect("assigned");
    let lost = consumer.try_next().await.expect_err("the log ends before");
    assert_eq!((lost.code(), lost.partition(), lost.offset()), ("POSITION_LOST", Some(0), Some(1000)));
}

#[tokio::test]
async fn a_batch_that_is_too_large_for_the_topic_is_split() {
    let (client, topic, _broker) = setup("split").await;
    let new = NewTopic::named(topic.as_str()).partitions(1).config("max.message.bytes", "20000");
    client.admin().create_topic(new).await.expect("created");
    let producer = client.producer().linger(Duration::from_millis(50)).build().expect("fits");
    let mut pending = Vec::new();
    for number in 0..1000 {
        let value = format!("{number:0>100}");
        pending.push(producer.enqueue(Record::to(topic.as_str()).value(value)).await.expect("accepted"));
    }
    for (number, pending) in (0..).zip(pending) {
        assert_eq!(pending.await.expect("delivered").offset, number);
    }
    assert!(client.metrics().batches_split > 0);
    let single = producer.send(Record::to(topic.as_str()).value(vec![0; 30_000])).await;
    assert_eq!(single.map_err(|error| error.code()), Err("MESSAGE_TOO_LARGE"));
    producer.send(Record::to(topic.as_str()).value("after")).await.expect("the producer goes on");
    assert_eq!(read_all(&client, &topic, Start::Earliest).await.len(), 1001);
}

#[tokio::test]
async fn a_group_goes_on_where_it_has_committed() -> Result<(), ClientError> {
    let (client, topic, _broker) = setup("group").await;
    create(&client, &topic, 3).await;
    let producer = client.producer().build()?;
    for number in 0..90 {
        producer.send(Record::to(topic.as_str()).partition(number % 3).value(number.to_string())).await?;
    }
    let group = format!("{topic}-group");
    let open = || client.consumer(topic.as_str()).group(group.as_str()).start(Start::Earliest).build();
    let mut consumer = open().await?;
    assert_eq!(consumer.assignment().len(), 3);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..30 {
        let record = consumer.try_next().await?.expect("no end");
        seen.insert((record.partition, record.offset));
        consumer.mark(&record);
    }
    consumer.commit().await?;
    for _ in 0..10 {
        let record = consumer.try_next().await?.expect("no end");
        seen.insert((record.partition, record.offset));
        consumer.mark(&record);
    }
    consumer.close().await?;
    let committed = client.admin().group_offsets(group.as_str()).await?;
    assert_eq!(committed.iter().map(|position| position.offset).sum::<i64>(), 40);
    let mut consumer = open().await?;
    for _ in 0..50 {
        let record = consumer.try_next().await?.expect("no end");
        assert!(seen.insert((record.partition, record.offset)), "read twice: {record:?}");
    }
    assert_eq!(seen.len(), 90);
    consumer.close().await
}

/// What is planned, as it is committed.
fn positions(resets: &[GroupReset]) -> Vec<CommittedOffset> {
    let one = |reset: &GroupReset| CommittedOffset {
        topic: Arc::clone(&reset.topic),
        partition: reset.partition,
        offset: reset.after.clone().expect("planned"),
        leader_epoch: -1,
    };
    resets.iter().map(one).collect()
}

fn refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> ErrorCode {
    result.expect_err("refused").broker_code().expect("by a broker")
}

#[tokio::test]
async fn a_group_is_seen_behind_moved_and_deleted() -> Result<(), ClientError> {
    let (client, topic, _broker) = setup("moved").await;
    create(&client, &topic, 2).await;
    let producer = client.producer().build()?;
    for number in 0..20 {
        let record = Record::to(topic.as_str()).partition(number % 2).value(number.to_string());
        producer.send(record.timestamp(1_700_000_000_000 + i64::from(number))).await?;
    }
    let (admin, group) = (client.admin(), format!("{topic}-group"));
    assert_eq!(refusal(admin.describe_group(group.as_str()).await), ErrorCode::GroupIdNotFound);
    let open = || client.consumer(topic.as_str()).group(group.as_str()).start(Start::Earliest).build();
    let mut consumer = open().await?;
    let first = consumer.try_next().await?.expect("no end");
    consumer.mark(&first);
    consumer.commit().await?;

    let described = admin.describe_group(group.as_str()).await?;
    assert_eq!((described.state, &*described.assignor), (GroupState::Stable, "range"));
    let both: Vec<(Arc<str>, u32)> = (0..2).map(|index| (topic.as_str().into(), index)).collect();
    assert_eq!(described.members.iter().map(|member| &member.assigned).collect::<Vec<_>>(), [&both]);
    let listed = admin.list_groups().await?;
    let own = listed.iter().find(|listing| *listing.group == *group).expect("listed");
    assert_eq!((own.protocol.name(), &own.state), ("classic", &Some(GroupState::Stable)));
    let mut lags = admin.group_lag(group.as_str()).await?;
    assert_eq!(lags.iter().map(|lag| lag.end.clone()).collect::<Vec<_>>(), [Ok(10), Ok(10)]);
    lags.sort_by_key(|lag| lag.partition != first.partition);
    let behind: Vec<_> = lags.iter().map(|lag| (lag.committed, lag.records())).collect();
    assert_eq!(behind, [(Some(1), Some(9)), (Some(0), Some(10))], "the one that was read, and the other");

    let plan = admin.plan_group_reset(group.as_str(), both.clone(), ResetTo::Latest).await?;
    let set = admin.set_group_offsets(group.as_str(), positions(&plan)).await;
    assert_eq!(refusal(set), ErrorCode::NonEmptyGroup);
    assert_eq!(refusal(admin.delete_group(group.as_str()).await), ErrorCode::NonEmptyGroup);
    let forgotten = admin.delete_group_offsets(group.as_str(), both.clone()).await?;
    assert_eq!(
        forgotten.into_iter().map(refusal).collect::<Vec<_>>(),
        [ErrorCode::GroupSubscribedToTopic; 2]
    );
    consumer.close().await?;

    let planned = async |to: ResetTo| {
        let plan = admin.plan_group_reset(group.as_str(), both.clone(), to).await?;
        let set = admin.set_group_offsets(group.as_str(), positions(&plan)).await?;
        assert_eq!(set, [Ok(()), Ok(())]);
        Ok::<_, ClientError>(plan.into_iter().map(|reset| (reset.before, reset.after)).collect::<Vec<_>>())
    };
    planned(ResetTo::Latest).await?;
    assert_eq!(planned(ResetTo::Shift(-4)).await?, [(Some(10), Ok(6)), (Some(10), Ok(6))]);
    // The records 14 and 15 are the eighth of their partitions.
    let time = ResetTo::Timestamp(1_700_000_000_014);
    assert_eq!(planned(time).await?, [(Some(6), Ok(7)), (Some(6), Ok(7))]);
    let mut consumer = open().await?;
    for _ in 0..6 {
        let record = consumer.try_next().await?.expect("no end");
        assert!(record.offset >= 7, "{record:?}");
    }
    consumer.close().await?;

    assert_eq!(admin.delete_group_offsets(group.as_str(), vec![both[0].clone()]).await?, [Ok(())]);
    let left = admin.group_offsets(group.as_str()).await?;
    assert_eq!(left.iter().map(|position| position.partition).collect::<Vec<_>>(), [1]);
    admin.delete_group(group.as_str()).await?;
    assert_eq!(admin.group_offsets(group.as_str()).await?, []);
    assert_eq!(refusal(admin.delete_group(group.as_str()).await), ErrorCode::GroupIdNotFound);
    Ok(())
}

#[tokio::test]
async fn what_comes_while_no_member_is_there_is_read_by_the_next() -> Result<(), ClientError> {
    let (client, topic, _broker) = setup("idle").await;
    create(&client, &topic, 2).await;
    let group = format!("{topic}-group");
    let open = || client.consumer(topic.as_str()).group(group.as_str()).start(Start::Latest).build();
    open().await?.close().await?;
    let begun = client.admin().group_offsets(group.as_str()).await?;
    assert_eq!(begun.iter().map(|found| found.offset).collect::<Vec<_>>(), [0, 0]);
    let producer = client.producer().build()?;
    producer.send(Record::to(topic.as_str()).value("meanwhile")).await?;
    let mut consumer = open().await?;
    let record = consumer.try_next().await?.expect("a record");
    assert_eq!(record.value.as_deref(), Some(&b"meanwhile"[..]));
    consumer.close().await
}

#[tokio::test]
async fn who_gives_up_joining_is_no_member_for_whom_others_wait() -> Result<(), ClientError> {
    let (client, topic, broker) = setup("gives-up").await;
    let Some(broker) = broker else { return Ok(()) };
    create(&client, &topic, 1).await;
    let group = format!("{topic}-group");
    // A member that ends without a word.
    let builder = reaching(&broker, Client::builder("in-memory:9092"));
    let (topic_of_other, group_of_other) = (topic.clone(), group.clone());
    let other = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let client = builder.connect().await.expect("connected");
            let open = client.consumer(topic_of_other.as_str()).group(group_of_other.as_str()).build();
            std::mem::forget(open.await.expect("a member"));
        });
    });
    tokio::task::spawn_blocking(|| other.join()).await.expect("run").expect("joined");
    let builder = reaching(&broker, Client::builder("in-memory:9092"));
    let hasty = builder.call_timeout(Duration::from_secs(2)).connect().await?;
    let late = hasty.consumer(topic.as_str()).group(group.as_str()).build().await;
    assert!(matches!(late, Err(ClientError::TimedOut { .. })), "the other is waited for");
    hasty.close().await?;
    let described = client.admin().describe_group(group.as_str()).await?;
    assert_eq!(described.members.len(), 1, "the one that ended without a word");
    Ok(())
}

#[tokio::test]
async fn two_members_share_the_partitions() -> Result<(), ClientError> {
    let (client, topic, _broker) = setup("members").await;
    create(&client, &topic, 4).await;
    let group = format!("{topic}-group");
    let open = || client.consumer(topic.as_str()).group(group.as_str()).start(Start::Earliest).build();
    let mut one = open().await?;
    assert_eq!(one.assignment().len(), 4);
    let mut two = open().await?;
    let all = async |one: &mut highwater_client::Consumer, two: &mut highwater_client::Consumer| {
        let mut all = one.assignment();
        all.extend(two.assignment());
        all.sort();
        all
    };
    let everything: Vec<(Arc<str>, u32)> = (0..4).map(|index| (topic.as_str().into(), index)).collect();
    while all(&mut one, &mut two).await != everything || one.assignment().len() != 2 {
        let _ = tokio::time::timeout(Duration::from_millis(50), one.try_next()).await;
    }
    two.close().await?;
    while one.assignment().len() != 4 {
        let _ = tokio::time::timeout(Duration::from_millis(50), one.try_next()).await;
    }
    one.close().await
}

#[tokio::test]
async fn a_send_that_is_dropped_is_neither_lost_nor_doubled() -> Result<(), ClientError> {
    let (client, topic, _broker) = setup("dropped").await;
    create(&client, &topic, 1).await;
    let producer = client.producer().build()?;
    producer.send(Record::to(topic.as_str()).value("first")).await?;
    for number in 0..50 {
        let sending = producer.send(Record::to(topic.as_str()).value(number.to_string()));
        let _ = tokio::time::timeout(Duration::ZERO, sending).await;
    }
    producer.flush().await?;
    assert_eq!(read_all(&client, &topic, Start::Earliest).await.len(), 51);
    // What nobody waits for is delivered even when every handle is dropped.
    drop(producer.enqueue(Record::to(topic.as_str()).value("last")).await?);
    drop(producer);
    while read_all(&client, &topic, Start::Earliest).await.len() != 52 {}
    Ok(())
}

#[tokio::test]
async fn batches_are_read_whole() -> Result<(), ClientError> {
    let (client, topic, _broker) = setup("batches").await;
    create(&client, &topic, 1).await;
    let producer =
        client.producer().linger(Duration::from_millis(20)).compression(Compression::Lz4).build()?;
    for number in 0..5000 {
        drop(producer.enqueue(Record::to(topic.as_str()).value(number.to_string())).await?);
    }
    producer.flush().await?;
    let mut batches =
        client.consumer(topic.as_str()).start(Start::Earliest).until_end().build().await?.into_batches();
    let mut next = 0;
    while let Some(batch) = batches.try_next().await? {
        for record in batch.records() {
            assert_eq!(record.expect("reads").offset.0, next);
            next += 1;
        }
    }
    assert_eq!(next, 5000);
    Ok(())
}
