//! The name that somebody probably meant.

/// The candidate nearest to `word`, if one is near enough that a typing error explains the difference.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters must be added, dropped, replaced or swapped with their neighbour to make `b` of `a`
/// (optimal string alignment; capital letters count as small ones).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = at(&last, j) + usize::from(x != y);
            let mut best = replaced.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before_last, j - 1) + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    at(&last, b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_typing_errors() {
        for (a, b, expected) in [
            ("", "abc", 3),
            ("orders", "orders", 0),
            ("ordes", "orders", 1),
            ("odrers", "orders", 1),
            ("x", "y", 1),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn only_a_near_name_is_offered() {
        let topics = ["orders", "refunds", "payments"];
        assert_eq!(nearest("ordes", topics), Some("orders"));
        assert_eq!(nearest("Refund", topics), Some("refunds"));
        assert_eq!(nearest("shipments", topics), None);
        assert_eq!(nearest("", topics), None);
    }
}
