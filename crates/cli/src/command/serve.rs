//! `highwater serve`: a broker in this process. Its flags are the broker's table of settings.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use disk::LockError;
use highwater_broker::config::{Config, ConfigError, LogFormat, SETTINGS};
use highwater_broker::{BootError, Broker};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::failure::{Code, Failure, Outcome};

/// The options of `serve`.
#[derive(Debug)]
pub(crate) struct Serve {
    file: Option<PathBuf>,
    /// What was given on the command line, by setting.
    flags: BTreeMap<&'static str, String>,
}

const AFTER: &str = "Exit codes of a broker, beside the common ones:
  70   a write or sync of the data directory failed: what is in it is checked at the next start
  71   another broker has registered with this node id
  72   this broker was removed from the cluster
  73   the data directory belongs to another cluster or node, or to a newer version
  74   the metadata cannot be read by this version";

const ABOUT: &str = "Run a broker";
const LONG_ABOUT: &str = "Run a broker

An empty data directory forms a cluster of one node, which others join with --join and --token. Every setting can also
stand in a TOML file (--config) or in the environment; a flag wins over the environment, the environment over the file.";

impl Args for Serve {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .env("HIGHWATER_CONFIG")
            .hide_env_values(true)
            .value_parser(clap::value_parser!(PathBuf))
            .help("A TOML file with settings");
        let flags = SETTINGS.iter().map(|setting| {
            let default = match setting.default {
                "" => String::new(),
                default => format!(" [default: {default}]"),
            };
            let about = setting.about.trim_end_matches('.');
            Arg::new(setting.name)
                .long(setting.name)
                .value_name(setting.value)
                .allow_negative_numbers(true)
                .help(format!("{about}{default}"))
                .long_help(format!("{about}{default}\n{}", setting.why))
        });
        command.about(ABOUT).long_about(LONG_ABOUT).after_help(AFTER).arg(file).args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Serve {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &'static str| matches.get_one::<String>(name).map(|value| (name, value.clone()));
        Ok(Self {
            file: matches.get_one::<PathBuf>("config").cloned(),
            flags: SETTINGS.iter().filter_map(|setting| given(setting.name)).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Serve {
    /// Runs the broker until it is asked to stop, and ends with its code.
    pub(crate) fn run(&self) -> Outcome<ExitCode> {
        let config = self.config()?;
        start_logging(&config)?;
        raise_file_limit();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| Failure::new(Code::Failed, format!("signals cannot be taken: {error}")))?;
        let broker = Broker::start(config).map_err(|error| unstarted(&error))?;
        runtime.block_on(stop_when_asked(&broker));
        Ok(ExitCode::from(broker.wait().number()))
    }

    /// The settings from all sources.
    fn config(&self) -> Outcome<Config> {
        let environment = |variable: &str| std::env::var(variable).ok();
        let flags = |name: &str| self.flags.get(name).cloned();
        Config::load(self.file.as_deref(), environment, flags).map_err(|error| refused(&error))
    }
}

/// Each connection and each open segment takes a file: as many as the system allows, whatever the shell begins with.
fn raise_file_limit() {
    let files = getrlimit(Resource::Nofile);
    // Where that is refused the limit stays as it was, and connections beyond it are refused one by one.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
}

/// Log lines go to the error output.
fn start_logging(config: &Config) -> Outcome {
    let filter = filter(&config.log)
        .map_err(|error| Failure::new(Code::Usage, format!("--log {}: {error}", config.log)))?;
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(colours);
    match config.log_format {
        LogFormat::Text => lines.with_target(false).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}

/// The consensus library tells of every missed heartbeat; what matters of that is logged by the quorum itself. A word alone is a
/// level: one that is mistyped would be taken for a module, and nothing else be logged.
fn filter(wanted: &str) -> Result<EnvFilter, String> {
    let words = wanted.split(',').filter(|word| !word.contains(['=', ':', '[']));
    if let Some(word) = words.map(str::trim).find(|word| word.parse::<LevelFilter>().is_err()) {
        return Err(format!(
            "{word} is none of error, warn, info, debug, trace and off; one module's is MODULE=LEVEL"
        ));
    }
    let whole =
        if wanted.contains("openraft") { wanted.to_owned() } else { format!("openraft=off,{wanted}") };
    EnvFilter::try_new(whole).map_err(|error| error.to_string())
}

/// Waits for the broker's end and asks for it at the first signal. Logs are closed then; whoever cannot wait for that
/// can kill the process, and nothing that was acknowledged is lost.
async fn stop_when_asked(broker: &Broker) {
    let mut standing = broker.standing();
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    loop {
        tokio::select! {
            _ = standing.wait_for(|standing| standing.ended.is_some()) => return,
            _ = terminate.recv() => broker.stop(),
            _ = interrupt.recv() => broker.stop(),
        }
    }
}

fn unstarted(error: &BootError) -> Failure {
    let failure = Failure::new(Code::Failed, error.to_string());
    match error {
        BootError::Lock(LockError::HeldBy { .. }) => {
            failure.or("stop that process, or name another --data-dir")
        }
        BootError::Lock(LockError::Unusable { .. }) => {
            failure.or("--data-dir names a directory that can be written")
        }
        BootError::Listen { .. } | BootError::Bind(_) => {
            failure.or("--listen, --replica-listen and --http-listen choose other addresses")
        }
        BootError::Join { .. } => {
            failure.or(
                "--join names the replica door of a node (UDP, 9093 unless --replica-listen says otherwise); highwater cluster \
                 token makes a token there",
            )
        }
        _ => failure,
    }
}

fn refused(error: &ConfigError) -> Failure {
    let failure = Failure::new(Code::Usage, error.to_string());
    match error {
        ConfigError::Unknown { .. } => failure.or("highwater serve --help lists all settings"),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused_and_a_module_needs_one() {
        for right in ["info", "warn,quinn=off", "highwater_broker=debug,error", "off", "openraft=info,info"] {
            assert!(filter(right).is_ok(), "{right}");
        }
        for wrong in ["noise", "inof", "info,highwater_broker", "quinn=loud"] {
            assert!(filter(wrong).is_err(), "{wrong}");
        }
    }
}
