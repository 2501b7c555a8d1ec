//! Writes the Rust of one API: structs, then how each is read and written. The text is formatted by rustfmt afterwards.

use std::fmt::Write as _;

use super::schema::{Api, Body, Field, Shape, Shapes, Struct, Type, Versions, shapes};
use super::{decode, encode};

/// Which side of a connection a body is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response,
}

impl Side {
    /// The feature of the side that reads it.
    pub(super) fn reader(self) -> &'static str {
        if self == Self::Request { "broker" } else { "client" }
    }

    /// The feature of the side that writes it.
    pub(super) fn writer(self) -> &'static str {
        if self == Self::Request { "client" } else { "broker" }
    }
}

/// What the writers of code need to know about the struct at hand.
pub(super) struct Context<'a> {
    pub(super) api: &'a Api,
    pub(super) shapes: &'a Shapes,
    pub(super) of: &'a Struct,
    pub(super) shape: Shape,
}

impl Context<'_> {
    /// The name with its parameters, as `impl` needs it: `FetchResponse<'a, F>`.
    pub(super) fn type_with(&self, lifetime: &str, files: &str) -> String {
        format!("{}{}", self.of.name, parameters(self.shape, lifetime, files))
    }

    /// How code says whether lengths are compact.
    pub(super) fn flexible(&self) -> &'static str {
        let flexible = self.api.flexible_versions();
        match flexible.is_empty() {
            true => "false",
            false if flexible == self.api.accept => "true",
            false => "flexible",
        }
    }

    /// The `let` that the code needs before it.
    pub(super) fn let_flexible(&self, code: &str) -> String {
        match self.api.flexible {
            Some(first) if code.contains("flexible") => format!("let flexible = version >= {first};\n"),
            _ => String::new(),
        }
    }

    pub(super) fn condition(&self, versions: Versions) -> Option<String> {
        versions.condition(self.api.accept)
    }

    /// Whether null is possible, as code; `None` for fields that are never null.
    pub(super) fn nullable(&self, field: &Field) -> Option<String> {
        let scope = field.versions.and(self.api.accept);
        field.nullable.map(|versions| versions.condition(scope).unwrap_or_else(|| "true".to_owned()))
    }
}

fn parameters(shape: Shape, lifetime: &str, files: &str) -> String {
    match (shape.lifetime, shape.files) {
        (false, false) => String::new(),
        (true, false) => format!("<{lifetime}>"),
        (false, true) if files.is_empty() => String::new(),
        (false, true) => format!("<{files}>"),
        (true, true) if files.is_empty() => format!("<{lifetime}>"),
        (true, true) => format!("<{lifetime}, {files}>"),
    }
}

pub(super) fn module(api: &Api) -> String {
    let mut code = String::new();
    for (side, body) in [(Side::Request, &api.request), (Side::Response, &api.response)] {
        body_code(&mut code, api, side, body);
    }
    let head = format!(
        "// @generated from schemas/{}.api by cargo xtask codegen\n//! `{}` (key {}): {}\n\n",
        api.module(),
        api.name,
        api.number,
        lower_first(&api.doc)
    );
    head + &imports(&code) + &code
}

fn imports(code: &str) -> String {
    let mut imports = String::new();
    let uses = |word: &str| code.contains(word);
    for (word, import) in [("Cow<", "alloc::borrow::Cow"), ("Vec<", "alloc::vec::Vec")] {
        if uses(word) {
            let _ = writeln!(imports, "use {import};");
        }
    }
    if uses("Option<Bytes>") {
        imports.push_str("\nuse bytes::Bytes;\n");
    }
    let names = ["ApiKey", "Body", "ErrorCode", "FileRange", "FileRanges", "NoFile", "Records", "Uuid"];
    let used: Vec<_> = names.into_iter().filter(|name| words(code).any(|word| word == *name)).collect();
    let _ = writeln!(imports, "\nuse crate::{{{}}};", used.join(", "));
    imports.push_str("#[cfg(any(feature = \"broker\", feature = \"client\"))]\n");
    imports.push_str("use crate::{Decode, DecodeError, Encode, Reader, Writer};\n\n");
    imports
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    let lines = code.lines().filter(|line| !line.starts_with("///"));
    lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}

fn body_code(code: &mut String, api: &Api, side: Side, body: &Body) {
    let shapes = shapes(api, body);
    for (index, of) in body.structs.iter().enumerate() {
        let shape = shapes.get(&of.name).copied().unwrap_or_default();
        let context = Context { api, shapes: &shapes, of, shape };
        definition(code, &context);
        if index == 0 {
            let _ = writeln!(
                code,
                "impl{} Body for {} {{ const KEY: ApiKey = ApiKey::{}; }}\n",
                parameters(Shape { lifetime: false, ..shape }, "", "F"),
                context.type_with("'_", "F"),
                api.name
            );
        }
        decode::write(code, &context, side);
        encode::write(code, &context, side);
        if side == Side::Response && (index == 0 || shape.files) {
            encode::file_ranges(code, &context);
        }
    }
}

fn definition(code: &mut String, context: &Context<'_>) {
    let Struct { name, doc, fields } = context.of;
    let needs_default = context.shape.files || fields.iter().any(default_is_special);
    let default = if needs_default { "" } else { "Default, " };
    let generics = parameters(context.shape, "'a", "F = NoFile");
    let _ = writeln!(
        code,
        "/// {doc}\n#[derive(Clone, Debug, {default}PartialEq, Eq)]\npub struct {name}{generics} {{"
    );
    for field in fields {
        let note = versions_note(field.versions, context.api.accept);
        let _ = writeln!(
            code,
            "/// {}{note}\npub {}: {},",
            field.doc,
            field.name,
            rust_type(field, context.shapes)
        );
    }
    code.push_str("}\n\n");
    if needs_default {
        let generics = parameters(Shape { lifetime: false, ..context.shape }, "", "F");
        let _ = writeln!(
            code,
            "impl{generics} Default for {} {{\nfn default() -> Self {{\nSelf {{",
            context.type_with("'_", "F")
        );
        for field in fields {
            let _ = writeln!(code, "{}: {},", field.name, default_of(field));
        }
        code.push_str("}\n}\n}\n\n");
    }
}

fn versions_note(versions: Versions, accept: Versions) -> String {
    let inside = versions.and(accept);
    match (inside.first == accept.first, inside.last == accept.last) {
        (true, true) => String::new(),
        (false, true) => format!(" From version {} on.", inside.first),
        (true, false) => format!(" Up to version {}.", inside.last),
        (false, false) => format!(" In versions {} to {}.", inside.first, inside.last),
    }
}

fn rust_type(field: &Field, shapes: &Shapes) -> String {
    let inner = type_name(&field.kind, shapes);
    if field.nullable.is_some() { format!("Option<{inner}>") } else { inner }
}

fn type_name(kind: &Type, shapes: &Shapes) -> String {
    match kind {
        Type::Bool => "bool".to_owned(),
        Type::I8 => "i8".to_owned(),
        Type::I16 => "i16".to_owned(),
        Type::U16 => "u16".to_owned(),
        Type::I32 => "i32".to_owned(),
        Type::I64 => "i64".to_owned(),
        Type::Uuid => "Uuid".to_owned(),
        Type::Error => "ErrorCode".to_owned(),
        Type::String => "Cow<'a, str>".to_owned(),
        Type::Bytes => "Cow<'a, [u8]>".to_owned(),
        Type::Records => "Bytes".to_owned(),
        Type::Segments => "Records<F>".to_owned(),
        Type::Struct(name) => {
            let shape = shapes.get(name).copied().unwrap_or_default();
            format!("{name}{}", parameters(shape, "'a", "F"))
        }
        Type::Array(element) => format!("Vec<{}>", type_name(element, shapes)),
    }
}

fn default_is_special(field: &Field) -> bool {
    field.nullable.is_none() && field.default.is_some()
}

/// The value of a field that the version does not have.
pub(super) fn default_of(field: &Field) -> String {
    if field.nullable.is_some() {
        return "None".to_owned();
    }
    match (&field.kind, field.default.as_deref()) {
        (Type::I32, Some("min")) => "i32::MIN".to_owned(),
        (Type::I32, Some("max")) => "i32::MAX".to_owned(),
        (Type::I64, Some("max")) => "i64::MAX".to_owned(),
        (_, Some(value)) => value.to_owned(),
        (Type::Bool, None) => "false".to_owned(),
        (Type::I8 | Type::I16 | Type::U16 | Type::I32 | Type::I64, None) => "0".to_owned(),
        (Type::Uuid, None) => "Uuid::NONE".to_owned(),
        (Type::Error, None) => "ErrorCode::None".to_owned(),
        (Type::String, None) => "Cow::Borrowed(\"\")".to_owned(),
        (Type::Bytes, None) => "Cow::Borrowed(&[])".to_owned(),
        (Type::Segments, None) => "Records::EMPTY".to_owned(),
        (Type::Array(_), None) => "Vec::new()".to_owned(),
        (Type::Struct(name), None) => format!("{name}::default()"),
        (Type::Records, None) => "Bytes::new()".to_owned(),
    }
}

pub(super) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().to_string() + chars.as_str()).unwrap_or_default()
}
