//! Reads the schema notation (see the README beside the schemas). Every mistake names its line.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::schema::{Api, Body, Field, Struct, Type, Versions};

/// The meaning of field names.
pub(super) type Glossary = BTreeMap<String, String>;

pub(super) fn glossary(text: &str) -> Glossary {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entries = lines.filter_map(|line| line.split_once(' '));
    entries.map(|(name, meaning)| (name.to_owned(), meaning.trim().to_owned())).collect()
}

pub(super) fn api(text: &str, glossary: &Glossary) -> Result<Api> {
    let mut header = Header::default();
    let mut lines = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        let line = Line::new(number, text);
        match line.words.first().copied() {
            None if line.doc.is_empty() => {}
            _ if line.indent > 0 || matches!(line.words.as_slice(), ["request" | "response"]) => {
                lines.push(line)
            }
            _ => header.read(&line).with_context(|| format!("line {number}"))?,
        }
    }
    let name = header.name.context("no line `api NAME NUMBER`")?;
    let accept = header.accept.context("no line `accept VERSIONS`")?;
    let mut parser = Parser { lines: &lines, glossary, accept };
    let request = parser.body("request", format!("{name}Request"), &header.doc)?;
    let response = parser.body("response", format!("{name}Response"), &header.doc)?;
    ensure!(parser.lines.is_empty(), "lines after the response");
    Ok(Api {
        name,
        number: header.number,
        doc: header.doc,
        accept,
        advertise: header.advertise.unwrap_or(accept),
        flexible: header.flexible,
        request,
        response,
    })
}

struct Line<'a> {
    number: usize,
    indent: usize,
    words: Vec<&'a str>,
    doc: &'a str,
}

impl<'a> Line<'a> {
    fn new(number: usize, text: &'a str) -> Self {
        let (code, doc) = text.split_once('#').unwrap_or((text, ""));
        let indent = code.len() - code.trim_start().len();
        Self { number, indent, words: code.split_whitespace().collect(), doc: doc.trim() }
    }
}

#[derive(Default)]
struct Header {
    doc: String,
    name: Option<String>,
    number: i16,
    accept: Option<Versions>,
    advertise: Option<Versions>,
    flexible: Option<i16>,
}

impl Header {
    fn read(&mut self, line: &Line<'_>) -> Result<()> {
        match line.words.as_slice() {
            [] => line.doc.clone_into(&mut self.doc),
            ["api", name, number] => {
                self.name = Some((*name).to_owned());
                self.number = number.parse()?;
            }
            ["accept", range] => self.accept = Some(versions(range)?),
            ["advertise", range] => self.advertise = Some(versions(range)?),
            ["flexible", "never"] => self.flexible = None,
            ["flexible", range] => self.flexible = Some(versions(range)?.first),
            words => bail!("not understood: {}", words.join(" ")),
        }
        Ok(())
    }
}

struct Parser<'a> {
    lines: &'a [Line<'a>],
    glossary: &'a Glossary,
    accept: Versions,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<&'a Line<'a>> {
        let (first, rest) = self.lines.split_first()?;
        self.lines = rest;
        Some(first)
    }

    fn body(&mut self, word: &str, name: String, doc: &str) -> Result<Body> {
        let line = self.next().with_context(|| format!("no `{word}`"))?;
        ensure!(line.words == [word], "line {}: `{word}` expected", line.number);
        let doc = if word == "request" {
            doc.to_owned()
        } else {
            format!("The answer to a [`{}`].", name.replace("Response", "Request"))
        };
        let mut body = Body { structs: Vec::new() };
        self.structure(0, name, doc, &mut body)?;
        Ok(body)
    }

    /// Reads the fields that stand further in than `indent`; adds the struct, and then those below it, to `body`.
    fn structure(&mut self, indent: usize, name: String, doc: String, body: &mut Body) -> Result<()> {
        let at = body.structs.len();
        ensure!(body.structs.iter().all(|known| known.name != name), "struct {name} occurs twice");
        body.structs.push(Struct { name: name.clone(), doc, fields: Vec::new() });
        let mut fields = Vec::new();
        while let Some(line) = self.lines.first().filter(|line| line.indent > indent) {
            self.next();
            let field = self.field(line).with_context(|| format!("line {}", line.number))?;
            if self.lines.first().is_some_and(|below| below.indent > line.indent) {
                let Some(struct_name) = struct_name(&field.kind) else {
                    bail!("line {}: fields below a field that is no struct", line.number)
                };
                let doc = format!("Part of a [`{name}`]: `{}`.", field.name);
                self.structure(line.indent, struct_name.to_owned(), doc, body)?;
            }
            fields.push(field);
        }
        body.structs.get_mut(at).context("the struct was just added")?.fields = fields;
        Ok(())
    }

    fn field(&self, line: &Line<'_>) -> Result<Field> {
        let [name, kind, rest @ ..] = line.words.as_slice() else { bail!("a field has a name and a type") };
        let doc =
            if line.doc.is_empty() { self.glossary.get(*name).cloned() } else { Some(line.doc.to_owned()) };
        let doc = doc.with_context(|| format!("field {name} has no doc and is not in the glossary"))?;
        let (kind, nullable) = kind.split_once('?').map_or((*kind, None), |(kind, from)| (kind, Some(from)));
        let nullable = match nullable {
            Some("") => Some(Versions::ALL),
            Some(range) => Some(versions(range)?),
            None => None,
        };
        let mut field = Field {
            name: (*name).to_owned(),
            doc,
            kind: kind_of(kind)?,
            versions: Versions::ALL,
            nullable,
            tag: None,
            default: None,
        };
        attributes(&mut field, rest)?;
        ensure!(!field.versions.and(self.accept).is_empty(), "field {name} is in no accepted version");
        Ok(field)
    }
}

fn attributes(field: &mut Field, words: &[&str]) -> Result<()> {
    match words {
        [] => Ok(()),
        ["=", value, rest @ ..] => {
            field.default = Some((*value).to_owned());
            attributes(field, rest)
        }
        ["tag", tag, rest @ ..] => {
            field.tag = Some(tag.parse()?);
            attributes(field, rest)
        }
        [range, rest @ ..] if range.starts_with('@') => {
            field.versions = versions(range.trim_start_matches('@'))?;
            attributes(field, rest)
        }
        [word, ..] => bail!("not understood: {word}"),
    }
}

fn struct_name(kind: &Type) -> Option<&str> {
    match kind {
        Type::Struct(name) => Some(name),
        Type::Array(element) => struct_name(element),
        _ => None,
    }
}

fn kind_of(word: &str) -> Result<Type> {
    if let Some(element) = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
        return Ok(Type::Array(Box::new(kind_of(element)?)));
    }
    Ok(match word {
        "bool" => Type::Bool,
        "i8" => Type::I8,
        "i16" => Type::I16,
        "u16" => Type::U16,
        "i32" => Type::I32,
        "i64" => Type::I64,
        "uuid" => Type::Uuid,
        "error" => Type::Error,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "records" => Type::Records,
        "segments" => Type::Segments,
        name if name.starts_with(|c: char| c.is_ascii_uppercase()) => Type::Struct(name.to_owned()),
        other => bail!("no such type: {other}"),
    })
}

fn versions(text: &str) -> Result<Versions> {
    let (first, last) = match (text.strip_suffix('+'), text.split_once('-')) {
        (Some(first), _) => (first.parse()?, i16::MAX),
        (None, Some((first, last))) => (first.parse()?, last.parse()?),
        (None, None) => (text.parse()?, text.parse()?),
    };
    ensure!(first <= last, "versions {text} are empty");
    Ok(Versions { first, last })
}
