//! A long log of many segments beside one that is new for each run: writing at its end, and reading what was written last, which
//! both have in the page cache.

use anyhow::Result;

use super::super::admin::{self, Topic};
use super::super::load::{self, Until};
use super::super::measure::{FETCH_BYTES, STORED};
use super::partitions::{WRITTEN, speed};
use super::sheet::{Limit, Sheet};
use super::{Plan, Scene, median};

const LONG: &str = "long";
/// The long log is filled in pieces, between which the broker and the person at the keyboard are looked at.
const PIECE_BYTES: u64 = 256 << 20;

pub(super) fn measure(scene: &mut Scene, plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let settings = [("segment.bytes".to_owned(), (plan.retained_bytes / plan.segments).to_string())];
    let segments = &settings.each_ref().map(|(name, value)| (name.as_str(), value.as_str()));
    let bootstrap = scene.system.bootstrap()?;
    let mut turns = Turns { bootstrap: &bootstrap, segments, scene, plan, written: 0, made: 0 };
    turns.fill()?;
    let (mut long, mut new) = (Rates::default(), Rates::default());
    // The first run finds files and memory as the filling has left them.
    turns.run_long(&mut Rates::default())?;
    for round in 0..plan.runs {
        // Neither is always the one that finds the memory which the other has left.
        if round % 2 == 0 {
            turns.run_new(&mut new)?;
            turns.run_long(&mut long)?;
        } else {
            turns.run_long(&mut long)?;
            turns.run_new(&mut new)?;
        }
    }
    let held = format!("{:.1} GiB retained in {} segments", gib(plan.retained_bytes), plan.segments);
    let beside = Limit::RatioMin(0.9);
    sheet.add(
        &format!("produce with {held}, beside a new log"),
        "GB/s",
        median(long.produced),
        Some(median(new.produced)),
        beside,
    );
    sheet.add(
        &format!("fetch with {held}, beside a new log"),
        "GB/s",
        median(long.fetched),
        Some(median(new.fetched)),
        beside,
    );
    Ok(())
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

#[derive(Debug, Default)]
struct Rates {
    produced: Vec<f64>,
    fetched: Vec<f64>,
}

struct Turns<'a> {
    bootstrap: &'a str,
    segments: &'a [(&'a str, &'a str)],
    scene: &'a mut Scene,
    plan: &'a Plan,
    /// Records of the long log.
    written: u64,
    /// New logs so far: a broker may not have heard yet that a topic was removed, so no name comes twice.
    made: usize,
}

impl Turns<'_> {
    fn make(&self, name: &str) -> Result<()> {
        let topic = Topic { name, partitions: 1, replicas: 1, settings: self.segments };
        admin::create(self.bootstrap, &topic).map(drop)
    }

    fn fill(&mut self) -> Result<()> {
        self.make(LONG)?;
        let mut bytes = 0;
        while bytes < self.plan.retained_bytes {
            let piece = load::produce(self.bootstrap, LONG, &STORED, Until::Bytes(PIECE_BYTES))?;
            bytes += piece.bytes;
            self.written += piece.records;
            self.scene.system.check()?;
        }
        println!("   {:.1} GiB are written", gib(bytes));
        Ok(())
    }

    fn run_long(&mut self, rates: &mut Rates) -> Result<()> {
        let from = self.written;
        self.written += self.run(LONG, from, rates)?;
        Ok(())
    }

    fn run_new(&mut self, rates: &mut Rates) -> Result<()> {
        self.made += 1;
        let name = format!("new-{}", self.made);
        self.make(&name)?;
        self.run(&name, 0, rates)?;
        admin::delete(self.bootstrap, &name)
    }

    /// Writes for a run, and reads that; gives the records.
    fn run(&mut self, topic: &str, from: u64, rates: &mut Rates) -> Result<u64> {
        self.scene.await_quiet()?;
        let volume = load::produce(self.bootstrap, topic, &WRITTEN, Until::Bytes(self.plan.run_bytes))?;
        // Also for the hash chain, which is not to be paid for by what is measured.
        self.scene.await_quiet()?;
        let from = i64::try_from(from)?;
        let fetched = load::fetch(self.bootstrap, topic, from, FETCH_BYTES, self.plan.fetching)?;
        println!("   {topic:<8} produce {:.3} GB/s  fetch {:.3} GB/s", speed(volume), speed(fetched));
        rates.produced.push(speed(volume));
        rates.fetched.push(speed(fetched));
        Ok(volume.records)
    }
}
