//! The schema notation as a tree.

use std::fs;
use std::path::Path;

use highwater_kafka_wire::ApiKey;

/// A request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Request,
    Response,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Without list brackets and question mark.
    pub(crate) kind: String,
    pub(crate) list: bool,
    versions: (i16, i16),
    nullable: Option<(i16, i16)>,
    pub(crate) tag: Option<u32>,
    pub(crate) default: Option<String>,
    /// The fields of a struct.
    pub(crate) below: Vec<Self>,
}

impl Field {
    pub(crate) fn is_in(&self, version: i16) -> bool {
        (self.versions.0..=self.versions.1).contains(&version)
    }

    /// One element of a list, as a field of its own.
    pub(crate) fn element(&self, index: usize) -> Self {
        let name = format!("{}[{index}]", self.name);
        Self { name, list: false, nullable: None, default: None, ..self.clone() }
    }

    pub(crate) fn may_be_null(&self, version: i16) -> bool {
        self.nullable.is_some_and(|(first, last)| (first..=last).contains(&version))
    }
}

/// The fields of one side of an API.
pub(crate) fn schema(key: ApiKey, side: Side) -> Vec<Field> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(snake(key.name()) + ".api");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (request, response) = text.split_once("\nresponse\n").expect("a schema has a response");
    let body = match side {
        Side::Request => request.split_once("\nrequest\n").map_or("", |(_, body)| body),
        Side::Response => response,
    };
    let lines: Vec<_> = body.lines().map(|line| line.split('#').next().unwrap().trim_end()).collect();
    let lines: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let mut fields = fields(&lines, 2);
    repeat_structs(&mut fields);
    fields
}

pub(crate) fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

fn fields(lines: &[&str], indent: usize) -> Vec<Field> {
    let depth = |line: &&str| line.len() - line.trim_start().len();
    let starts: Vec<_> = (0..lines.len()).filter(|i| depth(&lines[*i]) == indent).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| field(lines[*start], fields(&lines[start + 1..end], indent + 2)))
        .collect()
}

fn field(line: &str, below: Vec<Field>) -> Field {
    let words: Vec<_> = line.split_whitespace().collect();
    let (kind, null) = words[1].split_once('?').map_or((words[1], None), |(kind, null)| (kind, Some(null)));
    let after = |word: &str| words.iter().skip_while(|w| **w != word).nth(1).copied();
    let versions = words.iter().find_map(|word| word.strip_prefix('@'));
    Field {
        name: words[0].to_owned(),
        kind: kind.trim_matches(['[', ']']).to_owned(),
        list: kind.starts_with('['),
        versions: versions.map_or((0, i16::MAX), range),
        nullable: null.map(|null| if null.is_empty() { (0, i16::MAX) } else { range(null) }),
        tag: after("tag").map(|tag| tag.parse().unwrap()),
        default: after("=").map(str::to_owned),
        below,
    }
}

fn range(text: &str) -> (i16, i16) {
    let number = |text: &str| text.parse().unwrap();
    match text.split_once('-') {
        Some((first, last)) => (number(first), number(last)),
        None => match text.strip_suffix('+') {
            Some(first) => (number(first), i16::MAX),
            None => (number(text), number(text)),
        },
    }
}

/// A struct that occurs again has its fields from its first occurrence.
fn repeat_structs(fields: &mut [Field]) {
    for i in 0..fields.len() {
        let is_struct = fields[i].kind.starts_with(|c: char| c.is_ascii_uppercase());
        if is_struct && fields[i].below.is_empty() {
            let first = fields.iter().find(|f| f.kind == fields[i].kind && !f.below.is_empty());
            fields[i].below = first.expect("a struct is written out where it occurs first").below.clone();
        }
        repeat_structs(&mut fields[i].below);
    }
}
