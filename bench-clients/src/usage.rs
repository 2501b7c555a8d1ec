//! What this process has taken of the machine.

use std::fs;

use anyhow::{Context, Result};

/// Linux counts processor time in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// User and system time of all threads.
pub(crate) fn processor_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name, in parentheses, may hold anything; the times are the 14th and 15th field.
    let mut times = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
    let mut ticks =
        || times.next().and_then(|field| field.parse::<f64>().ok()).context("the times are missing");
    Ok((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

/// The most memory that was resident.
pub(crate) fn memory_peak_kib() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("there is no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
