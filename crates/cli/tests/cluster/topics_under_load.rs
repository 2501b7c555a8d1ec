//! Topics that go and come while clients use them, and commands to brokers that are not the controller.

use std::time::Duration;

use highwater_client::{ConfigChange, ConfigResource, Record};

use crate::harness::{Cluster, Door, Load, controller, in_sync, read_all, story, topic, topic_until, until};

#[test]
fn a_topic_deleted_and_created_again_under_load_is_a_new_one() {
    story(async {
        let cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        let admin = client.admin();
        let first = admin.create_topic(topic("again", 3)).await.unwrap();
        in_sync(&client, "again").await;
        let load = Load::start(&client, "again");
        load.more(300).await;
        admin.delete_topic("again").await.unwrap();
        // A producer that may create topics could have been faster.
        let second = until("the topic is created again", Duration::from_secs(20), async || {
            admin.create_topic(topic("again", 3)).await.ok()
        })
        .await;
        assert_ne!(first.id, second.id);
        load.more(300).await;
        let ledger = load.stop().await;
        in_sync(&client, "again").await;
        // What the first topic held is gone; what the second one holds is in order, and each record once.
        let read = read_all(&client, "again").await;
        assert!(!read.records.is_empty());
        assert!(ledger.acked.len() > read.records.len(), "the first topic's records are not in the second");
        assert_eq!(read.flaw(), None);
        let producer = client.producer().build().unwrap();
        producer.send(Record::to("again").key("k").value("after")).await.unwrap();
    });
}

#[test]
fn an_admin_request_to_a_broker_that_is_not_the_controller_is_carried_out() {
    story(async {
        let cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        let controller = controller(&client).await;
        let others: Vec<u16> = (1..=3).filter(|id| i32::from(*id) != controller).collect();
        let name = "asked-elsewhere";
        cluster.client_of(others[0]).await.admin().create_topic(topic(name, 2)).await.unwrap();
        // The answer came after the asked broker had applied it; the others follow.
        let there = cluster.client_of(others[1]).await;
        topic_until(&there, name, Duration::from_secs(10), |topic| topic.partitions.len() == 2).await;
        let change = ConfigChange::Set("retention.ms".into(), "123456".into());
        there.admin().alter_configs(ConfigResource::Topic(name.into()), vec![change]).await.unwrap();
        there.admin().create_partitions(name, 4).await.unwrap();
        topic_until(&client, name, Duration::from_secs(10), |topic| topic.partitions.len() == 4).await;
        let entries = client.admin().describe_configs(ConfigResource::Topic(name.into())).await.unwrap();
        let found = entries.iter().find(|entry| &*entry.name == "retention.ms").expect("it is described");
        assert_eq!(found.value.as_deref(), Some("123456"));
        there.admin().delete_topic(name).await.unwrap();
        assert!(there.admin().describe_topic(name).await.is_err());
    });
}
