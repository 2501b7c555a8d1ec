//! Makes bodies of a schema: the canonical bytes, piece by piece, each with its field's name.

use super::notation::Field;
use highwater_kafka_wire::ApiKey;

/// The bytes of one primitive.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) depth: usize,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn bytes_of(pieces: &[Piece]) -> Vec<u8> {
    pieces.iter().flat_map(|piece| piece.bytes.clone()).collect()
}

/// Where values come from.
pub(crate) trait Source {
    fn number(&mut self, bits: u32) -> i64;
    fn is_null(&mut self) -> bool;
    /// Elements of a list.
    fn count(&mut self) -> usize;
    fn text(&mut self, name: &str) -> String;
    /// Whether a tagged field is there.
    fn has_tag(&mut self) -> bool;
}

/// Values for people: counting numbers, names as texts, nothing null.
pub(crate) struct Plain(pub(crate) i64);

impl Source for Plain {
    fn number(&mut self, _bits: u32) -> i64 {
        self.0 += 1;
        self.0
    }

    fn is_null(&mut self) -> bool {
        false
    }

    fn count(&mut self) -> usize {
        1
    }

    fn text(&mut self, name: &str) -> String {
        name.chars().take(6).collect()
    }

    fn has_tag(&mut self) -> bool {
        true
    }
}

/// Values by chance, from a seed (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Source for Random {
    fn number(&mut self, bits: u32) -> i64 {
        let wide = self.next() as i64;
        match self.next() % 4 {
            0 => -1,
            1 => wide & 0x7f,
            _ => wide >> (64 - bits),
        }
    }

    fn is_null(&mut self) -> bool {
        self.next().is_multiple_of(4)
    }

    fn count(&mut self) -> usize {
        (self.next() % 4) as usize
    }

    fn text(&mut self, _name: &str) -> String {
        let len = if self.next().is_multiple_of(16) { 200 } else { self.next() % 8 };
        (0..len).map(|_| ['a', 'Z', '0', 'é', '漢'][(self.next() % 5) as usize]).collect()
    }

    fn has_tag(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }
}

/// A body of `fields` in `version` of the API.
pub(crate) fn body(key: ApiKey, fields: &[Field], version: i16, source: &mut dyn Source) -> Vec<Piece> {
    let mut maker =
        Maker { version, flexible: key.is_flexible(version), source, depth: 0, pieces: Vec::new() };
    maker.structure(fields);
    maker.pieces
}

struct Maker<'a> {
    version: i16,
    flexible: bool,
    source: &'a mut dyn Source,
    depth: usize,
    pieces: Vec<Piece>,
}

impl Maker<'_> {
    fn piece(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.pieces.push(Piece { depth: self.depth, name: name.into(), bytes: bytes.into() });
    }

    fn structure(&mut self, fields: &[Field]) {
        let here: Vec<_> = fields.iter().filter(|field| field.is_in(self.version)).collect();
        for field in here.iter().filter(|field| field.tag.is_none()) {
            self.field(field);
        }
        if self.flexible {
            self.tags(&here);
        }
    }

    fn field(&mut self, field: &Field) {
        if field.list {
            return self.list(field);
        }
        let null = field.may_be_null(self.version) && self.source.is_null();
        match field.kind.as_str() {
            "string" if null => self.null(field, 2),
            "records" if null => self.null(field, 4),
            "string" => {
                let text = self.source.text(&field.name).into_bytes();
                self.sized(field, 2, &text);
            }
            "bytes" | "records" | "segments" => {
                let text = self.source.text(&field.name).into_bytes();
                self.sized(field, 4, &text);
            }
            _ if !field.below.is_empty() => {
                if field.may_be_null(self.version) {
                    self.piece(format!("{}: there?", field.name), [if null { 0xff } else { 1 }]);
                }
                if !null {
                    self.nested(field, &field.below);
                }
            }
            kind => {
                let value = self.number(kind);
                self.piece(field.name.clone(), value);
            }
        }
    }

    fn list(&mut self, field: &Field) {
        if field.may_be_null(self.version) && self.source.is_null() {
            return self.null(field, 4);
        }
        let count = self.source.count();
        let length = self.length(4, count);
        self.piece(format!("{}: count", field.name), length);
        for i in 0..count {
            self.field(&field.element(i));
        }
    }

    fn nested(&mut self, field: &Field, below: &[Field]) {
        self.piece(format!("{}:", field.name), []);
        self.depth += 1;
        self.structure(below);
        self.depth -= 1;
    }

    fn number(&mut self, kind: &str) -> Vec<u8> {
        let mut number = |bits| self.source.number(bits);
        match kind {
            "bool" => vec![(number(8) & 1) as u8],
            "i8" => vec![number(8) as u8],
            "i16" | "u16" | "error" => (number(16) as i16).to_be_bytes().to_vec(),
            "i32" => (number(32) as i32).to_be_bytes().to_vec(),
            "i64" => number(64).to_be_bytes().to_vec(),
            "uuid" => [number(64), number(64)].map(i64::to_be_bytes).concat(),
            other => panic!("no such type: {other}"),
        }
    }

    fn tags(&mut self, here: &[&Field]) {
        let mut tagged: Vec<_> = here.iter().filter_map(|field| field.tag.map(|tag| (tag, *field))).collect();
        tagged.sort_by_key(|(tag, _)| *tag);
        let made: Vec<_> = tagged
            .into_iter()
            .filter_map(|(tag, field)| self.tagged(field).map(|made| (tag, made)))
            .collect();
        self.piece("tags: count", varint(made.len()));
        for (tag, pieces) in made {
            self.piece("tag", varint(tag as usize));
            self.piece("size", varint(bytes_of(&pieces).len()));
            self.pieces.extend(pieces);
        }
    }

    /// The pieces of a tagged field; none if it is not there or would have its default.
    fn tagged(&mut self, field: &Field) -> Option<Vec<Piece>> {
        if !self.source.has_tag() {
            return None;
        }
        let before = self.pieces.len();
        self.field(field);
        let pieces = self.pieces.split_off(before);
        (bytes_of(&pieces) != default_bytes(field)).then_some(pieces)
    }

    fn null(&mut self, field: &Field, bytes: usize) {
        let length = if self.flexible { vec![0] } else { vec![0xff; bytes] };
        self.piece(format!("{}: null", field.name), length);
    }

    fn sized(&mut self, field: &Field, length_bytes: usize, value: &[u8]) {
        let length = self.length(length_bytes, value.len());
        self.piece(format!("{}: length", field.name), length);
        self.piece(field.name.clone(), value);
    }

    fn length(&self, bytes: usize, length: usize) -> Vec<u8> {
        match bytes {
            _ if self.flexible => varint(length + 1),
            2 => (length as i16).to_be_bytes().to_vec(),
            _ => (length as i32).to_be_bytes().to_vec(),
        }
    }
}

/// What a tagged field would be written as if it had its default.
fn default_bytes(field: &Field) -> Vec<u8> {
    if field.list {
        return vec![1];
    }
    let value: i64 = match field.default.as_deref() {
        None => 0,
        Some("max") => i64::MAX,
        Some(value) => value.parse().unwrap(),
    };
    match field.kind.as_str() {
        "string" if field.may_be_null(i16::MAX) => vec![0],
        "bool" | "i8" => vec![value as u8],
        "i16" | "error" => (value as i16).to_be_bytes().to_vec(),
        "i32" => (value as i32).to_be_bytes().to_vec(),
        "i64" => value.to_be_bytes().to_vec(),
        "uuid" => vec![0; 16],
        _ => field.below.iter().flat_map(default_bytes).chain([0]).collect(),
    }
}

fn varint(value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = value;
    while rest > 0x7f {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}
