//! What processes take of the machine, as the kernel counts it under `/proc`.

use std::fs;

use anyhow::{Context, Result};

/// Linux counts processor time in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

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
        assert!(memory_peak_mib(own[0]).unwrap() > 0.0);
    }
}
