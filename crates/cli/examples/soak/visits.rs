//! Visitors: clients that come by a door, read the oldest record of a partition, and leave. What a broker or a client forgets
//! to give back, it forgets once a visit.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use highwater_client::{Client, ClientError, OffsetSpec, Start};

use crate::book::Fault;
use crate::{Door, Load};

const VISIT_EVERY: Duration = Duration::from_secs(2);

/// Visits until the load is stopped.
pub(crate) async fn run(load: Arc<Load>) -> Result<(), Fault> {
    let topics = load.topics();
    let mut every = tokio::time::interval(VISIT_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for (visit, topic) in topics.iter().cycle().enumerate() {
        every.tick().await;
        if load.is_stopped() {
            break;
        }
        let door = Door::ALL.get(visit / topics.len() % Door::ALL.len()).copied().unwrap_or(Door::Tcp);
        let client = load.client(door).await.map_err(|error| failed(door, &error))?;
        let seen = look(&client, topic).await;
        seen.and(client.close().await).map_err(|error| failed(door, &error))?;
        load.visits.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn failed(door: Door, error: &ClientError) -> Fault {
    Fault::new(format!("a visit over {} failed: {error}", door.scheme()))
}

async fn look(client: &Client, topic: &Arc<str>) -> Result<(), ClientError> {
    let ends = client.admin().list_offsets(topic.clone(), [0], OffsetSpec::Latest).await?;
    let end = ends.into_iter().next().transpose()?.and_then(|end| end.offset);
    if end.is_some_and(|end| end > 0) {
        let consumer = client.consumer(topic.clone()).partitions([0]).start(Start::Earliest);
        let mut consumer = consumer.fetch_bytes_max(64 << 10).build().await?;
        consumer.try_next().await?;
        consumer.close().await?;
    }
    Ok(())
}

/// The sum of the offsets at which all partitions begin now: how many records retention has deleted.
pub(crate) async fn earliest(load: &Load) -> Result<i64, Fault> {
    let client = load.client(Door::Tcp).await?;
    let mut sum = 0;
    for topic in load.topics() {
        let partitions = 0..load.arguments.partitions;
        for found in client.admin().list_offsets(topic, partitions, OffsetSpec::Earliest).await? {
            sum += found?.offset.unwrap_or(0);
        }
    }
    client.close().await?;
    Ok(sum)
}
