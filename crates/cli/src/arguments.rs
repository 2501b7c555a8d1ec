//! The command line as a whole, and the options that several commands share.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::error::ErrorKind;
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

impl Arguments {
    /// Reads the command line of the process. What people get to read of a wrong one, or of the help, clap says by itself, and
    /// ends the process.
    pub(crate) fn read() -> Result<Self, (Failure, Format)> {
        Self::try_parse().map_err(|error| {
            if !error.use_stderr() || format_wanted(std::env::args_os()) == Format::Table {
                error.exit();
            }
            (wrong(&error), Format::Json)
        })
    }
}

/// What a command line that cannot be read says of `--output`.
fn format_wanted(arguments: impl Iterator<Item = OsString>) -> Format {
    let words: Vec<OsString> = arguments.collect();
    let mut pairs = words.iter().zip(words.iter().skip(1));
    let is_json = words.iter().any(|word| word == "--output=json")
        || pairs.any(|(option, value)| option == "--output" && value == "json");
    if is_json { Format::Json } else { Format::Table }
}

/// What clap says of a wrong command line: its first paragraph is what is wrong, then comes what to do.
fn wrong(error: &clap::Error) -> Failure {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::new(Code::Usage, "the command is not complete").or("--help shows what can follow");
    }
    let text = error.to_string();
    let mut paragraphs = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let what = paragraphs.next().unwrap_or_default();
    let next: Vec<String> = paragraphs.collect();
    Failure::new(Code::Usage, what.trim_start_matches("error: ")).or(next.join("; "))
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

/// The name of a group: no broker takes an empty one.
pub(crate) fn group_name(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Err("a group's name has at least one letter".to_owned())
    } else {
        Ok(text.to_owned())
    }
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
    fn what_is_wrong_with_a_command_line_is_told_to_programs_too() {
        let told = |line: &str| {
            let error = Arguments::try_parse_from(line.split(' ')).map(|_| ()).expect_err(line);
            wrong(&error).to_string()
        };
        let text = told("highwater topic create t --partitions x");
        let (what, next) = text.split_once("\n  ").unwrap();
        assert!(what.starts_with("error: invalid value 'x' for '--partitions <N>': "), "{what}");
        assert_eq!(next, "For more information, try '--help'.");
        let text = told("highwater group delete");
        assert!(
            text.starts_with("error: the following required arguments were not provided: <GROUP>...\n"),
            "{text}"
        );
        assert!(text.contains("; For more information") && text.lines().count() == 2, "{text}");
        assert!(told("highwater group").starts_with("error: the command is not complete\n"));
    }

    #[test]
    fn the_format_is_known_where_the_rest_is_not() {
        let wanted = |line: &str| format_wanted(line.split(' ').map(OsString::from));
        assert_eq!(wanted("highwater topic --output json noise"), Format::Json);
        assert_eq!(wanted("highwater --output=json topic noise"), Format::Json);
        assert_eq!(wanted("highwater topic noise --output table"), Format::Table);
        assert_eq!(wanted("highwater topic noise"), Format::Table);
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
            "highwater log dump d --from -1",
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

    #[test]
    fn a_group_without_a_name_is_refused_by_every_command() {
        for line in [
            "highwater consume t --group ",
            "highwater group describe ",
            "highwater group reset  --topic t --to 1",
            "highwater group forget  --topic t",
            "highwater group delete g ",
        ] {
            let text = refused(line);
            assert!(text.contains("a group's name has at least one letter"), "{line}: {text}");
        }
    }
}
