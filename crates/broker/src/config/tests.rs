//! Every setting by every way in, and what is refused.

use super::*;

fn load(toml: &str, env: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("highwater.toml");
    std::fs::write(&path, toml).unwrap();
    let find = |list: &[(&str, &str)], name: &str| {
        list.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    };
    Config::load(Some(&path), |name| find(env, name), |name| find(flags, name))
        .map_err(|e| e.to_string().replace(&dir.path().display().to_string(), "DIR"))
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let file = "node-id = 1\nrack = \"a\"\nlisten = \"0.0.0.0:1\"";
    let config =
        load(file, &[("HIGHWATER_RACK", "b"), ("HIGHWATER_LISTEN", "[::]:2")], &[("listen", "h:3")]).unwrap();
    assert_eq!(config.node_id, Some(BrokerId(1)));
    assert_eq!(config.rack.as_deref(), Some("b"));
    assert_eq!(config.listen.to_string(), "h:3");
    assert_eq!(config.default_retention, Some(Duration::from_secs(7 * 86_400)));
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    assert_eq!(
        load("data_dri = \"x\"", &[], &[]).unwrap_err(),
        "DIR/highwater.toml has the unknown key data_dri; the nearest known one is data-dir"
    );
}

#[test]
fn what_is_not_toml_is_refused_in_one_line_with_its_place() {
    let told = load("shards = 1\nrack = 'a' 'b'\n", &[], &[]).unwrap_err();
    assert!(told.starts_with("DIR/highwater.toml is not TOML: line 2, column 12: "), "{told}");
    assert!(!told.contains('\n'), "{told}");
}

#[test]
fn a_value_that_does_not_fit_is_refused_with_its_place() {
    let cases = [
        (
            load("shards = 1000", &[], &[]),
            "shards in DIR/highwater.toml must be a whole number from 0 to 256",
        ),
        (
            load("default-partitions = 10001", &[], &[]),
            "default-partitions in DIR/highwater.toml must be a whole number from 1 to 10000",
        ),
        (load("rack = [1]", &[], &[]), "rack in DIR/highwater.toml must be a text, a number or true/false"),
        (
            load("", &[("HIGHWATER_LISTEN", "nowhere")], &[]),
            "HIGHWATER_LISTEN must be an address, as in 127.0.0.1:9092",
        ),
        (
            load("", &[], &[("default-retention", "7 years")]),
            "--default-retention must be forever, or a duration, as in 12h or 7d",
        ),
        (load("", &[], &[("connection-idle", "99ms")]), "--connection-idle must be at least 100ms"),
        (
            load("", &[], &[("join", "a:1")]),
            "join is set without its other half: join needs token, tls-cert needs tls-key",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found.unwrap_err(), expected);
    }
}

#[test]
fn there_are_fewer_than_thirty_settings_and_each_says_why() {
    assert!(SETTINGS.len() < 30);
    assert!(SETTINGS.iter().all(|setting| !setting.about.is_empty() && !setting.why.is_empty()));
    assert!(reference().contains("| `data-dir` | `HIGHWATER_DATA_DIR` |"));
}

#[test]
fn sizes_and_durations_have_units() {
    assert_eq!(value::size("64MiB"), Ok(64 << 20));
    assert_eq!(value::size("99999999999TiB"), Err(Invalid::NotASize));
    assert_eq!(value::duration("90s"), Ok(Duration::from_secs(90)));
    assert_eq!(value::duration("90"), Err(Invalid::NotADuration));
}

#[test]
fn an_origin_has_a_scheme_and_a_host_and_nothing_more() {
    for text in ["https://a.b", "http://a:1", "https://[::1]:2"] {
        assert!(text.parse::<PageOrigin>().is_ok(), "{text}");
    }
    for text in ["a.b", "https://", "https://a/b", "*", "https://*", "https://a b"] {
        assert_eq!(text.parse::<PageOrigin>(), Err(Invalid::NotAnOrigin), "{text}");
    }
}
