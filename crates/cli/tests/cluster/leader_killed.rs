//! The leader is killed while a producer runs: another one takes over in time, and nothing that was acknowledged is lost or
//! doubled, or out of order. `HIGHWATER_FAULT_ROUNDS` sets how often each story is told (by default once over each door),
//! `HIGHWATER_FAULT_DOOR` that all rounds are over one door.

use std::time::{Duration, Instant};

use highwater_client::{Client, TopicDescription};

use crate::harness::{
    Cluster, Door, Load, controller, in_sync, read_all, story_of_rounds, topic, topic_until,
};

/// With default settings, whoever is killed.
pub(crate) const TAKE_OVER_LIMIT: Duration = Duration::from_secs(5);
pub(crate) const PARTITIONS: u32 = 6;
const DOORS: [Door; 3] = [Door::Tcp, Door::Tls, Door::Quic];

/// How many rounds a story has.
pub(crate) fn rounds() -> usize {
    std::env::var("HIGHWATER_FAULT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(DOORS.len())
}

fn door(round: usize) -> Door {
    let chosen = std::env::var("HIGHWATER_FAULT_DOOR").ok();
    let chosen = chosen.and_then(|name| DOORS.into_iter().find(|door| door.scheme() == name));
    chosen.unwrap_or(DOORS[round % DOORS.len()])
}

/// Who is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Victim {
    /// A leader that is not the controller.
    Leader,
    /// The controller, which leads partitions too.
    Controller,
}

impl Victim {
    /// A broker that leads partitions of the topic.
    pub(crate) async fn of(self, client: &Client, topic: &TopicDescription) -> i32 {
        let controller = controller(client).await;
        let mut leads = topic.partitions.iter().filter_map(|partition| partition.leader);
        match self {
            Self::Leader => leads.find(|id| *id != controller).expect("leaders are spread"),
            Self::Controller => leads.find(|id| *id == controller).expect("every broker leads some"),
        }
    }
}

/// Kills the victim and waits until all partitions have other leaders; how long that took.
pub(crate) async fn kill_and_see_others_lead(cluster: &mut Cluster, name: &str, victim: i32) -> Duration {
    let onlooker = cluster.client(Door::Tcp).await;
    let killed = Instant::now();
    cluster.node(victim).kill();
    topic_until(&onlooker, name, TAKE_OVER_LIMIT, |topic| {
        topic.partitions.iter().all(|partition| partition.leader.is_some_and(|leader| leader != victim))
    })
    .await;
    killed.elapsed()
}

async fn round(cluster: &mut Cluster, name: &str, door: Door, victim: Victim) {
    let client = cluster.client(door).await;
    client.admin().create_topic(topic(name, PARTITIONS)).await.unwrap();
    let described = in_sync(&client, name).await;
    let killed = victim.of(&client, &described).await;
    let load = Load::start(&client, name);
    load.more(300).await;
    let took = kill_and_see_others_lead(cluster, name, killed).await;
    load.more(300).await;

    let ledger = load.stop().await;
    eprintln!(
        "{victim:?} killed, {door:?}, {name}: {} acknowledged, new leaders after {took:?}, longest gap {:?}",
        ledger.acked.len(),
        ledger.longest_gap()
    );
    ledger.all_acknowledged();
    ledger.check(&read_all(&client, name).await);
    cluster.start_all().await;
    in_sync(&client, name).await;
    ledger.check(&read_all(&client, name).await);
}

fn told(victim: Victim) {
    story_of_rounds(rounds(), async move {
        let mut cluster = Cluster::three().await;
        for number in 0..rounds() {
            round(&mut cluster, &format!("round-{}", number + 1), door(number), victim).await;
        }
    });
}

#[test]
fn nothing_is_lost_with_a_leader() {
    told(Victim::Leader);
}

#[test]
fn nothing_is_lost_with_the_controller() {
    told(Victim::Controller);
}
