//! The question before something that cannot be taken back.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::failure::{Code, Failure, Outcome};
use crate::output::Format;

/// Shows what is risked and asks whether to go on: on a terminal with a question, elsewhere by `--yes`, which answers it
/// beforehand. A program that nobody can be asked for is not told of the risk: what becomes of it is in the report.
pub(crate) fn confirm(risk: &str, yes: bool, format: Format) -> Outcome {
    // What is said goes beside the output, which may be read by a program.
    let mut beside = io::stderr().lock();
    let can_ask = io::stdin().is_terminal() && !yes;
    if can_ask || format == Format::Table {
        write!(beside, "{risk}")?;
    }
    if yes {
        return Ok(());
    }
    if !can_ask {
        return Err(Failure::new(Code::Failed, "nothing was changed: this has to be confirmed")
            .or("--yes confirms it where nobody can be asked"));
    }
    write!(beside, "Go on? Type yes: ")?;
    beside.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if answer.trim() == "yes" {
        return Ok(());
    }
    Err(Failure::new(Code::Failed, "nothing was changed"))
}
