//! What later steps need from the network, fetched by one thread while the first ones compile: downloads wait, compilers do not.

use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use anyhow::Result;

use crate::steps::Step;
use crate::{browser, compat, tools, wasm};

/// What is fetched: its name, and what fetches it unless it is there.
type Download = (&'static str, fn() -> Result<()>);

/// In the order in which steps want them.
const DOWNLOADS: [Download; 7] = [
    ("valgrind", || tools::program("valgrind", "valgrind")),
    ("strace", || tools::program("strace", "strace")),
    ("clients of Kafka", compat::fetch),
    ("a browser", browser::fetch),
    ("what makes the package", wasm::package::fetch),
    ("nightly compiler", tools::nightly),
    ("a C++ compiler", || tools::program("c++", "g++")),
];

static FETCHING: Mutex<Option<JoinHandle<Vec<String>>>> = Mutex::new(None);

/// Begins; [`awaited`] has to come before the first step that needs any of it.
pub(crate) fn begun() -> Step {
    Step::inside("downloads begin", || {
        let fetching = thread::Builder::new().name("downloads".to_owned()).spawn(|| all(&DOWNLOADS))?;
        if let Ok(mut place) = FETCHING.lock() {
            *place = Some(fetching);
        }
        Ok(())
    })
}

/// Waits until everything is there or could not be fetched. That is no failure yet: a step that needs it tries once more, and says
/// what it misses; some of it only some systems can have.
pub(crate) fn awaited() -> Step {
    Step::inside("downloads", || {
        let fetching = FETCHING.lock().ok().and_then(|mut place| place.take());
        let faults = fetching.and_then(|fetching| fetching.join().ok()).unwrap_or_default();
        for fault in faults {
            println!("{fault}");
        }
        Ok(())
    })
}

/// Fetches each, also after one that failed; says what failed.
fn all(downloads: &[Download]) -> Vec<String> {
    let failed = |&(name, fetch): &Download| fetch().err().map(|error| format!("{name}: {error:#}"));
    downloads.iter().filter_map(failed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_fetched_is_named_and_the_rest_is_fetched() {
        static LAST: Mutex<bool> = Mutex::new(false);
        let downloads: [Download; 2] = [
            ("moon", || anyhow::bail!("too far")),
            ("stone", || {
                *LAST.lock().unwrap() = true;
                Ok(())
            }),
        ];
        assert_eq!(all(&downloads), ["moon: too far"]);
        assert!(*LAST.lock().unwrap());
    }
}
