//! `cargo xtask bench --browser`: a tab over both of its carriers beside the native client over both of its own, on one
//! cluster of release-built brokers; once on loopback, once over a link that is slow and loses packets. The measuring is done by
//! `crates/client-wasm/tests/browser/bench.mjs`; this makes what it needs and writes the figures into `docs/performance.md`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Tools, link, tests};
use crate::bench::page;
use crate::cluster::{self, Cluster};
use crate::{process, tools, workspace};

const NODES: u16 = 3;
const LIMIT: Duration = Duration::from_secs(600);
/// The argument with which this program calls itself inside a network namespace.
const INSIDE: &str = "--bench-link";
/// Rows of the tables, by the names that the measuring gives them.
const CLIENTS: [(&str, &str); 4] = [
    ("webtransport", "tab, WebTransport"),
    ("websocket", "tab, WebSocket"),
    ("quic", "native, QUIC"),
    ("tcp", "native, TCP"),
];
/// What a tab over WebTransport is to reach on loopback.
const PRODUCED_MIN: f64 = 20.0;
const CONSUMED_MIN: f64 = 20.0;
const RECEIVED_P50_MAX_MS: f64 = 5.0;

/// Measures both links; what it has built and measured goes into the page.
pub(crate) fn run(binary: Option<&Path>) -> Result<()> {
    let folder = folder()?;
    tools::program("unshare", "util-linux")?;
    tools::program("ip", "iproute2")?;
    let tools = Tools::install(&folder)?;
    let built = binary.is_none();
    let binary = binary.map(Path::to_path_buf).map_or_else(cluster::build::release, Ok)?.canonicalize()?;
    measure(&binary, &tools, false)?;
    let mut again = Command::new(std::env::current_exe()?);
    again.arg("browser").arg(INSIDE).arg(&tools.package).arg("--binary").arg(&binary);
    process::run(&mut link::in_own_namespace(&again)?, LIMIT)?;
    let [clean, lossy] = ["clean", "lossy"].map(|link| figures(&folder, link));
    let (clean, lossy) = (clean?, lossy?);
    let text = format!("{}\n{}", clean_table(&clean)?, lossy_table(&lossy)?);
    println!("\n{text}");
    if built {
        page::write("browser", &format!("{}\n\n{text}", conditions()?))?;
    }
    judge(&clean)
}

/// The part that runs inside a network namespace of its own.
pub(super) fn inside(binary: &Path, package: &Path) -> Result<()> {
    let folder = folder()?;
    link::make(NODES, &folder)?;
    let tools = Tools { package: package.to_path_buf(), programs: folder.join("tools") };
    measure(binary, &tools, true)
}

fn folder() -> Result<PathBuf> {
    let folder = workspace::target_dir().join("browser");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    Ok(folder)
}

/// Measures a cluster of its own, on loopback or behind the link.
fn measure(binary: &Path, tools: &Tools, is_behind_link: bool) -> Result<()> {
    let folder = folder()?;
    let mut cluster = Cluster::prepare(binary, &folder.join("measured"), NODES, true)?;
    for node in &mut cluster.layout.nodes {
        node.told = is_behind_link.then(|| link::name_of(node.id));
    }
    ensure!(cluster.start()?.is_some(), "interrupted");
    let mut node = Command::new("node");
    node.arg(tests().join("browser/bench.mjs"));
    node.env("BENCH_LINK", if is_behind_link { "lossy" } else { "clean" });
    node.env("HIGHWATER_CA", &cluster.layout.ca);
    tools.describe(&mut node, &cluster, binary, &folder);
    process::run(&mut node, LIMIT).map(drop)
}

fn figures(folder: &Path, link: &str) -> Result<Value> {
    let path = folder.join(format!("artefacts/bench-{link}.json"));
    let text = fs::read(&path).with_context(|| format!("{} is not there", path.display()))?;
    Ok(serde_json::from_slice(&text)?)
}

fn number(figures: &Value, path: &str) -> Result<f64> {
    figures.pointer(path).and_then(Value::as_f64).with_context(|| format!("no figure {path} was measured"))
}

fn clean_table(figures: &Value) -> Result<String> {
    let mut text = String::from(
        "| client, on loopback | produced | consumed | to the consumer, p50 | p99 |\n|---|--:|--:|--:|--:|\n",
    );
    for (key, name) in CLIENTS {
        let of = |field: &str| number(figures, &format!("/{key}/{field}"));
        writeln!(
            text,
            "| {name} | {:.1} MB/s | {:.1} MB/s | {:.2} ms | {:.2} ms |",
            of("produced")?,
            of("consumed")?,
            of("p50")?,
            of("p99")?
        )?;
    }
    Ok(text)
}

fn lossy_table(figures: &Value) -> Result<String> {
    let mut text = format!(
        "| client, with {} ms and {} % loss each way | small produce alone, p50 | p99 | beside a bulk fetch, p50 | p99 | the bulk fetch |\n\
         |---|--:|--:|--:|--:|--:|\n",
        link::DELAY.as_millis(),
        link::LOST_PERCENT
    );
    for (key, name) in CLIENTS {
        let of = |field: &str| number(figures, &format!("/{key}/{field}"));
        writeln!(
            text,
            "| {name} | {:.0} ms | {:.0} ms | {:.0} ms | {:.0} ms | {:.2} MB/s |",
            of("alone_p50")?,
            of("alone_p99")?,
            of("beside_p50")?,
            of("beside_p99")?,
            of("bulk")?
        )?;
    }
    Ok(text)
}

fn conditions() -> Result<String> {
    let mut git = Command::new("git");
    let commit = process::run_quietly(
        git.args(["rev-parse", "--short", "HEAD"]).current_dir(workspace::root()),
        LIMIT,
    )?;
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    Ok(format!(
        "Measured at commit {} on {cores} cores, which brokers, browser and clients share.",
        commit.join("")
    ))
}

fn judge(figures: &Value) -> Result<()> {
    let of = |field: &str| number(figures, &format!("/webtransport/{field}"));
    let (produced, consumed, p50) = (of("produced")?, of("consumed")?, of("p50")?);
    ensure!(
        produced >= PRODUCED_MIN && consumed >= CONSUMED_MIN && p50 < RECEIVED_P50_MAX_MS,
        "a tab over WebTransport is to produce {PRODUCED_MIN} MB/s and consume {CONSUMED_MIN} MB/s with a p50 under {RECEIVED_P50_MAX_MS} ms"
    );
    Ok(())
}

#[cfg(test)]
mod tests_of_tables {
    use super::*;

    #[test]
    fn a_figure_that_was_not_measured_is_an_error() {
        assert!(
            clean_table(&serde_json::json!({})).unwrap_err().to_string().contains("/webtransport/produced")
        );
    }
}
