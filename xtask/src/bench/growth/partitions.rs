//! Many partitions and many connections: what an idle one keeps, what writing to all of them costs, and how soon a broker that was
//! stopped cleanly has all of them open again.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::super::admin::{self, Topic};
use super::super::frames;
use super::super::load::{self, Produce, Until, Volume};
use super::super::measure::STORED;
use super::super::wire::Connection;
use super::sheet::{Limit, Sheet};
use super::{Plan, Scene, clients, median};

const MANY: &str = "many";
const ONE: &str = "one";
/// Written as most of what the page shows, but for the answer, which here is the leader's alone.
pub(super) const WRITTEN: Produce = Produce { acks: 1, ..STORED };
const OPEN_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

pub(super) fn measure(scene: &mut Scene, plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let empty = idle_partitions(scene, plan, sheet)?;
    opening(scene, plan, sheet, "never written to")?;
    connections(scene, plan, sheet)?;
    round_robin(scene, plan, sheet)?;
    opening(scene, plan, sheet, "written to")?;
    let each = (scene.settled_kib()? - empty) / f64::from(plan.partitions);
    sheet.add(
        "memory of an idle partition that was written to, opened again",
        "KiB",
        each,
        None,
        Limit::Within(32.0),
    );
    Ok(())
}

/// Gives the memory of a broker that was just started and has one partition.
fn idle_partitions(scene: &mut Scene, plan: &Plan, sheet: &mut Sheet) -> Result<f64> {
    let bootstrap = scene.system.bootstrap()?;
    admin::create(&bootstrap, &Topic { name: ONE, partitions: 1, replicas: 1, settings: &[] })?;
    scene.system.stop();
    scene.system.start()?;
    let before = scene.settled_kib()?;
    admin::create(
        &bootstrap,
        &Topic { name: MANY, partitions: plan.partitions, replicas: 1, settings: &[] },
    )?;
    let each = (scene.settled_kib()? - before) / f64::from(plan.partitions);
    let about = format!("memory of an idle partition, of {}", plan.partitions);
    sheet.add(&about, "KiB", each, None, Limit::Within(32.0));
    Ok(before)
}

fn connections(scene: &mut Scene, plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let (bootstrap, port) = (scene.system.bootstrap()?, scene.system.http_port()?);
    let mut each = |name: &str, limit, open: &dyn Fn(usize) -> Result<Vec<std::net::TcpStream>>| {
        // What every first client costs is not what each costs.
        drop(open(plan.connections / 10)?);
        let before = scene.settled_kib()?;
        let held = open(plan.connections)?;
        let each = (scene.settled_kib()? - before) / held.len() as f64;
        let about = format!("memory of an idle connection over {name}, of {}", held.len());
        sheet.add(&about, "KiB", each, None, limit);
        anyhow::Ok(())
    };
    each("TCP", Limit::Within(16.0), &|count| clients::tcp(&bootstrap, count))?;
    each("a WebSocket", Limit::Shown, &|count| clients::web_sockets(port, count))
}

/// All of `MANY` in turn, and `ONE` alone, in turn.
fn round_robin(scene: &mut Scene, plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let bootstrap = scene.system.bootstrap()?;
    let batch = WRITTEN.batch();
    let mut run = |topic: &str, partitions: i32| {
        scene.await_quiet()?;
        let until = Until::Bytes(plan.run_bytes);
        let volume = load::produce_round_robin(&bootstrap, topic, &batch, &WRITTEN, partitions, until)?;
        anyhow::Ok(speed(volume))
    };
    // The first writes to a partition make its files.
    run(MANY, plan.partitions)?;
    run(ONE, 1)?;
    let (mut many, mut one) = (Vec::new(), Vec::new());
    for _ in 0..plan.runs {
        many.push(run(MANY, plan.partitions)?);
        one.push(run(ONE, 1)?);
    }
    let about = format!("produce to {} partitions in turn, beside one alone", plan.partitions);
    sheet.add(&about, "GB/s", median(many), Some(median(one)), Limit::RatioMin(0.5));
    Ok(())
}

pub(super) fn speed(volume: Volume) -> f64 {
    volume.gigabytes() / volume.seconds
}

/// Stops the broker and starts it again, until every partition answers.
fn opening(scene: &mut Scene, plan: &Plan, sheet: &mut Sheet, state: &str) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..plan.runs {
        scene.await_quiet()?;
        scene.system.stop();
        let started = Instant::now();
        scene.system.launch()?;
        await_all(&scene.system.bootstrap()?, plan.partitions, started + OPEN_LIMIT)?;
        times.push(started.elapsed().as_secs_f64());
        scene.system.check()?;
    }
    let about = format!(
        "from the start of a broker that was stopped cleanly until {} partitions {state} answer",
        plan.partitions
    );
    sheet.add(&about, "s", median(times), None, Limit::Within(2.0));
    Ok(())
}

/// Waits until each partition of `MANY` answers a fetch.
fn await_all(bootstrap: &str, partitions: i32, deadline: Instant) -> Result<()> {
    let asks: Vec<Vec<u8>> =
        (0..partitions).map(|partition| frames::fetch(MANY, partition, 0, 1, 0)).collect();
    let mut connection = None;
    for ask in asks {
        loop {
            match answered(&mut connection, bootstrap, &ask) {
                Ok(()) => break,
                Err(error) => {
                    ensure!(Instant::now() < deadline, "a partition does not answer: {error}");
                    std::thread::sleep(LOOK_EVERY);
                }
            }
        }
    }
    Ok(())
}

fn answered(connection: &mut Option<Connection>, bootstrap: &str, ask: &[u8]) -> Result<()> {
    let open = match connection.take() {
        Some(open) => open,
        None => Connection::open(bootstrap)?,
    };
    let open = connection.insert(open);
    let result = open.call(ask).and_then(|answer| frames::fetched(answer).map(drop));
    if result.is_err() {
        *connection = None;
    }
    result
}
