//! Which names a topic may bear. A name never becomes a path: directories are named by topic id.

/// The greatest length of a topic name in bytes.
pub const NAME_LEN_MAX: usize = 249;

/// Why a name cannot be a topic's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// No characters.
    #[error("it is empty")]
    Empty,
    /// `.` or `..`.
    #[error("it is \".\" or \"..\"")]
    Dots,
    /// Longer than [`NAME_LEN_MAX`].
    #[error("it is {len} characters long, at most {NAME_LEN_MAX} are allowed")]
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// A character other than ASCII letters, digits, `.`, `_` and `-`.
    #[error("character {character:?} is not a letter, a digit, \".\", \"_\" or \"-\"")]
    Character {
        /// The first such character.
        character: char,
    },
}

/// Checks a topic name.
///
/// # Errors
///
/// If it is empty, `.`, `..`, too long, or has a character that is not allowed.
pub fn check(name: &str) -> Result<(), InvalidName> {
    if name.is_empty() {
        return Err(InvalidName::Empty);
    }
    if name == "." || name == ".." {
        return Err(InvalidName::Dots);
    }
    if name.len() > NAME_LEN_MAX {
        return Err(InvalidName::TooLong { len: name.len() });
    }
    match name.chars().find(|character| !is_allowed(*character)) {
        Some(character) => Err(InvalidName::Character { character }),
        None => Ok(()),
    }
}

/// Topics that brokers make for themselves, or will: Kafka's, by their names there. Other names that begin so are their users'.
const INTERNAL: [&str; 4] =
    ["__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"];

/// Whether the topic is the cluster's own: clients may read it, and neither make it, nor produce to it, nor delete it.
#[must_use]
pub fn is_internal(name: &str) -> bool {
    INTERNAL.contains(&name)
}

const fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_letters_digits_dots_dashes_and_underscores_are_allowed() {
        for name in ["a", "orders", "a.b-c_D.9", "...", "__consumer_offsets", &"x".repeat(249)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn only_the_topics_of_brokers_are_internal() {
        assert!(is_internal("__consumer_offsets"));
        for name in ["__debezium-heartbeat.a", "_schemas", "__", "consumer_offsets"] {
            assert!(!is_internal(name), "{name}");
        }
    }

    #[test]
    fn paths_and_other_names_are_refused_with_the_reason() {
        assert_eq!(check(""), Err(InvalidName::Empty));
        assert_eq!(check("."), Err(InvalidName::Dots));
        assert_eq!(check(".."), Err(InvalidName::Dots));
        assert_eq!(check("../etc/passwd"), Err(InvalidName::Character { character: '/' }));
        assert_eq!(check("a b"), Err(InvalidName::Character { character: ' ' }));
        assert_eq!(check("a\0"), Err(InvalidName::Character { character: '\0' }));
        assert_eq!(check("größe"), Err(InvalidName::Character { character: 'ö' }));
        assert_eq!(check(&"x".repeat(250)), Err(InvalidName::TooLong { len: 250 }));
    }
}
