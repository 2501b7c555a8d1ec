//! Checking values, and editing a resource's own values.

use std::collections::BTreeMap;

use super::table::{ConfigDef, Kind, Scope, find};
use super::{CONFIGS, InvalidConfig};
use crate::record::ConfigOp;

/// A resource's own values: canonical text by key. Only checked keys and values get in.
pub type ConfigMap = BTreeMap<&'static str, String>;

/// Checks a value and returns its canonical text.
///
/// # Errors
///
/// If it is not of the key's type or out of its range.
pub fn check(def: &'static ConfigDef, scope: Scope, value: &str) -> Result<String, InvalidConfig> {
    let key = def.name(scope).unwrap_or_default();
    let shown = || value.chars().take(80).collect::<String>();
    let value = value.trim();
    match def.kind {
        Kind::Int { min, max } | Kind::Long { min, max } => match value.parse::<i64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(number.to_string()),
            _ => Err(InvalidConfig::Number { key, value: shown(), min, max }),
        },
        Kind::Boolean { allowed } => {
            let lower = value.to_ascii_lowercase();
            let known = allowed.iter().find(|word| **word == lower);
            known.map(|word| (*word).to_owned()).ok_or_else(|| InvalidConfig::Choice {
                key,
                value: shown(),
                allowed,
            })
        }
        Kind::Choice { allowed } => {
            let known = allowed.iter().find(|word| **word == value);
            known.map(|word| (*word).to_owned()).ok_or_else(|| InvalidConfig::Choice {
                key,
                value: shown(),
                allowed,
            })
        }
        Kind::List { allowed } => {
            let words: Vec<&str> = words(value).collect();
            if words.is_empty() || words.iter().any(|word| !allowed.contains(word)) {
                return Err(InvalidConfig::Choice { key, value: shown(), allowed });
            }
            Ok(words.join(","))
        }
    }
}

/// A resource's values after `changes`; checked as a whole before anything is changed.
pub(crate) fn edit(
    scope: Scope,
    present: &ConfigMap,
    replace: bool,
    changes: &[(String, ConfigOp)],
) -> Result<ConfigMap, InvalidConfig> {
    let mut map = if replace { ConfigMap::new() } else { present.clone() };
    for (key, op) in changes {
        let def = find(scope, key)?;
        let name = def.name(scope).unwrap_or_default();
        match op {
            ConfigOp::Set(value) => map.insert(name, check(def, scope, value)?),
            ConfigOp::Delete => map.remove(name),
            ConfigOp::Append(value) | ConfigOp::Subtract(value) => {
                if !matches!(def.kind, Kind::List { .. }) {
                    return Err(InvalidConfig::NotAList { key: name });
                }
                let present = map.get(name).map_or(def.default, String::as_str);
                let list = combine(present, value, matches!(op, ConfigOp::Append(_)));
                map.insert(name, check(def, scope, &list)?)
            }
        };
    }
    Ok(map)
}

/// Reads stored values back: keys and values that this build does not know are an error, never dropped.
pub(crate) fn restore(scope: Scope, stored: &[(String, String)]) -> Result<ConfigMap, InvalidConfig> {
    let sets: Vec<_> =
        stored.iter().map(|(key, value)| (key.clone(), ConfigOp::Set(value.clone()))).collect();
    edit(scope, &ConfigMap::new(), true, &sets)
}

fn combine(present: &str, change: &str, append: bool) -> String {
    let changed: Vec<&str> = words(change).collect();
    let kept = words(present).filter(|word| !changed.contains(word));
    let all: Vec<&str> = if append { kept.chain(changed.iter().copied()).collect() } else { kept.collect() };
    all.join(",")
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|word| !word.is_empty())
}

/// The value of a key for a topic: its own, else the cluster's, else the default.
pub(super) fn resolve<'a>(key: &str, topic: &'a ConfigMap, cluster: &'a ConfigMap) -> &'a str {
    let def = CONFIGS.iter().find(|def| def.topic == Some(key) || def.cluster == Some(key));
    let own = def.and_then(|def| def.topic).and_then(|name| topic.get(name));
    let shared = || def.and_then(|def| def.cluster).and_then(|name| cluster.get(name));
    own.or_else(shared).map_or_else(|| def.map_or("", |def| def.default), String::as_str)
}
