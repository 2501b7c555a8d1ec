//! The notation, and that the committed files are what the schemas say.

use super::parse::{api, glossary};
use super::schema::Versions;
use super::*;

fn parse(fields: &str) -> Result<Api> {
    let text = format!("# Tries.\napi TryThis 7\naccept 1-4\nflexible 3+\n\nrequest\n{fields}\nresponse\n");
    api(&text, &glossary("name  A name."))
}

#[test]
fn committed_files_are_as_the_schemas_say() {
    run(true).unwrap();
}

#[test]
fn a_version_range_becomes_the_shortest_condition() {
    let scope = Versions { first: 1, last: 9 };
    let condition = |first, last| Versions { first, last }.condition(scope);
    assert_eq!(condition(0, i16::MAX), None);
    assert_eq!(condition(4, i16::MAX).as_deref(), Some("version >= 4"));
    assert_eq!(condition(0, 4).as_deref(), Some("version <= 4"));
    assert_eq!(condition(9, 12).as_deref(), Some("version == 9"));
    assert_eq!(condition(2, 4).as_deref(), Some("(2..=4).contains(&version)"));
    assert_eq!(condition(10, 12).as_deref(), Some("false"));
}

#[test]
fn fields_are_read_with_all_they_can_have() {
    let api = parse("  name string?2+ @1-3 tag 5\n  parts [Part]  # Parts.\n    name i32 = -1").unwrap();
    let [root, part] = api.request.structs.as_slice() else { panic!("two structs") };
    let [name, parts] = root.fields.as_slice() else { panic!("two fields") };
    assert_eq!(name.versions, Versions { first: 1, last: 3 });
    assert_eq!(name.nullable, Some(Versions { first: 2, last: i16::MAX }));
    assert_eq!((name.tag, name.doc.as_str(), parts.doc.as_str()), (Some(5), "A name.", "Parts."));
    assert_eq!((part.name.as_str(), part.fields[0].default.as_deref()), ("Part", Some("-1")));
}

#[test]
fn a_mistake_names_its_line_and_what_is_wrong() {
    let fault = |fields: &str| format!("{:#}", parse(fields).unwrap_err());
    assert_eq!(fault("  name i31"), "line 7: no such type: i31");
    assert_eq!(fault("  name i32 @x"), "line 7: invalid digit found in string");
    assert_eq!(fault("  name i32 @5+"), "line 7: field name is in no accepted version");
    assert_eq!(fault("  other i32"), "line 7: field other has no doc and is not in the glossary");
    assert_eq!(fault("  name i32 twice"), "line 7: not understood: twice");
    assert_eq!(fault("  name i32\n    name i32"), "line 7: fields below a field that is no struct");
}

#[test]
fn the_least_size_of_an_element_is_that_of_its_shortest_version() {
    let api = parse("  parts [Part]  # Parts.\n    name string\n    name_too i32 @4+  # Number.").unwrap();
    let shapes = schema::shapes(&api, &api.request);
    // Version 1 has a length of two bytes; version 3 one of one byte, and one for its tags.
    assert_eq!(shapes["Part"].bytes_min, 2);
    assert!(shapes["Part"].lifetime);
}
