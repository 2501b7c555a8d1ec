//! The member of a group: reads all topics, commits every second, and leaves and joins again from time to time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use highwater_client::{Client, Consumer, Start};
use tokio::time::timeout;

use crate::Load;
use crate::book::Fault;
use crate::read::{LOOK_EVERY, parsed};

const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How long one membership lasts.
const STAYS_FOR: Duration = Duration::from_secs(45);
/// A member whose coordinator was killed is missed no longer than this.
const SESSION: Duration = Duration::from_secs(10);

/// Where the member goes on, for each partition of each topic.
type Marks = BTreeMap<(Arc<str>, u32), i64>;

/// Reads until the load is stopped and everything is read.
pub(crate) async fn run(load: Arc<Load>, client: Client) -> Result<(), Fault> {
    while !is_done(&load) {
        let consumer =
            client.consumer(load.topics()).group("soak").session_timeout(SESSION).auto_commit(None);
        stay(&load, consumer.start(Start::Earliest).build().await?).await?;
    }
    Ok(())
}

async fn stay(load: &Load, mut consumer: Consumer) -> Result<(), Fault> {
    let began = Instant::now();
    let mut committed = Instant::now();
    let mut marks = Marks::new();
    while began.elapsed() < STAYS_FOR && !is_done(load) {
        if let Ok(record) = timeout(LOOK_EVERY, consumer.try_next()).await
            && let Some(record) = record?
        {
            let (number, at) = parsed(&record)?;
            let again = load.book(&record.topic)?.on_grouped(number, at)?;
            load.redelivered.fetch_add(u64::from(again), Ordering::Relaxed);
            consumer.mark(&record);
            marks.insert((record.topic.clone(), at.partition), at.offset + 1);
        }
        if committed.elapsed() >= COMMIT_EVERY {
            note(load, &marks, consumer.commit().await.is_ok())?;
            committed = Instant::now();
        }
    }
    note(load, &marks, consumer.close().await.is_ok())
}

/// A commit may fail while its coordinator is dead; what it would have said is said by a later one.
fn note(load: &Load, marks: &Marks, done: bool) -> Result<(), Fault> {
    let counter = if done { &load.commits } else { &load.commits_failed };
    counter.fetch_add(1, Ordering::Relaxed);
    if done {
        for ((topic, partition), offset) in marks {
            load.book(topic)?.on_committed(*partition, *offset);
        }
    }
    Ok(())
}

fn is_done(load: &Load) -> bool {
    let [sent, _, _, grouped] = load.sums();
    load.is_all_sent() && grouped == sent
}
