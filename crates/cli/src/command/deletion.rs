//! Deleting several things by their names, whatever they are: one that cannot be deleted spares none of the others.

use std::collections::BTreeSet;
use std::io::Write;

use serde::Serialize;

use crate::failure::{Code, Failure, Outcome};
use crate::output::escaped::Escaped;
use crate::output::{self, Format, Paint, Report};

/// What is gone.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Deleted {
    deleted: Vec<Escaped>,
    /// The code of the first failure, if there was one.
    #[serde(skip)]
    failed: Option<Code>,
}

impl Report for Deleted {
    fn text(&self, _: Paint) -> String {
        let names: Vec<String> = self.deleted.iter().map(ToString::to_string).collect();
        match (names.as_slice(), self.failed) {
            ([], Some(_)) => String::new(),
            ([], None) => "nothing to delete\n".to_owned(),
            (names, _) => format!("deleted {}\n", names.join(", ")),
        }
    }
}

/// Deletes each of these once, and says on `beside` at once what fails. `delete` tells whether there was such a thing.
pub(super) async fn delete_each(
    names: &[String],
    format: Format,
    beside: &mut impl Write,
    delete: impl AsyncFn(&str) -> Outcome<bool>,
) -> Deleted {
    let (mut done, mut seen) = (Deleted::default(), BTreeSet::new());
    for name in names.iter().filter(|name| seen.insert(name.as_str())) {
        match delete(name).await {
            Ok(true) => done.deleted.push(Escaped::of(name)),
            Ok(false) => {}
            Err(failure) => {
                let _ = failure.report(beside, format);
                done.failed.get_or_insert(failure.code());
            }
        }
    }
    done
}

impl Deleted {
    /// Shows it, and ends with the code of the first failure.
    pub(super) fn end(&self, format: Format) -> Outcome {
        output::show(self, format)?;
        self.failed.map_or(Ok(()), |code| Err(Failure::quiet(code)))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    /// Deletes what begins with `d`; what begins with `f` fails, and nothing else is there.
    fn check(names: &[&str], text: &str, failed: Option<Code>, said: &str) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut beside = Vec::new();
        let delete = async |name: &str| match name.chars().next() {
            Some('d') => Ok(true),
            Some('f') => Err(Failure::new(Code::Failed, format!("{name} has members"))),
            _ => Ok(false),
        };
        let done = delete_each(&names, Format::Table, &mut beside, delete).now_or_never().unwrap();
        assert_eq!((done.text(Paint::OFF).as_str(), done.failed), (text, failed), "{names:?}");
        assert_eq!(String::from_utf8(beside).unwrap(), said, "{names:?}");
    }

    #[test]
    fn what_cannot_be_deleted_spares_none_of_the_others() {
        let failed = Some(Code::Failed);
        check(&["d1", "f1", "x", "d2"], "deleted d1, d2\n", failed, "error: f1 has members\n");
        check(&["f1", "f2"], "", failed, "error: f1 has members\nerror: f2 has members\n");
    }

    #[test]
    fn what_is_named_twice_is_deleted_once() {
        check(&["d1", "d1"], "deleted d1\n", None, "");
        check(&["f1", "f1"], "", Some(Code::Failed), "error: f1 has members\n");
    }

    #[test]
    fn nothing_that_is_there_is_nothing_to_delete() {
        check(&["x"], "nothing to delete\n", None, "");
    }
}
