//! `GET /brokers`: where pages reach the brokers.

use crate::support::{Running, ask, get};

#[tokio::test]
async fn pages_learn_addresses_and_hashes() {
    let running = Running::start(&[]).await;
    let body = running.brokers().await;
    let (quic, http) = (running.quic(), running.http());
    assert_eq!(body["answered_by"], 1);
    let broker = &body["brokers"][0];
    assert_eq!(broker["id"], 1);
    assert_eq!(broker["webtransport"], format!("https://{quic}/kafka"));
    assert_eq!(broker["websocket"], format!("ws://{http}/ws"));
    let certificates = broker["certificates"].as_array().unwrap();
    assert_eq!(certificates.len(), 2);
    for certificate in certificates {
        assert_eq!(certificate["sha256"].as_str().unwrap().len(), 64);
        let valid =
            certificate["not_after_ms"].as_i64().unwrap() - certificate["not_before_ms"].as_i64().unwrap();
        assert!(valid < 14 * 86_400_000);
    }
}

#[tokio::test]
async fn only_pages_that_may_connect_may_read_the_list() {
    let running = Running::start(&[]).await;
    let allowed = get(running.http(), "/brokers", &[("origin", "http://127.0.0.1:5173")]).await;
    assert!(allowed.head.contains("access-control-allow-origin: http://127.0.0.1:5173"), "{allowed:?}");
    let foreign = get(running.http(), "/brokers", &[("origin", "https://evil.example")]).await;
    assert_eq!(foreign.status, 403);
    assert!(!foreign.head.contains("access-control"), "{foreign:?}");
}

#[tokio::test]
async fn hashes_outlive_a_restart_and_a_rotation_moves_the_next_one_up() {
    let running = Running::start(&[]).await;
    let hashes = |body: &serde_json::Value| {
        let list = body["brokers"][0]["certificates"].as_array().unwrap();
        list.iter().map(|found| found["sha256"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let before = hashes(&running.brokers().await);
    let running = running.restart(&[]).await;
    assert_eq!(hashes(&running.brokers().await), before);
    let rotated = ask(running.http(), "POST", "/certificate/rotate", &[]).await;
    assert_eq!(rotated.status, 200, "{rotated:?}");
    loop {
        let after = hashes(&running.brokers().await);
        if after != before {
            assert_eq!(after[0], before[1]);
            break;
        }
        tokio::task::yield_now().await;
    }
}
