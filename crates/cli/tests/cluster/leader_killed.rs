//! The leader is killed while a producer runs: another one takes over, and nothing that was acknowledged is lost or doubled.
//! `HIGHWATER_FAULT_ROUNDS` sets how many times each story is told (once by default).

use std::time::{Duration, Instant};

use highwater_client::{Client, TopicDescription};

use crate::harness::{Cluster, Door, Load, controller, in_sync, read_all, story, topic, topic_until};

/// With default settings.
const TAKE_OVER_LIMIT: Duration = Duration::from_secs(5);
/// A new controller is elected first and counts all sessions anew: 3.5 s were measured on idle cores, more than 5 s on cores
/// that compile at the same time.
const TAKE_OVER_LIMIT_CONTROLLER: Duration = Duration::from_secs(15);
const PARTITIONS: u32 = 6;

fn rounds() -> u32 {
    std::env::var("HIGHWATER_FAULT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

/// Who is killed.
#[derive(Clone, Copy)]
enum Victim {
    /// A leader that is not the controller.
    Leader,
    /// The controller, which leads partitions too.
    Controller,
}

impl Victim {
    const fn take_over_limit(self) -> Duration {
        match self {
            Self::Leader => TAKE_OVER_LIMIT,
            Self::Controller => TAKE_OVER_LIMIT_CONTROLLER,
        }
    }

    async fn of(self, client: &Client, topic: &TopicDescription) -> i32 {
        let controller = controller(client).await;
        let leads = topic.partitions.iter().filter_map(|partition| partition.leader);
        match self {
            Self::Leader => leads.into_iter().find(|id| *id != controller).expect("leaders are spread"),
            Self::Controller => controller,
        }
    }
}

async fn round(cluster: &mut Cluster, name: &str, door: Door, victim: Victim) {
    let client = cluster.client(door).await;
    client.admin().create_topic(topic(name, PARTITIONS)).await.unwrap();
    let described = in_sync(&client, name).await;
    let limit = victim.take_over_limit();
    let victim = victim.of(&client, &described).await;
    let led = described.partitions.iter().filter(|partition| partition.leader == Some(victim)).count();
    assert!(led > 0, "node {victim} leads something: {described:?}");
    let load = Load::start(&client, name);
    load.more(300).await;

    let killed = Instant::now();
    cluster.node(victim).kill();
    let onlooker = cluster.client(Door::Tcp).await;
    topic_until(&onlooker, name, limit, |topic| {
        topic.partitions.iter().all(|partition| partition.leader.is_some_and(|leader| leader != victim))
    })
    .await;
    let took = killed.elapsed();
    assert!(took < limit, "new leaders after {took:?}");
    load.more(300).await;

    let ledger = load.stop().await;
    eprintln!(
        "{name}: {} acknowledged, new leaders after {took:?}, longest gap {:?}",
        ledger.acked.len(),
        ledger.longest_gap()
    );
    ledger.all_acknowledged();
    ledger.check(&read_all(&onlooker, name).await);
    cluster.start_all().await;
    in_sync(&onlooker, name).await;
    ledger.check(&read_all(&onlooker, name).await);
}

fn told(door: Door, victim: Victim) {
    story(async move {
        let mut cluster = Cluster::three().await;
        for number in 1..=rounds() {
            round(&mut cluster, &format!("round-{number}"), door, victim).await;
        }
    });
}

#[test]
fn nothing_is_lost_with_a_leader_over_tcp() {
    told(Door::Tcp, Victim::Leader);
}

#[test]
fn nothing_is_lost_with_a_leader_over_tls() {
    told(Door::Tls, Victim::Leader);
}

#[test]
fn nothing_is_lost_with_a_leader_over_quic() {
    told(Door::Quic, Victim::Leader);
}

#[test]
fn nothing_is_lost_with_the_controller() {
    told(Door::Tcp, Victim::Controller);
}
