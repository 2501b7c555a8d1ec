//! `cargo xtask bench --growth`: what must cost no more when there is more of it. One broker holds many segments, then many
//! partitions and connections, beside the same broker with few; what is compared takes turns, because a machine is not the same
//! for a minute. The figures go into `docs/performance.md`.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::fs::statvfs;

use super::page;
use super::system::System;
use crate::{usage, workspace};

mod clients;
mod partitions;
mod retained;
mod sheet;

use sheet::Sheet;

/// How much of everything.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Of batches that the long log holds, and in how many segments.
    retained_bytes: u64,
    segments: u64,
    /// Of batches that are written or read in one run.
    run_bytes: u64,
    fetching: Duration,
    /// The median of so many counts.
    runs: usize,
    partitions: i32,
    connections: usize,
}

const FULL: Plan = Plan {
    retained_bytes: 20 << 30,
    segments: 100,
    run_bytes: 512 << 20,
    fetching: Duration::from_secs(3),
    // A run of half a second differs from the next by half, for what the disk and the page cache do.
    runs: 9,
    partitions: 1000,
    connections: 1000,
};

const QUICK: Plan = Plan {
    retained_bytes: 1 << 30,
    segments: 100,
    run_bytes: 256 << 20,
    fetching: Duration::from_millis(500),
    runs: 1,
    partitions: 200,
    connections: 200,
};

/// Measures, shows, and unless it is quick writes; an error if a promise is missed.
pub(super) fn run(binary: &Path, quick: bool) -> Result<()> {
    let plan = if quick { QUICK } else { FULL };
    let folder = workspace::target_dir().join("bench").join("growth");
    let mut sheet = Sheet::default();
    {
        let mut scene = Scene::set(binary, &folder, &plan)?;
        partitions::measure(&mut scene, &plan, &mut sheet)?;
    }
    {
        let mut scene = Scene::set(binary, &folder, &plan)?;
        retained::measure(&mut scene, &plan, &mut sheet)?;
    }
    let text = sheet.text();
    println!("\n{text}");
    if !quick {
        let conditions = format!("{}. Medians of {} runs.", page::machine(), plan.runs);
        page::write("growth", &format!("{conditions}\n\n{text}"))?;
    }
    sheet.judge()
}

/// One broker and what it keeps, which is removed whatever happens.
struct Scene {
    system: System,
    folder: PathBuf,
}

impl Scene {
    /// Starts a broker on nothing, if the disk has room for what it will hold.
    fn set(binary: &Path, folder: &Path, plan: &Plan) -> Result<Self> {
        remove(folder)?;
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        check_room(folder, plan)?;
        let mut scene = Self { system: System::alone(binary, folder)?, folder: folder.to_path_buf() };
        scene.system.start()?;
        Ok(scene)
    }

    /// The memory that the broker has resident, once it has nothing to do.
    fn settled_kib(&mut self) -> Result<f64> {
        self.system.await_quiet(QUIET_CORES, QUIET_LIMIT)?;
        // What is freed after a peak is freed by timers too.
        thread::sleep(SETTLING);
        let pid = self.system.pids().first().copied().context("a broker runs")?;
        usage::memory_now_kib(pid)
    }

    fn await_quiet(&mut self) -> Result<()> {
        // What an earlier load left to be written to the disk is no part of the next.
        rustix::fs::sync();
        self.system.await_quiet(QUIET_CORES, QUIET_LIMIT).map(drop)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // The system still hears signals after its stop, so that Ctrl-C does not end this before the data are gone.
        self.system.stop();
        if let Err(error) = remove(&self.folder) {
            eprintln!("{error}");
        }
    }
}

const QUIET_CORES: f64 = 0.1;
const QUIET_LIMIT: Duration = Duration::from_secs(180);
const SETTLING: Duration = Duration::from_secs(2);

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result.with_context(|| format!("{} cannot be removed", folder.display())),
    }
}

/// Beside the long log there are what runs add to it, a new log that is removed after its run, and room that a broker keeps for itself.
fn check_room(folder: &Path, plan: &Plan) -> Result<()> {
    let wanted = plan.retained_bytes + (plan.runs as u64 + 4) * plan.run_bytes + (2 << 30);
    let found = statvfs(folder).with_context(|| format!("{} cannot be looked at", folder.display()))?;
    let free = found.f_bavail * found.f_frsize;
    ensure!(
        free >= wanted,
        "{} has {:.1} GiB free, and this needs {:.1} while it runs: make room, or try --growth --quick",
        folder.display(),
        free as f64 / f64::from(1 << 30),
        wanted as f64 / f64::from(1 << 30)
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_told_before_anything_is_written() {
        let plan = Plan { retained_bytes: 1 << 60, ..QUICK };
        let error = check_room(&std::env::temp_dir(), &plan).unwrap_err().to_string();
        assert!(error.contains("GiB free, and this needs 1073741"), "{error}");
        assert!(
            check_room(&std::env::temp_dir(), &Plan { retained_bytes: 0, run_bytes: 0, ..QUICK }).is_ok()
        );
    }

    #[test]
    fn what_is_not_there_is_removed_already() {
        let folder = std::env::temp_dir().join(format!("xtask-growth-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inside")).unwrap();
        remove(&folder).unwrap();
        assert!(!folder.exists());
        remove(&folder).unwrap();
    }

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }
}
