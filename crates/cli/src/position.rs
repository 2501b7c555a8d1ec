//! Where a reader begins: `--from beginning|end|OFFSET|TIMESTAMP`.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::calendar;
use crate::nearest::nearest;
use crate::output::number;

/// A place in a log, as a person names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Position {
    /// The first record that is kept.
    Beginning,
    /// After the last record.
    #[default]
    End,
    /// A number in every partition.
    Offset(i64),
    /// The first record with this timestamp, in milliseconds since 1970, or a later one.
    Timestamp(i64),
    /// So long before now.
    Ago(Duration),
}

impl Position {
    /// With "so long ago" turned into a timestamp by the clock.
    pub(crate) fn resolved(self) -> Self {
        let Self::Ago(ago) = self else { return self };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = now.saturating_sub(ago).as_millis();
        Self::Timestamp(i64::try_from(millis).unwrap_or(i64::MAX))
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Beginning => f.write_str("the beginning"),
            Self::End => f.write_str("the end"),
            Self::Offset(offset) => write!(f, "offset {}", number::offset(*offset)),
            Self::Timestamp(millis) => f.write_str(&calendar::timestamp(*millis)),
            Self::Ago(ago) => write!(f, "{} ago", number::duration(*ago)),
        }
    }
}

/// What `--from` takes, as its help has it.
const WANTED: &str =
    "beginning, end, an offset, a time (2026-12-01T10:00:00Z, @MILLISECONDS) or how long ago (15m)";

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, ["beginning", "end"], WANTED)
    }
}

impl Position {
    /// Reads one; what is none is answered with the one of `words` that was probably meant, or with all that is wanted.
    pub(crate) fn parse(text: &str, words: [&str; 2], wanted: &str) -> Result<Self, String> {
        match text {
            "beginning" | "earliest" | "start" => return Ok(Self::Beginning),
            "end" | "latest" => return Ok(Self::End),
            _ => {}
        }
        if let Ok(offset) = text.parse::<u64>() {
            return i64::try_from(offset).map(Self::Offset).map_err(|_| "no offset is that large".to_owned());
        }
        if text.parse::<i64>().is_ok() {
            return Err("an offset is 0 or more; a duration such as 15m is so long ago".to_owned());
        }
        if let Some(millis) = text.strip_prefix('@') {
            let millis = millis.parse().map_err(|_| "after @ stand milliseconds since 1970".to_owned())?;
            return Ok(Self::Timestamp(millis));
        }
        if let Some(millis) = calendar::parse(text) {
            return Ok(Self::Timestamp(millis));
        }
        number::parse_duration(text).map(Self::Ago).map_err(|_| {
            nearest(text, words)
                .map_or_else(|| format!("{wanted} is wanted"), |word| format!("did you mean {word}?"))
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    fn check(text: &str, expected: Position) {
        assert_eq!(text.parse(), Ok(expected), "{text}");
    }

    #[test]
    fn every_form_is_read() {
        check("beginning", Position::Beginning);
        check("end", Position::End);
        check("42", Position::Offset(42));
        check("@1796122745123", Position::Timestamp(1_796_122_745_123));
        check("2026-12-01T10:59:05.123Z", Position::Timestamp(1_796_122_745_123));
        check("15m", Position::Ago(Duration::from_secs(900)));
    }

    #[test]
    fn what_is_wanted_is_what_the_help_says() {
        let mut root = Arguments::command();
        let consume = root.find_subcommand_mut("consume").unwrap();
        let from = consume.get_arguments().find(|argument| argument.get_id() == "from").unwrap();
        assert_eq!(from.get_help().unwrap().to_string(), format!("Where to begin: {WANTED}"));
    }

    #[test]
    fn a_typing_error_is_answered_with_the_word() {
        assert_eq!("begining".parse::<Position>(), Err("did you mean beginning?".to_owned()));
        assert_eq!("yesterday".parse::<Position>(), Err(format!("{WANTED} is wanted")));
        assert!("99999999999999999999".parse::<Position>().is_err());
    }
}
