//! What a broker refuses to start with: it says what is wrong and what to do, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use crate::harness::{Cluster, Node, Setup, free, story, until};

/// Runs `serve` to its end.
fn refused(node: &Node, flags: &[&str]) -> Output {
    let output = node.command().args(flags).output().unwrap();
    assert!(!output.status.success(), "node {} should not start", node.id);
    output
}

#[track_caller]
fn check(output: &Output, code: i32, words: &[&str]) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{told}");
    for word in words {
        assert!(told.contains(word), "{word:?} is not in: {told}");
    }
}

/// Every file below the directory of a node that does not run, with its bytes; locks say who looked last.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let (name, path) = (entry.file_name().into_string().unwrap(), entry.path());
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else if name != "lock" {
            found.insert(name, fs::read(path).unwrap());
        }
    }
    found
}

/// A node whose directory is formatted, and which does not run.
fn formatted() -> Cluster {
    Cluster::laid_out(&Setup { nodes: 1, ..Setup::default() })
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    let cluster = formatted();
    let file = cluster.home.path().join("broker.toml");
    fs::write(&file, "defualt-partitions = 3\n").unwrap();
    let output = refused(&cluster.nodes[0], &["--config", file.to_str().unwrap()]);
    check(&output, 2, &["defualt-partitions", "default-partitions", "broker.toml"]);
}

#[test]
fn a_directory_of_another_node_is_refused() {
    let mut cluster = formatted();
    let before = files(&cluster.nodes[0].data_dir);
    cluster.nodes[0].id = 7;
    check(&refused(&cluster.nodes[0], &[]), 1, &["belongs to node 1, not to node 7"]);
    assert_eq!(files(&cluster.nodes[0].data_dir), before);
}

#[test]
fn a_directory_that_is_not_empty_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let node = Node::new(1, free(1)[0], home.path());
    fs::create_dir(&node.data_dir).unwrap();
    fs::write(node.data_dir.join("holiday.jpg"), "sun").unwrap();
    check(&refused(&node, &[]), 1, &["not empty", "node-1"]);
    assert_eq!(files(&node.data_dir).keys().collect::<Vec<_>>(), ["holiday.jpg"]);
}

#[test]
fn an_address_that_is_taken_is_refused_before_a_directory_is_made() {
    let home = tempfile::tempdir().unwrap();
    let node = Node::new(1, free(1)[0], home.path());
    for port in [node.ports.kafka, node.ports.replica, node.ports.http] {
        let _taken = (TcpListener::bind(("127.0.0.1", port)), UdpSocket::bind(("127.0.0.1", port)));
        check(&refused(&node, &[]), 1, &["in use"]);
        assert!(!node.data_dir.exists(), "{port}");
    }
}

#[test]
fn a_directory_of_a_newer_version_is_refused() {
    let cluster = formatted();
    let path = cluster.nodes[0].data_dir.join("format");
    let mut format = fs::read(&path).unwrap();
    format[5] = 9;
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&format[..12]), &format[16..]);
    format[12..16].copy_from_slice(&checksum.to_be_bytes());
    fs::write(&path, &format).unwrap();
    let before = files(&cluster.nodes[0].data_dir);
    check(&refused(&cluster.nodes[0], &[]), 1, &["newer version", "format 9"]);
    assert_eq!(files(&cluster.nodes[0].data_dir), before);
}

#[test]
fn a_directory_that_another_process_has_is_refused() {
    story(async {
        let mut cluster = formatted();
        cluster.start_all().await;
        let mut second = Node::new(1, free(1)[0], cluster.home.path());
        second.data_dir.clone_from(&cluster.nodes[0].data_dir);
        check(&refused(&second, &[]), 1, &["highwater serve, node 1", "process"]);
        assert!(cluster.nodes[0].is_running());
    });
}

#[test]
fn a_directory_without_permission_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let node = Node::new(1, free(1)[0], home.path());
    fs::create_dir(&node.data_dir).unwrap();
    fs::set_permissions(&node.data_dir, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(node.data_dir.join("probe"), "").is_ok() {
        return eprintln!("skipped: this user may write everywhere");
    }
    let output = refused(&node, &[]);
    fs::set_permissions(&node.data_dir, fs::Permissions::from_mode(0o755)).unwrap();
    check(&output, 1, &["ermission denied"]);
}

#[test]
fn a_directory_of_another_cluster_is_refused() {
    let mut cluster = formatted();
    let before = files(&cluster.nodes[0].data_dir);
    // A token of some other cluster's authority.
    let token = format!("hw1-{:032x}-{:032x}", 7, 7);
    cluster.nodes[0].invitation = Some(("127.0.0.1:1".to_owned(), token));
    check(&refused(&cluster.nodes[0], &[]), 1, &["belongs to another cluster", "node-1", "--data-dir"]);
    assert_eq!(files(&cluster.nodes[0].data_dir), before);
}

#[test]
fn a_door_where_nobody_answers_is_said_while_it_is_tried() {
    story(async {
        let home = tempfile::tempdir().unwrap();
        let [ports, nobody] = free(2).try_into().expect("two were asked for");
        let mut node = Node::new(2, ports, home.path());
        let token = format!("hw1-{:032x}-{:032x}", 7, 7);
        node.invitation = Some((format!("127.0.0.1:{}", nobody.replica), token));
        node.start();
        let said = format!("no answer from 127.0.0.1:{} yet", nobody.replica);
        until(&said, Duration::from_secs(10), async || node.last_lines().contains(&said).then_some(())).await;
        assert!(node.is_running(), "it goes on trying");
        node.kill();
    });
}

#[test]
fn a_left_over_folder_is_set_aside_and_said() {
    story(async {
        let mut cluster = formatted();
        let topics = cluster.nodes[0].data_dir.join("topics");
        let name = "f".repeat(32);
        fs::create_dir_all(topics.join(&name).join("0")).unwrap();
        fs::write(topics.join(&name).join("0/00000000000000000000.log"), "old records").unwrap();
        cluster.start_all().await;
        until("it is out of the way", Duration::from_secs(10), async || {
            (!topics.join(&name).exists()).then_some(())
        })
        .await;
        // A broker that runs renames files while they are looked at.
        cluster.nodes[0].stop().await;
        let kept = files(&cluster.nodes[0].data_dir);
        let kept = kept.iter().find(|(path, _)| path.contains(&name)).expect("nothing is deleted");
        assert_eq!(kept.1, b"old records");
        let told = cluster.nodes[0].last_lines();
        assert!(told.contains("a folder of no known topic was moved to") && told.contains(&name), "{told}");
    });
}
