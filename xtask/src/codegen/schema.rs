//! The schema of one API as data, and what follows from it for the generated code.

use std::collections::BTreeMap;

/// Versions from the first to the last, both included; `i16::MAX` stands for "and all later ones".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) first: i16,
    pub(super) last: i16,
}

impl Versions {
    pub(super) const ALL: Self = Self { first: 0, last: i16::MAX };

    pub(super) fn and(self, other: Self) -> Self {
        Self { first: self.first.max(other.first), last: self.last.min(other.last) }
    }

    pub(super) fn is_empty(self) -> bool {
        self.first > self.last
    }

    pub(super) fn covers(self, other: Self) -> bool {
        self.and(other) == other
    }

    /// The Rust condition that holds for `self` within `scope`; `None` when it always does.
    pub(super) fn condition(self, scope: Self) -> Option<String> {
        let inside = self.and(scope);
        match (inside.first == scope.first, inside.last == scope.last) {
            (true, true) => None,
            _ if inside.is_empty() => Some("false".to_owned()),
            _ if inside.first == inside.last => Some(format!("version == {}", inside.first)),
            (false, true) => Some(format!("version >= {}", inside.first)),
            (true, false) => Some(format!("version <= {}", inside.last)),
            (false, false) => Some(format!("({}..={}).contains(&version)", inside.first, inside.last)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    I8,
    I16,
    U16,
    I32,
    I64,
    Uuid,
    Error,
    String,
    Bytes,
    Records,
    Segments,
    Struct(String),
    Array(Box<Self>),
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) kind: Type,
    pub(super) versions: Versions,
    pub(super) nullable: Option<Versions>,
    pub(super) tag: Option<u32>,
    pub(super) default: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) fields: Vec<Field>,
}

/// A request or a response: its root and the structs below it, in the order of their appearance.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) structs: Vec<Struct>,
}

#[derive(Clone, Debug)]
pub(super) struct Api {
    pub(super) name: String,
    pub(super) number: i16,
    pub(super) doc: String,
    pub(super) accept: Versions,
    pub(super) advertise: Versions,
    /// First flexible version.
    pub(super) flexible: Option<i16>,
    pub(super) request: Body,
    pub(super) response: Body,
}

impl Api {
    /// The module and file name.
    pub(super) fn module(&self) -> String {
        let mut name = String::new();
        for c in self.name.chars() {
            if c.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(c.to_ascii_lowercase());
        }
        name
    }

    /// The accepted versions that are flexible; empty if there are none.
    pub(super) fn flexible_versions(&self) -> Versions {
        let first = self.flexible.unwrap_or(i16::MAX);
        self.accept.and(Versions { first, last: i16::MAX })
    }
}

/// What a struct needs besides its fields.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// It borrows from the frame.
    pub(super) lifetime: bool,
    /// It holds segments, and so file handles.
    pub(super) files: bool,
    /// The fewest bytes that it takes in any accepted version.
    pub(super) bytes_min: usize,
}

pub(super) type Shapes = BTreeMap<String, Shape>;

/// The shapes of a body's structs. Structs stand before their users' next fields, so children are looked up lazily.
pub(super) fn shapes(api: &Api, body: &Body) -> Shapes {
    let mut shapes = Shapes::new();
    for of in body.structs.iter().rev() {
        let shape = shape(api, of, &shapes);
        shapes.insert(of.name.clone(), shape);
    }
    shapes
}

fn shape(api: &Api, of: &Struct, known: &Shapes) -> Shape {
    let mut shape = Shape { bytes_min: usize::MAX, ..Shape::default() };
    for field in &of.fields {
        let below = field_shape(&field.kind, known);
        shape.lifetime |= below.lifetime;
        shape.files |= below.files;
    }
    let scope = of
        .fields
        .iter()
        .map(|f| f.versions)
        .reduce(|a, b| Versions { first: a.first.min(b.first), last: a.last.max(b.last) });
    let scope = scope.unwrap_or(Versions::ALL).and(api.accept);
    for version in scope.first..=scope.last {
        shape.bytes_min = shape.bytes_min.min(bytes_min(api, of, version, known));
    }
    shape
}

fn field_shape(kind: &Type, known: &Shapes) -> Shape {
    match kind {
        Type::String | Type::Bytes => Shape { lifetime: true, ..Shape::default() },
        Type::Segments => Shape { files: true, ..Shape::default() },
        Type::Struct(name) => known.get(name).copied().unwrap_or_default(),
        Type::Array(element) => field_shape(element, known),
        _ => Shape::default(),
    }
}

fn bytes_min(api: &Api, of: &Struct, version: i16, known: &Shapes) -> usize {
    let at = Versions { first: version, last: version };
    let flexible = api.flexible.is_some_and(|first| version >= first);
    let fields = of.fields.iter().filter(|field| field.tag.is_none() && field.versions.covers(at));
    let fields = fields.map(|field| match (&field.kind, field.nullable) {
        (Type::Struct(_), Some(_)) => 1,
        (kind, _) => type_bytes_min(kind, flexible, known),
    });
    fields.sum::<usize>() + usize::from(flexible)
}

/// The fewest bytes of a type; in any version if `flexible` is as in the shortest one.
pub(super) fn type_bytes_min(kind: &Type, flexible: bool, known: &Shapes) -> usize {
    match kind {
        Type::Bool | Type::I8 => 1,
        Type::I16 | Type::U16 | Type::Error => 2,
        Type::I32 => 4,
        Type::I64 => 8,
        Type::Uuid => 16,
        Type::String if !flexible => 2,
        Type::Bytes | Type::Records | Type::Segments | Type::Array(_) if !flexible => 4,
        Type::String | Type::Bytes | Type::Records | Type::Segments | Type::Array(_) => 1,
        Type::Struct(name) => known.get(name).map_or(1, |shape| shape.bytes_min),
    }
}
