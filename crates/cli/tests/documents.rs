//! The generated pages under `docs/` say what the code says. `cargo xtask fix` writes them anew.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs;
use std::path::Path;

/// Set by `cargo xtask fix`.
const WRITE: &str = "HIGHWATER_WRITE_DOCS";

fn check(page: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/{page} is not as the code says; run `cargo xtask fix`");
}

#[test]
fn the_configuration_page_is_current() {
    check("configuration.md", &highwater_broker::config::reference());
}
