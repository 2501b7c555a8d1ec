//! Embeds the tree of files that `HIGHWATER_WEB_DIR` names: the browser package and its examples, which the HTTP port serves.
//! Without that variable nothing is embedded and everything else works.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "HIGHWATER_WEB_DIR";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let mut found = Vec::new();
    if let Some(root) = env::var_os(VARIABLE).filter(|root| !root.is_empty()) {
        let root = PathBuf::from(root);
        collect(&root, &root, &mut found);
        found.sort();
    }
    let mut list = String::from("static FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in found {
        writeln!(list, "    ({name:?}, include_bytes!({path:?})),").expect("a text takes everything");
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names the directory"));
    fs::write(out.join("web_files.rs"), list).expect("the build directory can be written");
}

/// Every file below `folder`, named as it lies below `root`.
fn collect(root: &Path, folder: &Path, found: &mut Vec<(String, PathBuf)>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).unwrap_or_else(|error| {
        panic!("{VARIABLE} names {}, which cannot be read: {error}", folder.display())
    });
    for entry in entries {
        let path = entry.expect("a folder that opens can be listed").path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            println!("cargo::rerun-if-changed={}", path.display());
            let name = path.strip_prefix(root).expect("it was found below").to_string_lossy().into_owned();
            found.push((name, path.canonicalize().expect("it was found just now")));
        }
    }
}
