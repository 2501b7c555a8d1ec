//! The configuration: any text as the file, as a variable and as a flag is taken or refused with a reason of one line or a few.
//!
//! The module is compiled from its source, since the crate around it brings the whole network stack along.

#![no_main]

#[path = "../../crates/broker/src/config/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub)]
mod config;

use std::path::Path;

use config::{Config, SETTINGS};
use highwater_fuzz::Choices;

highwater_fuzz::target!(seeds, check);

fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let setting = SETTINGS[choices.below(SETTINGS.len())].name;
    let Ok(text) = std::str::from_utf8(choices.rest()) else { return };
    let no = |_: &str| None;
    let one = |name: &str| (name == setting).then(|| text.to_owned());
    let all = [
        Config::load(None, no, one),
        Config::load(None, |_| Some(text.to_owned()), no),
        Config::from_text(Path::new("highwater.toml"), text),
    ];
    for refused in all.into_iter().filter_map(Result::err) {
        assert!(!refused.to_string().is_empty());
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let whole: String = SETTINGS
        .iter()
        .filter(|setting| !setting.default.is_empty())
        .map(|setting| format!("{} = \"{}\"\n", setting.name, setting.default))
        .collect();
    let one = |(number, default): (u8, &str)| [&[number][..], default.as_bytes()].concat();
    let defaults = SETTINGS.iter().map(|setting| setting.default);
    let mut seeds: Vec<Vec<u8>> = (0..).zip(defaults).map(one).collect();
    seeds.push([&[0][..], whole.as_bytes()].concat());
    seeds.push(
        b"\0shards = 2\nlisten = \"[::1]:9092\"\nretention = 7.5\n[table]\nx = [1, 1979-05-27]\n".to_vec(),
    );
    seeds
}
