//! Writes how a struct is written.

use std::fmt::Write as _;

use super::decode::method;
use super::rust::{Context, Side, default_of};
use super::schema::{Field, Type};

pub(super) fn write(code: &mut String, context: &Context<'_>, side: Side) {
    let body = body(context);
    let version = if body.contains("version") { "version" } else { "_version" };
    let writer = if body.is_empty() { "_w" } else { "w" };
    let _ = write!(
        code,
        "#[cfg(feature = \"{}\")]\nimpl{} Encode for {} {{\nfn encode(&self, {writer}: &mut Writer, {version}: i16) {{\n{body}}}\n}}\n\n",
        side.writer(),
        if context.shape.files { "<F>" } else { "" },
        context.type_with("'_", "F"),
    );
}

/// The file ranges of a struct, in the order in which it writes them.
pub(super) fn file_ranges(code: &mut String, context: &Context<'_>) {
    let of = context.type_with("'_", "F");
    if !context.shape.files {
        let _ = writeln!(code, "impl<F> FileRanges<F> for {of} {{}}\n");
        return;
    }
    let mut body = String::new();
    for field in &context.of.fields {
        match &field.kind {
            Type::Segments => {
                let _ = writeln!(body, "ranges.extend(self.{}.file_ranges().cloned());", field.name);
            }
            Type::Array(element) if below_has_files(context, element) => {
                let _ =
                    writeln!(body, "self.{}.iter().for_each(|value| value.file_ranges(ranges));", field.name);
            }
            _ => {}
        }
    }
    let _ = writeln!(
        code,
        "impl<F: Clone> FileRanges<F> for {of} {{\nfn file_ranges(&self, ranges: &mut Vec<FileRange<F>>) {{\n{body}}}\n}}\n"
    );
}

fn below_has_files(context: &Context<'_>, element: &Type) -> bool {
    matches!(element, Type::Struct(name) if context.shapes.get(name).is_some_and(|shape| shape.files))
}

fn body(context: &Context<'_>) -> String {
    let mut code = String::new();
    for field in context.of.fields.iter().filter(|field| field.tag.is_none()) {
        let write = write_field(context, field, context.flexible());
        match context.condition(field.versions) {
            None => code.push_str(&format!("{write};\n")),
            Some(condition) => code.push_str(&format!("if {condition} {{\n{write};\n}}\n")),
        }
    }
    code.push_str(&tags(context));
    context.let_flexible(&code) + &code
}

fn write_field(context: &Context<'_>, field: &Field, flexible: &str) -> String {
    let value = format!("self.{}", field.name);
    let nullable = context.nullable(field);
    match (&field.kind, nullable) {
        (Type::String, Some(nullable)) => {
            format!("w.nullable_string({flexible}, {nullable}, {value}.as_deref())")
        }
        (Type::Records, Some(nullable)) => {
            format!("w.nullable_records({flexible}, {nullable}, {value}.as_ref())")
        }
        (Type::Struct(_), Some(_)) => {
            format!("w.nullable_struct({value}.as_ref(), |w, value| value.encode(w, version))")
        }
        (Type::Array(element), Some(nullable)) => {
            let element = element_writer(element, flexible);
            format!("w.nullable_array({flexible}, {nullable}, {value}.as_deref(), {element})")
        }
        (Type::Array(element), None) => {
            format!("w.array({flexible}, &{value}, {})", element_writer(element, flexible))
        }
        (Type::Segments, _) => format!("w.records({flexible}, &{value})"),
        (Type::String, None) => format!("w.string({flexible}, &{value})"),
        (Type::Bytes, _) => format!("w.bytes({flexible}, &{value})"),
        (Type::Struct(_), None) => format!("{value}.encode(w, version)"),
        (kind, _) => format!("w.{}({value})", method(kind)),
    }
}

fn element_writer(element: &Type, flexible: &str) -> String {
    match element {
        Type::Struct(_) => "|w, value| value.encode(w, version)".to_owned(),
        Type::String => format!("|w, value| w.string({flexible}, value)"),
        Type::Bytes => format!("|w, value| w.bytes({flexible}, value)"),
        kind => format!("|w, value| w.{}(*value)", method(kind)),
    }
}

fn tags(context: &Context<'_>) -> String {
    let flexible = context.api.flexible_versions();
    if flexible.is_empty() {
        return String::new();
    }
    let mut tagged: Vec<_> =
        context.of.fields.iter().filter_map(|field| field.tag.map(|tag| (tag, field))).collect();
    tagged.sort_by_key(|(tag, _)| *tag);
    let (mut lets, mut writes) = (String::new(), String::new());
    for (tag, field) in &tagged {
        let version =
            field.versions.condition(flexible).map_or(String::new(), |condition| format!("{condition} && "));
        let _ = writeln!(lets, "let {} = {version}{};", field.name, is_there(field));
        let write = write_field(context, field, "true");
        let _ = writeln!(writes, "if {} {{ w.tag({tag}, |w| {write}); }}", field.name);
    }
    let names: Vec<_> = tagged.iter().map(|(_, field)| field.name.as_str()).collect();
    let code = format!("{lets}w.tag_count(&[{}]);\n{writes}", names.join(", "));
    if flexible == context.api.accept { code } else { format!("if flexible {{\n{code}}}\n") }
}

/// Whether a tagged field differs from its default.
fn is_there(field: &Field) -> String {
    let name = &field.name;
    match &field.kind {
        _ if field.nullable.is_some() => format!("self.{name}.is_some()"),
        Type::Array(_) | Type::String | Type::Bytes => format!("!self.{name}.is_empty()"),
        Type::Bool if field.default.is_none() => format!("self.{name}"),
        _ => format!("self.{name} != {}", default_of(field)),
    }
}
