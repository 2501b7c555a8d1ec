//! The command line as a whole, and the options that several commands share.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser};

use crate::command::Command;
use crate::failure::CODES;
use crate::output::{Format, number};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// A replicated commit log that speaks Kafka
#[derive(Debug, Parser)]
#[command(name = "highwater", version, styles = STYLES, after_help = CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    /// How results are written
    #[arg(long, value_enum, global = true, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Format,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which cluster a command talks to.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Connection {
    /// Addresses of brokers, comma-separated; each may begin with tcp://, tls:// or quic://
    #[arg(
        short,
        long,
        env = "HIGHWATER_BOOTSTRAP",
        default_value = "localhost:9092",
        value_name = "ADDRESSES"
    )]
    pub(crate) bootstrap: String,

    /// Certificate authority that tls:// and quic:// brokers must have their certificate from (PEM)
    #[arg(long, env = "HIGHWATER_CA", hide_env_values = true, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// How long the command may wait for brokers, from its start to its end
    #[arg(long, default_value = "30s", value_parser = number::parse_timeout, value_name = "DURATION")]
    pub(crate) timeout: Duration,
}

/// What `--timeout` is for commands that go on as long as there are records.
pub(crate) fn timeout_of_records(until: &'static str) -> impl Fn(clap::Arg) -> clap::Arg {
    move |timeout| timeout.help(format!("How long brokers may take until {until}"))
}

/// A setting of a topic, as `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl std::str::FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) =
            text.split_once('=').ok_or("KEY=VALUE is wanted, such as retention.ms=86400000")?;
        Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_contradict_nothing() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_of_every_command() {
        let mut root = Arguments::command().term_width(100);
        root.build();
        let mut text = String::new();
        write_help(&mut root, &mut text);
        insta::assert_snapshot!(text);
    }

    fn write_help(command: &mut clap::Command, text: &mut String) {
        let name = command.get_bin_name().unwrap_or("highwater").to_owned();
        if command.get_name() != "help" {
            text.push_str(&format!("## {name}\n\n{}\n", command.render_help()));
            command.get_subcommands_mut().for_each(|inner| write_help(inner, text));
        }
    }

    #[test]
    fn a_setting_is_a_key_and_a_value() {
        let setting: Setting = "retention.ms = 5=6".parse().unwrap();
        assert_eq!((setting.key.as_str(), setting.value.as_str()), ("retention.ms", "5=6"));
        assert!("retention.ms".parse::<Setting>().is_err());
    }
}
