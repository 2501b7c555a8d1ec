//! What processes take of the machine, as the kernel counts it under `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Linux counts processor time in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// How Linux marks the name of a file that is open and no longer there.
const DELETED: &str = " (deleted)";

/// Seconds of processor time, user and system, that these processes have taken together.
pub(crate) fn processor_seconds(pids: &[u32]) -> Result<f64> {
    let ticks = pids.iter().map(|pid| ticks(*pid)).sum::<Result<u64>>()?;
    Ok(ticks as f64 / TICKS_PER_SECOND)
}

/// How often the threads of these processes have gone to sleep.
pub(crate) fn waits(pids: &[u32]) -> Result<u64> {
    pids.iter().map(|pid| waits_of(*pid)).sum()
}

/// The most memory that a process has had resident since it started, in MiB.
pub(crate) fn memory_peak_mib(pid: u32) -> Result<f64> {
    memory(pid, "VmHWM:")
}

/// The memory that a process has resident, in KiB.
pub(crate) fn memory_now_kib(pid: u32) -> Result<f64> {
    Ok(memory(pid, "VmRSS:")? * 1024.0)
}

/// How many files, sockets and other things a process has open, beside one handle for each file that is there below `folder`:
/// those come and go with the files. One of a file that was deleted counts, and so does a second one of the same file.
pub(crate) fn handles_beside_files(pid: u32, folder: &Path) -> Result<u64> {
    let mut count = 0;
    let mut files = BTreeSet::new();
    let handles = format!("/proc/{pid}/fd");
    for handle in fs::read_dir(&handles).with_context(|| format!("{handles} cannot be read"))? {
        // It may be closed between the listing and the look.
        let Ok(target) = fs::read_link(handle?.path()) else { continue };
        let is_there = target.starts_with(folder) && !target.to_string_lossy().ends_with(DELETED);
        count += u64::from(!is_there || !files.insert(target));
    }
    Ok(count)
}

/// How many threads a process has.
pub(crate) fn threads(pid: u32) -> Result<u64> {
    entries(pid, "task")
}

fn entries(pid: u32, folder: &str) -> Result<u64> {
    let folder = format!("/proc/{pid}/{folder}");
    Ok(fs::read_dir(&folder).with_context(|| format!("{folder} cannot be read"))?.count() as u64)
}

fn memory(pid: u32, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = kib_in(&status, field).with_context(|| format!("{field} of process {pid} cannot be read"))?;
    Ok(kib as f64 / 1024.0)
}

fn ticks(pid: u32) -> Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    ticks_in(&stat).with_context(|| format!("the times of process {pid} cannot be read"))
}

/// The name, in parentheses, may hold anything; user and system time are the 14th and 15th field.
fn ticks_in(stat: &str) -> Option<u64> {
    let mut times = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let (user, system) = times.next().zip(times.next())?;
    Some(user.parse::<u64>().ok()? + system.parse::<u64>().ok()?)
}

fn waits_of(pid: u32) -> Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end between the listing and the look.
        let status = fs::read_to_string(task?.path().join("status")).unwrap_or_default();
        sum += waits_in(&status).unwrap_or(0);
    }
    Ok(sum)
}

fn waits_in(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
}

fn kib_in(status: &str, field: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(field))?;
    value.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_kernels_files_are_read() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 31 11 0 0 20 0 5 0 1 2";
        assert_eq!(ticks_in(stat), Some(42));
        assert_eq!(ticks_in("7 (a)"), None);
        let status =
            "Name:\ta\nVmHWM:\t   2048 kB\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(waits_in(status), Some(12));
        assert_eq!(kib_in(status, "VmHWM:"), Some(2048));
        let own = [std::process::id()];
        assert!(processor_seconds(&own).is_ok() && waits(&own).is_ok());
        assert!(memory_peak_mib(own[0]).unwrap() > 0.0 && memory_now_kib(own[0]).unwrap() > 0.0);
        assert!(threads(own[0]).unwrap() > 0);
    }

    #[test]
    fn a_handle_of_a_file_that_is_there_counts_only_the_second_time() {
        let folder = std::env::temp_dir().join(format!("xtask-handles-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        // A process of its own: other tests open files in this one meanwhile. It may have inherited anything.
        let held = |script: &str| {
            let mut child = Command::new("sh")
                .args(["-c", &format!("exec 7>&- 8>&-; {script}; echo; read _")])
                .current_dir(&folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut ready = [0];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
            let count = handles_beside_files(child.id(), &folder).unwrap();
            drop(child.stdin.take());
            child.wait().unwrap();
            count
        };
        let nothing = held("true");
        assert_eq!(held("exec 7>a"), nothing);
        assert_eq!(held("exec 7>a 8>b"), nothing);
        assert_eq!(held("exec 7>a 8>a"), nothing + 1);
        assert_eq!(held("exec 7>a; rm a"), nothing + 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
