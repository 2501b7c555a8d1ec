//! Links in documents: a relative one leads to a file that is there. And names of tests: they are the names of tests.

use super::Fault;

/// The relative links of a Markdown text whose target `exists` does not know.
pub(super) fn dead_links(text: &str, exists: impl Fn(&str) -> bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut in_block = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        for target in targets(line).filter(|target| !exists(target)) {
            faults.push(Fault::failure(number, format!("links to {target}, which is not there")));
        }
    }
    faults
}

/// The page whose code spans name tests.
pub(super) const TEST_PAGE: &str = "docs/bad-input.md";

/// A code span of this many words or more, in snake case, is the name of a test.
const WORDS_OF_A_TEST: usize = 4;

/// The names of tests in a Markdown text that `exists` does not know.
pub(super) fn missing_tests(text: &str, exists: impl Fn(&str) -> bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let spans = line.split('`').skip(1).step_by(2);
        let snake =
            |span: &&str| span.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        let tests = spans.filter(snake).filter(|span| span.split('_').count() >= WORDS_OF_A_TEST);
        for test in tests.filter(|test| !exists(test)) {
            faults.push(Fault::failure(number, format!("names the test {test}, which is not there")));
        }
    }
    faults
}

fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split_once(')')?.0;
        let path = target.split_once('#').map_or(target, |(path, _)| path);
        (!path.is_empty() && !path.contains("://") && !path.starts_with("mailto:")).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> usize {
        dead_links(text, |target| target == "there.md").len()
    }

    #[test]
    fn a_relative_link_leads_somewhere() {
        assert_eq!(check("[a](there.md) and [b](there.md#part)"), 0);
        assert_eq!(check("[a](gone.md)"), 1);
    }

    #[test]
    fn other_links_are_left_alone() {
        assert_eq!(check("[a](https://example.org/x) [b](#part) [c](mailto:a@example.org)"), 0);
    }

    #[test]
    fn a_test_that_is_named_is_there() {
        let check = |text: &str| missing_tests(text, |name| name == "a_frame_is_read").len();
        assert_eq!(check("| `a_frame_is_read`, `a_frame_is_lost` | `log_files` and `1 + a_b_c_d` |"), 1);
        assert_eq!(check("| `a_frame_is_read` |"), 0);
    }

    #[test]
    fn code_blocks_hold_no_links() {
        assert_eq!(check("```\n[a](gone.md)\n```\n"), 0);
    }
}
