//! The same client through each door of a broker on this machine: TCP, TLS and QUIC.

use std::path::Path;

use highwater_broker::Broker;
use highwater_broker::config::Config;
use highwater_client::{Client, NewTopic, Record, Start};

/// A broker on loopback with ports that the system chooses.
async fn start(directory: &Path) -> Broker {
    let setting = |name: &str| {
        Some(match name {
            "data-dir" => directory.display().to_string(),
            "listen" | "replica-listen" | "http-listen" => "127.0.0.1:0".to_owned(),
            _ => return None,
        })
    };
    let config = Config::load(None, |_| None, setting).expect("the settings fit");
    let broker = Broker::start(config).expect("the broker starts");
    broker.ready().await.expect("the broker gets ready");
    broker
}

async fn round_trip(client: &Client, topic: &str) {
    client.admin().create_topic(NewTopic::named(topic).partitions(2)).await.expect("created");
    let producer = client.producer().build().expect("fits");
    for number in 0..100 {
        let record = Record::to(topic).key(format!("{}", number % 7)).value(vec![0; 1000 * number]);
        drop(producer.enqueue(record).await.expect("accepted"));
    }
    producer.close().await.expect("delivered");
    let mut consumer =
        client.consumer(topic).start(Start::Earliest).until_end().build().await.expect("a consumer");
    let mut bytes = 0;
    while let Some(record) = consumer.try_next().await.expect("no error") {
        bytes += record.value.expect("a value").len();
    }
    assert_eq!(bytes, 99 * 100 / 2 * 1000);
}

#[tokio::test]
async fn tcp_tls_and_quic_carry_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let broker = start(directory.path()).await;
    let addresses = broker.addresses().expect("it listens");
    let ca = directory.path().join("tls/ca.pem");

    let client = Client::connect(addresses.kafka.to_string()).await.expect("by TCP");
    round_trip(&client, "tcp").await;

    let tls =
        Client::builder(format!("tls://{}", addresses.kafka)).ca_file(&ca).connect().await.expect("by TLS");
    round_trip(&tls, "tls").await;

    let quic =
        Client::builder(format!("quic://{}", addresses.quic)).ca_file(&ca).connect().await.expect("by QUIC");
    round_trip(&quic, "quic").await;
    assert_eq!(client.admin().list_topics().await.expect("listed").len(), 3);
    client.close().await.expect("closed");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_named() {
    let (one, two) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let (broker, _other) = (start(one.path()).await, start(two.path()).await);
    let addresses = broker.addresses().expect("it listens");
    let wrong = two.path().join("tls/ca.pem");
    for address in [format!("tls://{}", addresses.kafka), format!("quic://{}", addresses.quic)] {
        let refused =
            Client::builder(address.as_str()).ca_file(&wrong).connect().await.expect_err("not trusted");
        assert_eq!(refused.code(), "NETWORK");
        let text = refused.to_string();
        assert!(text.contains("TLS handshake failed") && text.contains("127.0.0.1"), "{text}");
    }
    let nothing =
        Client::builder(format!("tls://{}", addresses.kafka)).connect().await.expect_err("no authority");
    assert_eq!(nothing.code(), "INVALID_OPTION");
    let missing =
        Client::builder("tls://localhost:1").ca_file("/nowhere/ca.pem").connect().await.expect_err("no file");
    assert_eq!(missing.code(), "FILE");
}

#[tokio::test]
async fn nobody_listening_is_told_within_seconds() {
    let refused = Client::connect("127.0.0.1:1").await.expect_err("nobody listens");
    assert_eq!(refused.to_string(), "127.0.0.1:1: cannot connect: connection refused");
    assert!(refused.is_retriable());
    let unknown = Client::connect("no-such-host.invalid:9092").await.expect_err("no such name");
    assert!(unknown.to_string().contains("no-such-host.invalid:9092: cannot connect"), "{unknown}");
}
