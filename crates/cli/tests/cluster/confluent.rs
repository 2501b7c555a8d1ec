//! The leader is killed while a producer of `confluent-kafka` runs; its consumer and ours read what it was promised. Rounds as in
//! `leader_killed`.

use crate::harness::{Cluster, Door, Foreign, in_sync, read_all, story_of_rounds, topic};
use crate::leader_killed::{PARTITIONS, Victim, kill_and_see_others_lead, rounds};

async fn round(cluster: &mut Cluster, foreign: &Foreign, name: &str, victim: Victim) {
    let client = cluster.client(Door::Tcp).await;
    client.admin().create_topic(topic(name, PARTITIONS)).await.unwrap();
    let described = in_sync(&client, name).await;
    let killed = victim.of(&client, &described).await;
    let bootstrap = cluster.addresses(Door::Tcp).replace("tcp://", "");
    let load = foreign.load(&bootstrap, name);
    load.more(300).await;
    let took = kill_and_see_others_lead(cluster, name, killed).await;
    load.more(300).await;
    let ledger = load.stop();
    eprintln!(
        "{victim:?} killed, confluent-kafka, {name}: {} acknowledged, new leaders after {took:?}, longest gap {:?}",
        ledger.acked.len(),
        ledger.longest_gap()
    );
    ledger.check(&read_all(&client, name).await);
    ledger.check(&foreign.read_all(&bootstrap, name));
    cluster.start_all().await;
    in_sync(&client, name).await;
    ledger.check(&foreign.read_all(&bootstrap, name));
}

#[test]
fn confluent_kafka_loses_nothing_with_a_leader_or_the_controller() {
    let Some(foreign) = Foreign::installed() else { return };
    story_of_rounds(rounds(), async move {
        let mut cluster = Cluster::three().await;
        for number in 0..rounds() {
            let victim = if number % 2 == 0 { Victim::Leader } else { Victim::Controller };
            round(&mut cluster, &foreign, &format!("round-{}", number + 1), victim).await;
        }
    });
}
