//! What a command that cannot go on says: what failed and why in one line, the next step in another, and a code for
//! programs. Nothing of it is ever a back trace. Programs that ask for JSON get the same as one object in one line.

use std::fmt;
use std::io;
use std::process::ExitCode;

use highwater_client::ClientError;
use serde::Serialize;

use crate::output::escaped::escaped;
use crate::output::{Format, json_line};

/// Why the program ends with another code than 0. The codes are part of the interface: scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// 1: refused or failed, for a reason that none of the others names.
    Failed,
    /// 2: the command line is wrong; nothing was tried.
    Usage,
    /// 3: a topic, a partition, a group, a node, a file or a data directory does not exist.
    NotFound,
    /// 4: no broker could be reached, or too few answered in time.
    Unreachable,
    /// 5: stored bytes are damaged.
    Damaged,
    /// 6: it is unknown whether the last records were stored.
    Unknown,
    /// 130: ended by Ctrl-C, after what was under way was finished.
    Interrupted,
}

/// The codes as `highwater help` shows them.
pub(crate) const CODES: &str = "Exit codes:
  0    done
  1    refused or failed
  2    the command line is wrong; nothing was tried
  3    a topic, a partition, a group, a node, a file or a data directory does not exist
  4    no broker could be reached, or too few answered in time
  5    stored bytes are damaged
  6    it is unknown whether the last records were stored
  130  ended by Ctrl-C, after what was under way was finished";

impl Code {
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Unreachable => 4,
            Self::Damaged => 5,
            Self::Unknown => 6,
            Self::Interrupted => 130,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
    }
}

/// The end of a command that did not do what it was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    code: Code,
    what: Option<String>,
    next: Option<String>,
    /// What the client has said, for programs.
    cause: Option<Box<ClientError>>,
}

/// A failure for programs.
#[derive(Debug, Serialize)]
struct Told<'a> {
    /// What failed and why.
    error: &'a str,
    /// What to do; null if nobody knows.
    next: Option<&'a str>,
    exit_code: u8,
    /// The client's name for it, the same in Rust and JavaScript; null if it does not come from the client.
    code: Option<&'static str>,
    /// What it is about; null where it is about nothing such.
    topic: Option<&'a str>,
    partition: Option<u32>,
    offset: Option<i64>,
}

/// What every command returns.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Something failed: `what` names the thing and the cause, in lower case and without a full stop.
    pub(crate) fn new(code: Code, what: impl Into<String>) -> Self {
        Self { code, what: Some(what.into()), next: None, cause: None }
    }

    /// The same with the next step.
    pub(crate) fn or(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }

    /// The same with the error of the client that it comes from.
    pub(crate) fn by(self, cause: &ClientError) -> Self {
        Self { cause: Some(Box::new(cause.clone())), ..self }
    }

    /// The end without a word: everything was said already, or the reader has gone.
    pub(crate) const fn quiet(code: Code) -> Self {
        Self { code, what: None, next: None, cause: None }
    }

    /// A file that could not be read or written.
    pub(crate) fn file(path: &std::path::Path, error: &io::Error) -> Self {
        let code = if error.kind() == io::ErrorKind::NotFound { Code::NotFound } else { Code::Failed };
        Self::new(code, format!("{}: {}", path.display(), plain(error)))
    }

    /// The code to end with.
    pub(crate) const fn code(&self) -> Code {
        self.code
    }

    /// Says it on `to`, unless there is nothing to say, and gives the code to end with.
    pub(crate) fn report(&self, to: &mut impl io::Write, format: Format) -> ExitCode {
        if let Some(what) = &self.what {
            let text = match format {
                Format::Table => format!("{self}\n"),
                Format::Json => json_line(&self.told(what)),
            };
            // If nobody reads it any more, nobody misses it.
            let _ = to.write_all(text.as_bytes());
        }
        self.code.into()
    }

    fn told<'a>(&'a self, what: &'a str) -> Told<'a> {
        let cause = self.cause.as_deref();
        Told {
            error: what,
            next: self.next.as_deref(),
            exit_code: self.code.number(),
            code: cause.map(ClientError::code),
            topic: cause.and_then(ClientError::topic),
            partition: cause.and_then(ClientError::partition),
            offset: cause.and_then(ClientError::offset),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", escaped(self.what.as_deref().unwrap_or("ended")))?;
        self.next.as_ref().map_or(Ok(()), |next| write!(f, "\n  {}", escaped(next)))
    }
}

/// Output that cannot be written ends the command: quietly if its reader has gone, as `head` does.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::quiet(Code::Failed);
        }
        Self::new(Code::Failed, format!("the output cannot be written: {}", plain(&error)))
    }
}

/// The system's own words without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use highwater_client::{ErrorCode, Place};

    use super::*;

    #[test]
    fn a_failure_is_two_lines() {
        let failure = Failure::new(Code::NotFound, "topic ordes does not exist").or("there is orders");
        assert_eq!(failure.to_string(), "error: topic ordes does not exist\n  there is orders");
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error_to_talk_about() {
        let mut said = Vec::new();
        for format in [Format::Table, Format::Json] {
            let _ = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).report(&mut said, format);
        }
        assert!(said.is_empty());
    }

    #[test]
    fn a_failure_for_programs_is_one_object_in_one_line() {
        let told = |failure: Failure| {
            let mut said = Vec::new();
            let _ = failure.report(&mut said, Format::Json);
            String::from_utf8(said).unwrap()
        };
        assert_eq!(
            told(Failure::new(Code::NotFound, "topic a\nb does not exist").or("there is orders")),
            "{\"error\":\"topic a\\nb does not exist\",\"next\":\"there is orders\",\"exit_code\":3,\"code\":null,\
             \"topic\":null,\"partition\":null,\"offset\":null}\n"
        );
        let place = Place::offset(&"orders".into(), 3, 42);
        let error = ClientError::broker(ErrorCode::OffsetOutOfRange, None, place);
        assert_eq!(
            told(Failure::new(Code::Failed, "gone").by(&error)),
            "{\"error\":\"gone\",\"next\":null,\"exit_code\":1,\"code\":\"OFFSET_OUT_OF_RANGE\",\"topic\":\"orders\",\
             \"partition\":3,\"offset\":42}\n"
        );
    }

    #[test]
    fn what_somebody_else_has_written_orders_nothing() {
        let failure = Failure::new(Code::Failed, "group \u{1b}[2J does not exist").or("there is a\nb");
        assert_eq!(failure.to_string(), "error: group \\u{1b}[2J does not exist\n  there is a\\nb");
    }

    #[test]
    fn a_missing_file_is_named_with_the_systems_reason() {
        let path = Path::new("no/such/file");
        let failure = Failure::file(path, &std::fs::read(path).unwrap_err());
        assert_eq!(failure.to_string(), "error: no/such/file: no such file or directory");
        assert_eq!(failure.code, Code::NotFound);
    }

    #[test]
    fn the_help_names_every_code() {
        use Code::{Damaged, Failed, Interrupted, NotFound, Unknown, Unreachable, Usage};
        for code in [Failed, Usage, NotFound, Unreachable, Damaged, Unknown, Interrupted] {
            assert!(CODES.contains(&format!("\n  {:<5}", code.number())), "{code:?}");
        }
    }
}
