//! A Rust file as the rules see it: its text, and the same text with comments and literals blanked out, so that a
//! rule about code does not stumble over prose.

use std::path::{Path, PathBuf};

/// A Rust source file.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// `text` with every character of a comment or literal replaced by a space; lines stay where they are.
    pub(super) code: String,
}

impl Source {
    pub(super) fn new(path: &Path, text: &str) -> Self {
        Self { path: path.to_path_buf(), text: text.to_owned(), code: blanked(text) }
    }

    /// Written by a program: one message a file, as long as it has to be.
    pub(super) fn is_generated(&self) -> bool {
        self.path.components().any(|part| part.as_os_str() == "generated")
            || self.text.lines().next().is_some_and(|line| line.contains("@generated"))
    }

    /// The folder under `crates/`, if the file is in one.
    pub(super) fn krate(&self) -> Option<&str> {
        let mut parts = self.path.iter();
        (parts.next()? == "crates").then(|| parts.next()?.to_str())?
    }

    /// The first line of code that belongs to tests: tests stand last in a file, or have one of their own.
    pub(super) fn first_test_line(&self) -> usize {
        let whole = self.path.iter().any(|part| part == "tests" || part == "tests.rs");
        if whole {
            return 1;
        }
        let marked = self.code.lines().position(|line| line.trim_start().starts_with("#[cfg(test)]"));
        marked.map_or(usize::MAX, |index| index + 1)
    }

    /// The lines of code with their numbers, from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.lines())
    }
}

/// Whether `line` holds `word` as a whole identifier.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(is_identifier) && !after.is_some_and(is_identifier)
    })
}

fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn blanked(text: &str) -> String {
    let mut rest = text;
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let length = literal_or_comment(rest, before).unwrap_or(0);
        if length == 0 {
            out.push(first);
            before = first;
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (token, tail) = rest.split_at(length);
        out.extend(token.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        before = ' ';
        rest = tail;
    }
    out
}

/// The length in bytes of the comment or literal that `text` starts with.
fn literal_or_comment(text: &str, before: char) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment(text));
    }
    if text.starts_with('"') {
        return Some(1 + quoted(text.get(1..)?, '"'));
    }
    if text.starts_with('\'') {
        return character(text);
    }
    if is_identifier(before) {
        return None;
    }
    let hashes = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let count = hashes.bytes().take_while(|byte| *byte == b'#').count();
    let body = hashes.get(count..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(count));
    let start = text.len() - body.len();
    Some(body.find(&end).map_or(text.len(), |at| start + at + end.len()))
}

/// Comments nest in Rust.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, _) in text.char_indices() {
        let here = text.get(at..).unwrap_or_default();
        let inside_last = at > 0 && text.get(at - 1..).is_some_and(|last| last.starts_with("/*"));
        if here.starts_with("/*") {
            depth += 1;
        } else if here.starts_with("*/") && !inside_last {
            depth -= 1;
            if depth == 0 {
                return at + 2;
            }
        }
    }
    text.len()
}

/// The length up to and with the closing quote.
fn quoted(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + 1;
        }
    }
    body.len()
}

/// A character literal and not a lifetime: a quote follows one character or an escape.
fn character(text: &str) -> Option<usize> {
    let body = text.get(1..)?;
    if body.starts_with('\\') {
        return Some(1 + quoted(body, '\''));
    }
    let width = body.chars().next()?.len_utf8();
    body.get(width..)?.starts_with('\'').then_some(width + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &str) {
        assert_eq!(blanked(text), code, "{text}");
    }

    #[test]
    fn comments_are_blanked() {
        check("a // b\nc", "a     \nc");
        check("a /* b /* c */ d\n */ e", "a               \n    e");
        check("/*/ a */b", "        b");
    }

    #[test]
    fn literals_are_blanked() {
        check(r#"f("a\"b", 'c', '\'') + d"#, "f(      ,    ,     ) + d");
        check("r#\"a \" b\"# + c", "           + c");
        check("br\"a\\\" + c", "       + c");
    }

    #[test]
    fn lifetimes_and_names_that_end_in_r_are_code() {
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
        check("for x in r { bar }", "for x in r { bar }");
    }

    #[test]
    fn a_word_is_a_whole_identifier() {
        assert!(has_word("use std::sync::Mutex;", "Mutex"));
        assert!(!has_word("struct MutexFree;", "Mutex"));
        assert!(!has_word("a_Mutex", "Mutex"));
    }

    #[test]
    fn tests_begin_at_their_mark_or_are_the_whole_file() {
        let inside = Source::new(Path::new("crates/disk/src/a.rs"), "//! a\n\n#[cfg(test)]\nmod tests {}\n");
        assert_eq!(inside.first_test_line(), 3);
        assert_eq!(inside.krate(), Some("disk"));
        assert_eq!(Source::new(Path::new("crates/disk/tests/a.rs"), "//! a\n").first_test_line(), 1);
        assert_eq!(Source::new(Path::new("xtask/src/a.rs"), "//! a\n").first_test_line(), usize::MAX);
    }
}
