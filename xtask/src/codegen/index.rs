//! Writes what is made of all APIs together: the table of keys and versions, and the enums of all bodies.

use std::fmt::Write as _;

use super::schema::{Api, shapes};

/// `src/api_key.rs`: the one table from which version negotiation, decode limits and docs come.
pub(super) fn api_key(apis: &[Api]) -> String {
    let mut code = String::from(
        "// @generated from schemas/ by cargo xtask codegen\n\
         //! Which APIs there are and in which versions; the one place that says so.\n//!\n",
    );
    for line in table(apis).lines() {
        let _ = writeln!(code, "//! {line}");
    }
    code.push_str("\nuse crate::api::ApiSpec;\n\n");
    code.push_str("/// An API of the protocol.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\npub enum ApiKey {\n");
    for api in apis {
        let _ = writeln!(code, "/// {}\n{},", api.doc, api.name);
    }
    code.push_str("}\n\nimpl ApiKey {\n/// Every API, by number.\npub const ALL: &'static [Self] = &[");
    for api in apis {
        let _ = write!(code, "Self::{}, ", api.name);
    }
    code.push_str("];\n\n/// The API of that number.\npub const fn from_number(number: i16) -> Option<Self> {\nSome(match number {\n");
    for api in apis {
        let _ = writeln!(code, "{} => Self::{},", api.number, api.name);
    }
    code.push_str("_ => return None,\n})\n}\n\n/// Number, name and versions of the API.\npub const fn spec(self) -> &'static ApiSpec {\nmatch self {\n");
    for api in apis {
        let _ = writeln!(code, "Self::{} => {},", api.name, spec(api));
    }
    code.push_str("}\n}\n}\n");
    code
}

fn table(apis: &[Api]) -> String {
    let mut table = String::from("| key | API | decoded | advertised | flexible |\n|---|---|---|---|---|\n");
    for api in apis {
        let flexible = api.flexible.map_or("never".to_owned(), |first| format!("{first}+"));
        let (accept, advertise) = (api.accept, api.advertise);
        let _ = writeln!(
            table,
            "| {} | {} | {}-{} | {}-{} | {flexible} |",
            api.number, api.name, accept.first, accept.last, advertise.first, advertise.last
        );
    }
    table
}

/// `docs/kafka-apis.md`.
pub(super) fn table_for_users(apis: &[Api]) -> String {
    format!(
        "<!-- @generated from crates/kafka-wire/schemas by cargo xtask codegen -->\n\n# Kafka APIs\n\n\
         What the protocol crate reads and writes. A broker advertises the APIs that it handles, with the range in the \
         column *advertised*; it\nanswers those in *decoded*. `Produce` 0 to 2 are advertised because older clients take \
         them as the sign that compression works; no client\nsends them. Flexible versions have compact lengths and \
         tagged fields.\n\n{}",
        table(apis)
    )
}

fn spec(api: &Api) -> String {
    let (accept, advertise) = (api.accept, api.advertise);
    format!(
        "const {{ &ApiSpec::new({}, \"{}\", [{}, {}, {}], {:?}) }}",
        api.number, api.name, accept.first, advertise.first, accept.last, api.flexible
    )
}

/// `src/messages/mod.rs`: the modules, and one enum each for all requests and all responses.
pub(super) fn messages(apis: &[Api]) -> String {
    let mut code = String::from(
        "// @generated from schemas/ by cargo xtask codegen\n\
         //! The messages: one module for each API, and enums over all of them.\n\nuse crate::{ApiKey, NoFile};\n\
         #[cfg(any(feature = \"broker\", feature = \"client\"))]\nuse crate::{Decode, DecodeError, EncodeError, Reader, Rope};\n\n",
    );
    for api in apis {
        let _ = writeln!(code, "pub mod {};", api.module());
    }
    code.push('\n');
    request(&mut code, apis);
    response(&mut code, apis);
    code
}

fn request(code: &mut String, apis: &[Api]) {
    let name = |api: &Api| parameters(api, true, "'a");
    variants(code, apis, "/// The body of any request.", "Request<'a>", name);
    let _ = writeln!(code, "impl<'a> Request<'a> {{");
    key(code, apis);
    read(code, apis, "broker");
    code.push_str(
        "/// The whole frame of the request.\n#[cfg(feature = \"client\")]\n\
         pub fn to_frame(&self, version: i16, correlation_id: i32, client_id: Option<&str>) -> Result<Rope, EncodeError> {\nmatch self {\n",
    );
    for api in apis {
        let _ = writeln!(
            code,
            "Self::{}(body) => crate::encode_request(version, correlation_id, client_id, body),",
            api.name
        );
    }
    code.push_str("}\n}\n}\n\n");
}

fn response(code: &mut String, apis: &[Api]) {
    let name = |api: &Api| parameters(api, false, "'a");
    variants(
        code,
        apis,
        "/// The body of any response. `F` is the handle of files whose ranges are sent.",
        "Response<'a, F = NoFile>",
        name,
    );
    code.push_str("impl<'a> Response<'a> {\n");
    read(code, apis, "client");
    code.push_str("}\n\nimpl<F> Response<'_, F> {\n");
    key(code, apis);
    code.push_str(
        "/// The whole frame of the response.\n#[cfg(feature = \"broker\")]\n\
         pub fn to_frame(&self, version: i16, correlation_id: i32) -> Result<Rope<F>, EncodeError> where F: Clone {\nmatch self {\n",
    );
    for api in apis {
        let _ = writeln!(
            code,
            "Self::{}(body) => crate::encode_response(version, correlation_id, body),",
            api.name
        );
    }
    code.push_str("}\n}\n}\n");
}

fn variants(code: &mut String, apis: &[Api], doc: &str, head: &str, body: impl Fn(&Api) -> String) {
    let _ = writeln!(code, "{doc}\n#[derive(Clone, Debug, PartialEq, Eq)]\npub enum {head} {{");
    for api in apis {
        let _ = writeln!(code, "/// {}\n{}({}),", api.doc, api.name, body(api));
    }
    code.push_str("}\n\n");
}

fn key(code: &mut String, apis: &[Api]) {
    code.push_str(
        "/// The API that the body belongs to.\npub const fn key(&self) -> ApiKey {\nmatch self {\n",
    );
    for api in apis {
        let _ = writeln!(code, "Self::{}(_) => ApiKey::{},", api.name, api.name);
    }
    code.push_str("}\n}\n\n");
}

fn read(code: &mut String, apis: &[Api], feature: &str) {
    let _ = writeln!(
        code,
        "/// Reads the body of `key` in `version`, which the caller has checked to be accepted.\n#[cfg(feature = \"{feature}\")]\n\
         pub fn decode(r: &mut Reader<'a>, key: ApiKey, version: i16) -> Result<Self, DecodeError> {{\nOk(match key {{"
    );
    for api in apis {
        let _ =
            writeln!(code, "ApiKey::{name} => Self::{name}(Decode::decode(r, version)?),", name = api.name);
    }
    code.push_str("})\n}\n\n");
}

fn parameters(api: &Api, request: bool, lifetime: &str) -> String {
    let (body, side) = if request { (&api.request, "Request") } else { (&api.response, "Response") };
    let shape = shapes(api, body).get(&format!("{}{side}", api.name)).copied().unwrap_or_default();
    let parameters = match (shape.lifetime, shape.files) {
        (true, true) => format!("<{lifetime}, F>"),
        (true, false) => format!("<{lifetime}>"),
        (false, true) => "<F>".to_owned(),
        (false, false) => String::new(),
    };
    format!("{}::{}{side}{parameters}", api.module(), api.name)
}
