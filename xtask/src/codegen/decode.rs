//! Writes how a struct is read.

use std::fmt::Write as _;

use super::rust::{Context, Side, default_of};
use super::schema::{Field, Type, type_bytes_min};

pub(super) fn write(code: &mut String, context: &Context<'_>, side: Side) {
    let body = body(context);
    let lifetime = if context.shape.lifetime { "'a" } else { "'_" };
    let generics = if context.shape.lifetime { "<'a>" } else { "" };
    let version = if body.contains("version") { "version" } else { "_version" };
    let _ = write!(
        code,
        "#[cfg(feature = \"{}\")]\nimpl{generics} Decode<{lifetime}> for {} {{\n\
         fn decode(r: &mut Reader<{lifetime}>, {version}: i16) -> Result<Self, DecodeError> {{\n{body}}}\n}}\n\n",
        side.reader(),
        context.type_with("'a", ""),
    );
}

fn body(context: &Context<'_>) -> String {
    let tags = tags(context);
    let known = context.of.fields.iter().any(|field| field.tag.is_some());
    let mut code = String::from(if known {
        "let mut value = Self {\n"
    } else if tags.is_empty() {
        "Ok(Self {\n"
    } else {
        "let value = Self {\n"
    });
    for field in &context.of.fields {
        let _ = writeln!(code, "{}: {},", field.name, initial(context, field));
    }
    if tags.is_empty() {
        code.push_str("})\n");
    } else {
        let _ = write!(code, "}};\n{tags}Ok(value)\n");
    }
    context.let_flexible(&code) + &code
}

/// Reads the field if its version and place are here, else takes its default.
fn initial(context: &Context<'_>, field: &Field) -> String {
    if field.tag.is_some() {
        return default_of(field);
    }
    let read = read(context, field, context.flexible());
    match context.condition(field.versions) {
        None => read,
        Some(condition) => format!("if {condition} {{ {read} }} else {{ {} }}", default_of(field)),
    }
}

fn read(context: &Context<'_>, field: &Field, flexible: &str) -> String {
    let nullable = context.nullable(field);
    match (&field.kind, nullable) {
        (Type::String, Some(nullable)) => format!("r.nullable_string({flexible}, {nullable})?"),
        (Type::Records, Some(nullable)) => format!("r.nullable_records({flexible}, {nullable})?"),
        (Type::Segments, _) => format!("r.records({flexible})?.into()"),
        (Type::Struct(name), Some(_)) => format!("r.nullable_struct(|r| {name}::decode(r, version))?"),
        (Type::Array(element), nullable) => {
            let (name, nullable) =
                nullable.map_or(("array", String::new()), |n| ("nullable_array", format!("{n}, ")));
            let bytes_min =
                type_bytes_min(element, !context.api.flexible_versions().is_empty(), context.shapes);
            format!("r.{name}({flexible}, {nullable}{bytes_min}, {})?", element_reader(element, flexible))
        }
        (kind, _) => format!("{}?", plain(kind, flexible)),
    }
}

fn element_reader(element: &Type, flexible: &str) -> String {
    match element {
        Type::String | Type::Bytes | Type::Struct(_) => format!("|r| {}", plain(element, flexible)),
        kind => format!("Reader::{}", method(kind)),
    }
}

fn plain(kind: &Type, flexible: &str) -> String {
    match kind {
        Type::String => format!("r.string({flexible})"),
        Type::Bytes => format!("r.bytes({flexible})"),
        Type::Struct(name) => format!("{name}::decode(r, version)"),
        kind => format!("r.{}()", method(kind)),
    }
}

/// The method of reader and writer for a type of fixed size.
pub(super) fn method(kind: &Type) -> &'static str {
    match kind {
        Type::Bool => "bool",
        Type::I8 => "i8",
        Type::I16 => "i16",
        Type::U16 => "u16",
        Type::I32 => "i32",
        Type::I64 => "i64",
        Type::Uuid => "uuid",
        Type::Error => "error",
        _ => panic!("{kind:?} has no fixed size"),
    }
}

fn tags(context: &Context<'_>) -> String {
    let flexible = context.api.flexible_versions();
    if flexible.is_empty() {
        return String::new();
    }
    let mut arms = String::new();
    for field in &context.of.fields {
        let Some(tag) = field.tag else { continue };
        let guard =
            field.versions.condition(flexible).map_or(String::new(), |condition| format!(" if {condition}"));
        let _ = writeln!(arms, "{tag}{guard} => value.{} = {},", field.name, read(context, field, "true"));
    }
    let read = if arms.is_empty() {
        "r.skip_tags()?;\n".to_owned()
    } else {
        format!("r.tags(|tag, r| {{\nmatch tag {{\n{arms}_ => return Ok(false),\n}}\nOk(true)\n}})?;\n")
    };
    if flexible == context.api.accept { read } else { format!("if flexible {{\n{read}}}\n") }
}
