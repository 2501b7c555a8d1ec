//! What a client is shown of a topic's or the cluster's configuration.

use super::table::{CONFIGS, ConfigDef, Scope};
use super::value::ConfigMap;

/// A key with its value and where that comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The key's definition.
    pub def: &'static ConfigDef,
    /// The key's name for the resource that was asked for.
    pub name: &'static str,
    /// The value in force.
    pub value: String,
    /// Where it comes from.
    pub source: ConfigSource,
    /// Every value that is set for it, the one in force first, each with the name it is set by.
    pub synonyms: Vec<(&'static str, String, ConfigSource)>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigSource {
    /// The topic's own.
    Topic,
    /// The cluster-wide default.
    Cluster,
    /// The built-in default.
    Default,
}

/// Every key of a topic.
#[must_use]
pub fn describe_topic(topic: &ConfigMap, cluster: &ConfigMap) -> Vec<ConfigEntry> {
    CONFIGS.iter().filter_map(|def| entry(def, def.topic?, Some(topic), cluster)).collect()
}

/// Every cluster-wide key.
#[must_use]
pub fn describe_cluster(cluster: &ConfigMap) -> Vec<ConfigEntry> {
    CONFIGS.iter().filter_map(|def| entry(def, def.cluster?, None, cluster)).collect()
}

fn entry(
    def: &'static ConfigDef,
    name: &'static str,
    topic: Option<&ConfigMap>,
    cluster: &ConfigMap,
) -> Option<ConfigEntry> {
    let own = topic.and_then(|map| set(def, Scope::Topic, map, ConfigSource::Topic));
    let shared = set(def, Scope::Cluster, cluster, ConfigSource::Cluster);
    let built_in = (def.cluster.unwrap_or(name), def.default.to_owned(), ConfigSource::Default);
    let synonyms: Vec<_> = own.into_iter().chain(shared).chain([built_in]).collect();
    let (_, value, source) = synonyms.first().cloned()?;
    Some(ConfigEntry { def, name, value, source, synonyms })
}

fn set(
    def: &'static ConfigDef,
    scope: Scope,
    map: &ConfigMap,
    source: ConfigSource,
) -> Option<(&'static str, String, ConfigSource)> {
    let name = def.name(scope)?;
    map.get(name).map(|value| (name, value.clone(), source))
}
