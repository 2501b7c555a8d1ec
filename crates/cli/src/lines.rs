//! Records as lines of text: reading them in blocks without copying each, taking a line apart, and putting one
//! together again. What `consume` writes with some options, `produce` reads with the same.

use std::io::{self, Read};

use bytes::Bytes;

/// Read at once: large enough that the system calls cost nothing beside the sending.
const BLOCK_BYTES: usize = 256 * 1024;
/// No broker takes a record as long as this; a longer line means that the input is no text.
const LINE_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Splits input into lines. A line does not hold its line feed; the last one needs none.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    input: R,
    block: Bytes,
    ended: bool,
}

impl<R: Read> LineReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, block: Bytes::new(), ended: false }
    }

    /// The next line, a slice of the block that was read; `None` after the last.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Bytes>> {
        let mut searched = 0;
        loop {
            let unsearched = self.block.get(searched..).unwrap_or_default();
            if let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') {
                let line = self.block.split_to(searched + at);
                let _feed = self.block.split_to(1);
                return Ok(Some(line));
            }
            if self.ended {
                let last = std::mem::take(&mut self.block);
                return Ok((!last.is_empty()).then_some(last));
            }
            searched = self.block.len();
            self.fill()?;
        }
    }

    /// Whether `next_line` answers without reading.
    pub(crate) fn has_buffered_line(&self) -> bool {
        self.block.contains(&b'\n')
    }

    fn fill(&mut self) -> io::Result<()> {
        let kept = self.block.len();
        if kept > LINE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 128 MiB"));
        }
        // A line longer than the block doubles it, so that the total copied stays proportional.
        let mut block = vec![0; kept + BLOCK_BYTES.max(kept)];
        let (head, tail) = block.split_at_mut(kept);
        head.copy_from_slice(&self.block);
        let read = read_some(&mut self.input, tail)?;
        self.ended = read == 0;
        block.truncate(kept + read);
        self.block = Bytes::from(block);
        Ok(())
    }
}

fn read_some(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// How a line stands for a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineShape {
    /// What stands between key and value; without it the whole line is the value.
    pub(crate) key_separator: Option<String>,
    /// Whether the line begins with `name:value,name:value` and a tab.
    pub(crate) headers: bool,
}

/// The parts of a record that a line can hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineParts {
    pub(crate) headers: Vec<(String, Bytes)>,
    pub(crate) key: Option<Bytes>,
    pub(crate) value: Bytes,
}

/// Why a line stands for no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineFault {
    /// No tab ends the headers.
    NoTab,
    /// A header has no colon or its name is not UTF-8.
    Header,
}

impl std::fmt::Display for LineFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoTab => "no tab after the headers",
            Self::Header => "a header is not name:value",
        })
    }
}

impl LineShape {
    /// Takes a line apart; the parts are slices of it. A line without the separator has no key.
    pub(crate) fn parse(&self, mut line: Bytes) -> Result<LineParts, LineFault> {
        let mut parts = LineParts::default();
        if self.headers {
            let at = line.iter().position(|byte| *byte == b'\t').ok_or(LineFault::NoTab)?;
            parts.headers = parse_headers(&line.split_to(at))?;
            let _tab = line.split_to(1);
        }
        let separator = self.key_separator.as_deref().unwrap_or_default().as_bytes();
        if let Some(at) = find(&line, separator) {
            parts.key = Some(line.split_to(at));
            let _separator = line.split_to(separator.len());
        }
        parts.value = line;
        Ok(parts)
    }

    /// Appends the line of a record, its line feed included. A record without a key has no separator.
    pub(crate) fn write<'a, N: AsRef<str>>(
        &self,
        record: RecordParts<'a, impl Iterator<Item = (N, &'a [u8])>>,
        out: &mut Vec<u8>,
    ) {
        if self.headers {
            for (index, (name, value)) in record.headers.enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(name.as_ref().as_bytes());
                out.push(b':');
                out.extend_from_slice(value);
            }
            out.push(b'\t');
        }
        if let (Some(separator), Some(key)) = (&self.key_separator, record.key) {
            out.extend_from_slice(key);
            out.extend_from_slice(separator.as_bytes());
        }
        out.extend_from_slice(record.value.unwrap_or_default());
        out.push(b'\n');
    }
}

/// What of a record goes into a line.
#[derive(Debug)]
pub(crate) struct RecordParts<'a, H> {
    pub(crate) headers: H,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
}

fn parse_headers(bytes: &Bytes) -> Result<Vec<(String, Bytes)>, LineFault> {
    let parts = bytes.split(|byte| *byte == b',').filter(|part| !part.is_empty());
    parts.map(|part| header(bytes.slice_ref(part))).collect()
}

fn header(mut part: Bytes) -> Result<(String, Bytes), LineFault> {
    let at = part.iter().position(|byte| *byte == b':').ok_or(LineFault::Header)?;
    let name = String::from_utf8(part.split_to(at).to_vec()).map_err(|_| LineFault::Header)?;
    let _colon = part.split_to(1);
    Ok((name, part))
}

/// Where `needle` stands first; nowhere if it is empty.
fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let first = needle.first()?;
    let mut from = 0;
    loop {
        from += bytes.get(from..)?.iter().position(|byte| byte == first)?;
        if bytes.get(from..)?.starts_with(needle) {
            return Some(from);
        }
        from += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<Bytes> {
        let mut reader = LineReader::new(text);
        std::iter::from_fn(|| reader.next_line().unwrap()).collect()
    }

    #[test]
    fn lines_come_without_their_line_feeds() {
        assert_eq!(lines(b""), [""; 0]);
        assert_eq!(lines(b"a\n\nb"), ["a", "", "b"]);
        assert_eq!(lines(b"a\r\n"), ["a\r"]);
    }

    #[test]
    fn lines_across_and_beyond_blocks_are_whole() {
        let long = "x".repeat(BLOCK_BYTES * 3 + 1);
        let text = format!("a\n{long}\nb\n");
        assert_eq!(lines(text.as_bytes()), ["a", &long, "b"]);
    }

    fn check(shape: &LineShape, line: &'static str, key: Option<&'static str>, value: &'static str) {
        let parts = shape.parse(Bytes::from(line)).unwrap();
        assert_eq!((parts.key, parts.value), (key.map(Bytes::from), Bytes::from(value)), "{line}");
    }

    #[test]
    fn the_first_separator_ends_the_key() {
        let shape = LineShape { key_separator: Some("::".into()), headers: false };
        check(&shape, "k::v::w", Some("k"), "v::w");
        check(&shape, "::v", Some(""), "v");
        check(&shape, "k:v", None, "k:v");
        check(&LineShape::default(), "k::v", None, "k::v");
    }

    #[test]
    fn headers_stand_before_the_first_tab() {
        let shape = LineShape { key_separator: Some(",".into()), headers: true };
        let parts = shape.parse(Bytes::from("trace:1,from:a:b\tk,v")).unwrap();
        assert_eq!(parts.headers, [("trace".into(), Bytes::from("1")), ("from".into(), Bytes::from("a:b"))]);
        assert_eq!((parts.key, parts.value), (Some(Bytes::from("k")), Bytes::from("v")));
        assert_eq!(shape.parse(Bytes::from("trace:1")), Err(LineFault::NoTab));
        assert_eq!(shape.parse(Bytes::from("trace\tv")), Err(LineFault::Header));
    }

    #[test]
    fn what_was_written_is_read_back() {
        let shape = LineShape { key_separator: Some(",".into()), headers: true };
        for text in ["a:1\tk,v,w\n", "\tvalue alone\n", "a:,b:2\t,empty key\n"] {
            let parts = shape.parse(lines(text.as_bytes()).remove(0)).unwrap();
            let mut out = Vec::new();
            let headers = parts.headers.iter().map(|(name, value)| (name, &value[..]));
            let key = parts.key.as_deref();
            shape.write(RecordParts { headers, key, value: Some(&parts.value) }, &mut out);
            assert_eq!(out, text.as_bytes());
        }
    }
}
