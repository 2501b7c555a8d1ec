//! Configuration: the table, checks, edits, and which value wins.

use super::*;
use crate::record::ConfigOp;

fn set(key: &str, value: &str) -> (String, ConfigOp) {
    (key.to_owned(), ConfigOp::Set(value.to_owned()))
}

fn edited(changes: &[(String, ConfigOp)]) -> Result<ConfigMap, InvalidConfig> {
    edit(Scope::Topic, &ConfigMap::new(), false, changes)
}

#[test]
fn every_default_is_valid_and_every_key_documented() {
    for def in CONFIGS {
        for scope in [Scope::Topic, Scope::Cluster] {
            if let Some(name) = def.name(scope) {
                assert_eq!(check(def, scope, def.default).as_deref(), Ok(def.default), "{name}");
                assert_eq!(find(scope, name), Ok(def));
            }
        }
        assert!(def.doc.len() > 20);
    }
    let settings = ClusterSettings::resolve(&ConfigMap::new());
    assert_eq!((settings.topic.min_insync_replicas, settings.default_replication_factor), (2, 3));
}

#[test]
fn an_unknown_key_names_the_nearest_known_one() {
    let refused = edited(&[set("retention.mss", "1")]).unwrap_err();
    assert_eq!(refused.to_string(), "unknown configuration key retention.mss; did you mean retention.ms?");
    assert!(matches!(edited(&[set("durability", "replicated")]), Err(InvalidConfig::UnknownKey { .. })));
    assert!(matches!(edited(&[set("num.partitions", "3")]), Err(InvalidConfig::UnknownKey { .. })));
}

#[test]
fn values_out_of_range_or_not_supported_are_refused_with_what_is_allowed() {
    let refused = edited(&[set("retention.ms", "-2")]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "retention.ms is -2: it must be a whole number from -1 to 9223372036854775807"
    );
    assert!(edited(&[set("retention.ms", "a week")]).is_err());
    assert!(edited(&[set("cleanup.policy", "compact")]).is_err());
    assert!(edited(&[set("unclean.leader.election.enable", "true")]).is_err());
    assert!(edited(&[set("unclean.leader.election.enable", "FALSE")]).is_ok());
    assert!(edited(&[set("compression.type", "zstd")]).is_err());
    assert!(edited(&[set("min.insync.replicas", "0")]).is_err());
}

#[test]
fn a_list_is_appended_to_and_a_number_is_not() {
    let append = ("cleanup.policy".to_owned(), ConfigOp::Append("delete".to_owned()));
    assert_eq!(edited(&[append]).unwrap().get("cleanup.policy").map(String::as_str), Some("delete"));
    let subtract = ("cleanup.policy".to_owned(), ConfigOp::Subtract("delete".to_owned()));
    assert!(edited(&[subtract]).is_err());
    let number = ("retention.ms".to_owned(), ConfigOp::Append("1".to_owned()));
    assert_eq!(edited(&[number]), Err(InvalidConfig::NotAList { key: "retention.ms" }));
}

#[test]
fn a_topic_value_hides_the_cluster_value_which_hides_the_default() {
    let cluster = edit(Scope::Cluster, &ConfigMap::new(), false, &[set("log.retention.ms", "1000")]).unwrap();
    let topic = edited(&[set("retention.ms", "-1"), set("segment.bytes", " 4096 ")]).unwrap();
    assert_eq!(TopicSettings::resolve(&ConfigMap::new(), &cluster).retention_ms, Some(1000));
    let settings = TopicSettings::resolve(&topic, &cluster);
    assert_eq!((settings.retention_ms, settings.segment_bytes), (None, 4096));
    let shown = describe_topic(&topic, &cluster);
    let retention = shown.iter().find(|entry| entry.name == "retention.ms").unwrap();
    assert_eq!((retention.value.as_str(), retention.source), ("-1", ConfigSource::Topic));
    let names: Vec<_> = retention.synonyms.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, ["retention.ms", "log.retention.ms", "log.retention.ms"]);
    assert!(describe_cluster(&cluster).iter().any(|entry| entry.name == "num.partitions"));
}

#[test]
fn replacing_returns_what_is_not_named_to_its_default() {
    let present = edited(&[set("retention.ms", "5"), set("segment.ms", "7")]).unwrap();
    let replaced = edit(Scope::Topic, &present, true, &[set("segment.ms", "8")]).unwrap();
    assert_eq!(replaced, edited(&[set("segment.ms", "8")]).unwrap());
    let deleted =
        edit(Scope::Topic, &present, false, &[("retention.ms".to_owned(), ConfigOp::Delete)]).unwrap();
    assert_eq!(deleted, edited(&[set("segment.ms", "7")]).unwrap());
}
