//! A record as one line of JSON. Bytes that are no UTF-8 stand in fields of their own, so that a program never has to
//! guess: `value` is text or null, `value_base64` is there instead of it.

use std::borrow::Cow;
use std::io;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A record on its way out.
#[derive(Clone, Debug)]
pub(crate) struct JsonRecord<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: u32,
    pub(crate) offset: i64,
    /// Milliseconds since 1970.
    pub(crate) timestamp: i64,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: Vec<(Cow<'a, str>, &'a [u8])>,
}

impl JsonRecord<'_> {
    /// Appends the record and a line feed.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self).map_err(io::Error::from)?;
        out.push(b'\n');
        Ok(())
    }
}

impl Serialize for JsonRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("topic", self.topic)?;
        map.serialize_entry("partition", &self.partition)?;
        map.serialize_entry("offset", &self.offset)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        bytes_entry(&mut map, ["key", "key_base64"], self.key)?;
        bytes_entry(&mut map, ["value", "value_base64"], self.value)?;
        if !self.headers.is_empty() {
            map.serialize_entry("headers", &Headers(&self.headers))?;
        }
        map.end()
    }
}

/// A list and not an object: a name may stand twice.
struct Headers<'a>(&'a [(Cow<'a, str>, &'a [u8])]);

impl Serialize for Headers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(name, value)| Header { name, value }))
    }
}

struct Header<'a> {
    name: &'a str,
    value: &'a [u8],
}

impl Serialize for Header<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("name", self.name)?;
        bytes_entry(&mut map, ["value", "value_base64"], Some(self.value))?;
        map.end()
    }
}

fn bytes_entry<M: SerializeMap>(
    map: &mut M,
    [text_name, base64_name]: [&'static str; 2],
    bytes: Option<&[u8]>,
) -> Result<(), M::Error> {
    match bytes.map(|bytes| (bytes, std::str::from_utf8(bytes))) {
        None => map.serialize_entry(text_name, &None::<&str>),
        Some((_, Ok(text))) => map.serialize_entry(text_name, text),
        Some((bytes, Err(_))) => map.serialize_entry(base64_name, &base64(bytes)),
    }
}

/// RFC 4648 section 4, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits =
            (0..3).fold(0_usize, |bits, index| bits << 8 | usize::from(*chunk.get(index).unwrap_or(&0)));
        for position in 0..4 {
            let letter = ALPHABET.get(bits >> (18 - 6 * position) & 63).copied().unwrap_or(b'=');
            text.push(char::from(if position <= chunk.len() { letter } else { b'=' }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: Option<&[u8]>, value: Option<&[u8]>, headers: &[(&'static str, &'static [u8])]) -> String {
        let headers = headers.iter().map(|(name, value)| (Cow::Borrowed(*name), *value)).collect();
        let record =
            JsonRecord { topic: "orders", partition: 3, offset: 42, timestamp: 1_000, key, value, headers };
        let mut out = Vec::new();
        record.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_is_text_and_nothing_is_null() {
        assert_eq!(
            check(None, Some(b"a \"quoted\" value"), &[]),
            "{\"topic\":\"orders\",\"partition\":3,\"offset\":42,\"timestamp\":1000,\"key\":null,\
             \"value\":\"a \\\"quoted\\\" value\"}\n"
        );
    }

    #[test]
    fn other_bytes_are_base64_under_a_name_of_their_own() {
        let headers: [(&str, &[u8]); 1] = [("trace", &[0xff])];
        assert_eq!(
            check(Some(&[0xfe, 0xff]), None, &headers),
            "{\"topic\":\"orders\",\"partition\":3,\"offset\":42,\"timestamp\":1000,\"key_base64\":\"/v8=\",\
             \"value\":null,\"headers\":[{\"name\":\"trace\",\"value_base64\":\"/w==\"}]}\n"
        );
    }

    #[test]
    fn base64_is_that_of_the_specification() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
