//! Text parts of which may come from somebody else: the name of a topic, a group or a client, what a broker says. It is shown
//! with its control characters escaped, so that it cannot give orders to a terminal or look like lines of ours. This file alone
//! knows which those are.

use std::fmt::{self, Write};

use serde::Serialize;

/// Such a text. Printed it is escaped; JSON has it as it is, by its own rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub(crate) struct Escaped(String);

impl Escaped {
    pub(crate) fn of(text: impl ToString) -> Self {
        Self(text.to_string())
    }

    /// For the cluster, and not to be shown.
    pub(crate) fn as_sent(&self) -> &str {
        &self.0
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Escaped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(&self.0).fmt(f)
    }
}

/// A line as it may be shown whoever has written parts of it.
pub(crate) const fn escaped(line: &str) -> impl fmt::Display {
    EscapedLine(line)
}

struct EscapedLine<'a>(&'a str);

impl fmt::Display for EscapedLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match is_obeyed(character) {
            true => write!(f, "{}", character.escape_default()),
            false => f.write_char(character),
        })
    }
}

/// What a terminal does not show but obeys: C0 and C1 controls, ends of lines, and the controls of writing direction, which
/// show a text in another order (Unicode, `Bidi_Control`).
fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        assert_eq!(Escaped::of(text).to_string(), shown);
        assert_eq!(serde_json::to_string(&Escaped::of(text)).unwrap(), serde_json::to_string(text).unwrap());
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_shown_as_it_is() {
        check("\u{1b}[31mred", "\\u{1b}[31mred");
        check("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}");
        check("\u{9b}2J", "\\u{9b}2J");
        check("a\r\nb\tc\u{7f}", "a\\r\\nb\\tc\\u{7f}");
        check("abc\u{202e}fed\u{2028}", "abc\\u{202e}fed\\u{2028}");
        check("\u{0}", "\\u{0}");
    }

    #[test]
    fn every_other_letter_is_shown_as_it_is() {
        for text in ["billing-service.v2_", "Größe 日本語 👍", "C:\\new", ""] {
            check(text, text);
        }
    }
}
