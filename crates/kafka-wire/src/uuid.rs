//! The 128-bit ids of topics and directories as they travel.

use core::fmt;

/// A 128-bit id. Zero stands for "none".
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// Stands for "no id" on the wire.
    pub const NONE: Self = Self([0; 16]);

    /// Whether this is [`Uuid::NONE`].
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// 22 characters of URL-safe base64 without padding, as Kafka's tools print ids.
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from_be_bytes(self.0);
        // 21 sextets from the top, then the last two bits followed by four zero bits.
        let sextets = (0..21u32).map(|i| (bits >> (122 - 6 * i)) & 63);
        sextets.chain([(bits << 4) & 63]).try_for_each(|sextet| f.write_str(character(sextet)))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn character(sextet: u128) -> &'static str {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let at = sextet as usize;
    ALPHABET.get(at..=at).expect("a sextet is below 64")
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn an_id_prints_as_kafka_prints_it() {
        assert_eq!(Uuid::NONE.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(Uuid(1u128.to_be_bytes()).to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(Uuid([0xff; 16]).to_string(), "_____________________w");
    }
}
