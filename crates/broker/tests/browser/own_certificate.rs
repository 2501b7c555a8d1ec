//! A certificate of the user's own: it serves every door, and its files are read again when they change.

use std::path::Path;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use rcgen::{CertificateParams, KeyPair};
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::page::Session;
use crate::support::{Running, api_versions, correlation, frames, get};

/// Writes a certificate for `names` and its key, and gives it.
fn write(folder: &Path, names: &[&str]) -> CertificateDer<'static> {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    std::fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    certificate.der().clone()
}

struct World {
    running: Running,
    folder: tempfile::TempDir,
    first: CertificateDer<'static>,
}

async fn start() -> World {
    let folder = tempfile::tempdir().unwrap();
    let first = write(folder.path(), &["localhost", "127.0.0.1"]);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let running = Running::start(&[("tls-cert", &path("cert.pem")), ("tls-key", &path("key.pem"))]).await;
    World { running, folder, first }
}

/// A TLS connection to the HTTP port that trusts one certificate only.
async fn tls(running: &Running, trusted: &CertificateDer<'static>) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(running.http()).await?;
    let name = "localhost".try_into().unwrap();
    TlsConnector::from(Arc::new(tls)).connect(name, stream).await
}

/// Asks by HTTPS.
async fn https(running: &Running, trusted: &CertificateDer<'static>) -> std::io::Result<String> {
    let mut stream = tls(running, trusted).await?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn https_and_http_share_the_port_and_pages_need_no_hash() {
    let world = start().await;
    let answer = https(&world.running, &world.first).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(get(world.running.http(), "/readyz", &[]).await.status, 200);
    let body = world.running.brokers().await;
    assert_eq!(body["brokers"][0]["certificates"], serde_json::json!([]));
    assert_eq!(body["brokers"][0]["websocket"], format!("wss://{}/ws", world.running.http()));
    let hash = ring::digest::digest(&ring::digest::SHA256, &world.first).as_ref().to_vec();
    Session::begin_by(&world.running, vec![hash], None).await.unwrap();
}

#[tokio::test]
async fn files_that_change_are_shown_without_a_restart_and_bad_ones_are_not() {
    let world = start().await;
    std::fs::write(world.folder.path().join("key.pem"), "no key").unwrap();
    assert!(https(&world.running, &world.first).await.is_ok());
    let second = write(world.folder.path(), &["localhost"]);
    while https(&world.running, &second).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert!(https(&world.running, &world.first).await.is_err());
}

/// A WebSocket under TLS that trusts one certificate only.
async fn wss(
    running: &Running,
    trusted: &CertificateDer<'static>,
) -> std::io::Result<WebSocketStream<TlsStream<TcpStream>>> {
    let stream = tls(running, trusted).await?;
    Ok(client_async("wss://localhost/ws", stream).await.unwrap().0)
}

async fn ask(socket: &mut WebSocketStream<TlsStream<TcpStream>>, number: i32) -> i32 {
    socket.send(Message::Binary(api_versions(number).into())).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap();
    correlation(&frames(&answer.into_data())[0])
}

#[tokio::test]
async fn files_that_change_leave_the_sockets_that_are_there_and_every_door_shows_the_new_one() {
    let world = start().await;
    let mut old = wss(&world.running, &world.first).await.unwrap();
    assert_eq!(ask(&mut old, 1).await, 1);
    let second = write(world.folder.path(), &["localhost", "127.0.0.1"]);
    let mut new = loop {
        match wss(&world.running, &second).await {
            Ok(socket) => break socket,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert_eq!((ask(&mut old, 2).await, ask(&mut new, 3).await), (2, 3));
    assert!(wss(&world.running, &world.first).await.is_err());
    let hash =
        |shown: &CertificateDer<'_>| ring::digest::digest(&ring::digest::SHA256, shown).as_ref().to_vec();
    Session::begin_by(&world.running, vec![hash(&second)], None).await.unwrap();
    assert!(Session::begin_by(&world.running, vec![hash(&world.first)], None).await.is_err());
}

#[tokio::test]
async fn a_certificate_of_the_users_own_is_not_rotated_by_the_broker() {
    let world = start().await;
    let refused = crate::support::ask(world.running.http(), "POST", "/certificate/rotate", &[]).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("tls-cert"), "{refused:?}");
}
