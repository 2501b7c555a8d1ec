//! The command line as a whole, and the options that several commands share.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser};

use crate::command::Command;
use crate::failure::{CODES, Code, Failure, Outcome};
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
        Self::parse(text, "KEY=VALUE is wanted, such as retention.ms=86400000")
    }
}

impl Setting {
    /// Reads a header of records, which looks the same.
    pub(crate) fn header(text: &str) -> Result<Self, String> {
        Self::parse(text, "NAME=VALUE is wanted, such as source=import")
    }

    fn parse(text: &str, wanted: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or(wanted)?;
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() {
            return Err(format!("there is nothing before the =: {wanted}"));
        }
        Ok(Self { key: key.to_owned(), value: value.to_owned() })
    }
}

/// Refuses settings of which one is given twice: which one is meant is not to be guessed.
pub(crate) fn each_once<'a>(keys: impl Iterator<Item = &'a str>) -> Outcome {
    let mut seen = BTreeSet::new();
    for key in keys {
        if !seen.insert(key) {
            return Err(Failure::new(Code::Usage, format!("{key} is given twice")).or("each setting once"));
        }
    }
    Ok(())
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
        let refused = "=5".parse::<Setting>().unwrap_err();
        assert!(refused.starts_with("there is nothing before the =: KEY=VALUE"), "{refused}");
        assert_eq!(Setting::header("foo").unwrap_err(), "NAME=VALUE is wanted, such as source=import");
    }

    #[test]
    fn a_setting_that_is_given_twice_is_refused() {
        assert_eq!(each_once(["a", "b"].into_iter()), Ok(()));
        let refused = each_once(["a", "b", "a"].into_iter()).unwrap_err();
        assert_eq!(
            (refused.code(), refused.to_string().as_str()),
            (Code::Usage, "error: a is given twice\n  each setting once")
        );
    }

    /// What clap says of a command line.
    fn refused(line: &str) -> String {
        Arguments::try_parse_from(line.split(' ')).map(|_| ()).expect_err(line).to_string()
    }

    #[test]
    fn a_number_that_begins_with_a_minus_is_a_wrong_value_and_no_unknown_option() {
        for line in [
            "highwater topic create t --partitions -1",
            "highwater topic create t --replication-factor -1",
            "highwater topic alter t --partitions -1",
            "highwater topic elect t --partition -1",
            "highwater topic elect t --unclean --leader -1",
            "highwater produce t --partition -1",
            "highwater produce t --batch-bytes -1",
            "highwater consume t --partition -1",
            "highwater consume t --count -1",
            "highwater consume t --from -5",
            "highwater bench produce t --records -1",
            "highwater bench produce t --record-bytes -1",
            "highwater bench produce t --rate -1",
            "highwater bench produce t --producers -1",
            "highwater bench produce t --batch-bytes -1",
            "highwater bench consume t --records -1",
            "highwater bench latency t --records -1",
            "highwater bench latency t --record-bytes -1",
            "highwater bench latency t --partition -1",
            "highwater cluster forget -1",
            "highwater cluster init --data-dir d --node-id -1",
            "highwater cluster init --data-dir d --tokens -1",
        ] {
            let text = refused(line);
            assert!(text.contains("invalid value"), "{line}: {text}");
        }
        assert!(refused("highwater consume t --from -5").contains("an offset is 0 or more"));
        assert!(refused("highwater topic create t --replication-factor 40000").contains("1..=32767"));
    }
}
