//! Links in documents: a relative one leads to a file that is there.

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
    fn code_blocks_hold_no_links() {
        assert_eq!(check("```\n[a](gone.md)\n```\n"), 0);
    }
}
