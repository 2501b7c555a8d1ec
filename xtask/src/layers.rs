//! `cargo xtask layers`: who may import whom. This table is the only place where the layers stand in code; it is
//! checked against the manifests. An import goes to a lower layer, and the cores take only named crates from
//! outside, so that none of them can reach a socket, a clock or a thread.

use anyhow::{Context, Result, ensure};
use cargo_metadata::{Dependency, DependencyKind, MetadataCommand, Package};

use crate::workspace;

/// One crate of the workspace.
struct Crate {
    /// Its folder under `crates/`.
    name: &'static str,
    layer: u8,
    /// What it may import from outside; `None` where that does not matter.
    outside: Option<&'static [&'static str]>,
}

const fn core(name: &'static str, layer: u8, outside: &'static [&'static str]) -> Crate {
    Crate { name, layer, outside: Some(outside) }
}

const fn edge(name: &'static str, layer: u8) -> Crate {
    Crate { name, layer, outside: None }
}

const LAYERS: &[Crate] = &[
    core("log-core", 0, &["blake3", "bytes", "serde", "thiserror"]),
    core("kafka-wire", 0, &["bytes", "thiserror"]),
    core("log-store", 1, &["bytes", "thiserror"]),
    core("replica-core", 1, &["bytes", "rkyv", "thiserror"]),
    core("metadata-core", 1, &["bytes", "crc32c", "postcard", "rkyv", "serde", "thiserror"]),
    core("coordinator-core", 1, &["bytes", "thiserror"]),
    core("compression", 1, &["flate2", "lz4_flex", "ruzstd", "snap", "thiserror", "zstd"]),
    core("client-core", 1, &["bytes", "thiserror"]),
    core("broker-core", 2, &["bytes", "thiserror", "tracing"]),
    edge("timer-grid", 3),
    edge("disk", 3),
    edge("quorum", 3),
    edge("replica", 3),
    edge("client", 3),
    edge("client-wasm", 3),
    edge("broker", 4),
    edge("cli", 4),
    edge("simulator", 4),
];

/// Imports within one layer that are allowed.
const SIDEWAYS: &[(&str, &str)] =
    &[("cli", "broker"), ("cli", "simulator"), ("quorum", "timer-grid"), ("replica", "timer-grid")];

/// Imports upwards that are allowed for tests.
const UPWARDS_IN_TESTS: &[(&str, &str)] = &[("client", "broker")];

/// What the tests of the cores may use beside what the cores may; nothing of it does input or output of its own.
const TEST_TOOLS: &[&str] = &["allocation-counter", "crc32c", "insta", "proptest", "serde", "serde_json"];

/// The highest layer whose crates take only named crates from outside.
const HIGHEST_CORE_LAYER: u8 = 2;

/// Checks the manifests of the workspace.
pub(crate) fn run() -> Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(workspace::root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata failed")?;
    let faults: Vec<String> = metadata.packages.iter().flat_map(faults_of).collect();
    for fault in &faults {
        println!("{fault}");
    }
    ensure!(faults.is_empty(), "{} forbidden imports; the table is in xtask/src/layers.rs", faults.len());
    println!("{} crates, every import goes to a lower layer", metadata.packages.len());
    Ok(())
}

/// The layer of a crate, by its folder's name.
pub(crate) fn layer_of(folder: &str) -> Option<u8> {
    LAYERS.iter().find(|known| known.name == folder).map(|known| known.layer)
}

/// Whether a crate belongs to the layers that neither block nor wait.
pub(crate) fn is_core(folder: &str) -> bool {
    layer_of(folder).is_some_and(|layer| layer <= HIGHEST_CORE_LAYER)
}

fn faults_of(package: &Package) -> Vec<String> {
    let importer = folder_of(&package.name);
    package
        .dependencies
        .iter()
        .filter_map(|dependency| fault_of(importer, &Import::of(dependency)))
        .map(|fault| format!("{}: {fault}", package.manifest_path))
        .collect()
}

struct Import<'a> {
    name: &'a str,
    ours: bool,
    in_tests: bool,
}

impl<'a> Import<'a> {
    fn of(dependency: &'a Dependency) -> Self {
        let ours = dependency.path.is_some();
        let name = if ours { folder_of(&dependency.name) } else { &dependency.name };
        Self { name, ours, in_tests: dependency.kind == DependencyKind::Development }
    }
}

/// Packages are named for their folders; only the binary's is not.
fn folder_of(package: &str) -> &str {
    match package {
        "highwater" => "cli",
        other => other.strip_prefix("highwater-").unwrap_or(other),
    }
}

/// Why the import is forbidden, or nothing.
fn fault_of(importer: &str, import: &Import<'_>) -> Option<String> {
    if importer == "xtask" {
        return import
            .ours
            .then(|| format!("xtask imports {}; it builds them and imports none", import.name));
    }
    let Some(this) = LAYERS.iter().find(|known| known.name == importer) else {
        return Some(format!("{importer} is in no layer; add it to the table"));
    };
    if import.ours { fault_inside(this, import) } else { fault_outside(this, import) }
}

fn fault_inside(this: &Crate, import: &Import<'_>) -> Option<String> {
    let pair = (this.name, import.name);
    let exempt = SIDEWAYS.contains(&pair) || (import.in_tests && UPWARDS_IN_TESTS.contains(&pair));
    let Some(layer) = layer_of(import.name) else {
        return Some(format!("{} imports {}, which is in no layer", this.name, import.name));
    };
    (layer >= this.layer && !exempt)
        .then(|| format!("{} (layer {}) imports {} (layer {layer})", this.name, this.layer, import.name))
}

fn fault_outside(this: &Crate, import: &Import<'_>) -> Option<String> {
    let allowed = this.outside?;
    let known = allowed.contains(&import.name) || (import.in_tests && TEST_TOOLS.contains(&import.name));
    (!known).then(|| {
        format!(
            "{} (layer {}) imports {}; from outside it takes only {}",
            this.name,
            this.layer,
            import.name,
            { allowed.join(", ") }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(importer: &str, name: &str, in_tests: bool) -> Option<String> {
        let ours = layer_of(name).is_some();
        fault_of(importer, &Import { name, ours, in_tests })
    }

    #[test]
    fn an_import_goes_to_a_lower_layer() {
        assert_eq!(check("log-store", "log-core", false), None);
        assert_eq!(check("broker", "client", false), None);
        assert_eq!(
            check("log-core", "log-store", false).unwrap(),
            "log-core (layer 0) imports log-store (layer 1)"
        );
        assert!(check("broker-core", "disk", false).is_some());
    }

    #[test]
    fn a_sideways_import_is_forbidden_except_from_the_binary() {
        assert!(check("kafka-wire", "log-core", false).is_some());
        assert!(check("replica", "quorum", false).is_some());
        assert!(check("broker", "cli", false).is_some());
        assert_eq!(check("cli", "broker", false), None);
        assert_eq!(check("cli", "simulator", false), None);
    }

    #[test]
    fn only_the_clients_tests_may_reach_up_to_the_broker() {
        assert!(check("client", "broker", false).is_some());
        assert_eq!(check("client", "broker", true), None);
        assert!(check("quorum", "broker", true).is_some());
        assert!(check("client", "cli", true).is_some());
    }

    #[test]
    fn a_core_takes_only_named_crates_from_outside() {
        assert!(check("replica-core", "tokio", false).is_some());
        assert!(check("client-core", "quinn", true).is_some());
        assert!(check("log-core", "rand", false).is_some());
        assert_eq!(check("log-core", "proptest", true), None);
        assert!(check("log-core", "proptest", false).is_some());
        assert_eq!(check("client", "tokio", false), None);
    }

    #[test]
    fn a_crate_without_a_layer_is_refused() {
        assert!(check("log-extra", "bytes", false).unwrap().contains("in no layer"));
    }

    #[test]
    fn xtask_imports_none_of_the_crates_it_builds() {
        assert!(check("xtask", "log-core", false).is_some());
        assert_eq!(check("xtask", "clap", false), None);
    }
}
