//! Two brokers over real sockets: who is let in, what a stream carries, what happens when one goes away.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a step that fails is a failed test")]

use bytes::Bytes;
use highwater_replica::{
    ClusterCa, ConnectError, Identity, JoinAnswer, JoinError, JoinRefusal, JoinRequest, JoinToken,
    PeerConnection, PeerEndpoint, Pool, StreamError, Target, join,
};
use log_core::{BrokerId, ClusterId, DirectoryId, FrameLimits, frame_head};
use replica_core::StreamKind;

const LIMITS: FrameLimits = FrameLimits { header_bytes_max: 16, payload_bytes_max: 1 << 20 };
const ONE: BrokerId = BrokerId(1);
const TWO: BrokerId = BrokerId(2);

type Addresses = Vec<(String, u16)>;

fn ca() -> ClusterCa {
    ClusterCa::create(ClusterId([1; 16])).unwrap()
}

fn bind(identity: &Identity) -> (PeerEndpoint, Addresses) {
    let endpoint = PeerEndpoint::bind("127.0.0.1:0".parse().unwrap(), identity).unwrap();
    let port = endpoint.local_addr().unwrap().port();
    (endpoint, vec![("127.0.0.1".to_owned(), port)])
}

fn frame(payload: &Bytes) -> [Bytes; 2] {
    [Bytes::from(frame_head(b"h", payload.len())), payload.clone()]
}

async fn arrive(endpoint: &PeerEndpoint) -> Result<(PeerConnection, Target), ConnectError> {
    let arrival = endpoint.accept().await.expect("the endpoint is open");
    let target = arrival.target;
    Ok((arrival.complete().await?, target))
}

/// Broker 1 has called broker 2 for this target: both ends, and the endpoints that must live on.
async fn connected(target: Target) -> (PeerConnection, PeerConnection, [PeerEndpoint; 2]) {
    let ca = ca();
    let (one, _) = bind(&ca.issue(ONE).unwrap());
    let (two, addresses) = bind(&ca.issue(TWO).unwrap());
    let (called, arrived) = tokio::join!(one.connect(TWO, &addresses, target), arrive(&two));
    let (arrived, seen) = arrived.unwrap();
    assert_eq!(seen, target);
    (called.unwrap(), arrived, [one, two])
}

#[tokio::test]
async fn both_ends_know_each_other_and_whom_the_connection_is_for() {
    let (called, arrived, _endpoints) = connected(Target::Shard(3)).await;
    assert_eq!((called.broker(), arrived.broker()), (Some(TWO), Some(ONE)));
}

#[tokio::test]
async fn a_broker_with_another_authority_is_refused() {
    let (one, _) = bind(&ca().issue(ONE).unwrap());
    let (two, addresses) = bind(&ca().issue(TWO).unwrap());
    let (called, arrived) = tokio::join!(one.connect(TWO, &addresses, Target::Control), arrive(&two));
    let told = called.unwrap_err().to_string();
    assert!(told.contains("certificate") && told.contains(&addresses[0].1.to_string()), "{told}");
    assert!(arrived.is_err());
}

#[tokio::test]
async fn a_broker_that_answers_for_another_is_refused() {
    let ca = ca();
    let (one, _) = bind(&ca.issue(ONE).unwrap());
    let (two, addresses) = bind(&ca.issue(TWO).unwrap());
    let (called, _) = tokio::join!(one.connect(BrokerId(3), &addresses, Target::Control), arrive(&two));
    let told = called.unwrap_err().to_string();
    let names = ["broker-3.highwater.internal", "broker-2.highwater.internal"];
    assert!(names.iter().all(|name| told.contains(name)), "the name wanted and the name found: {told}");
}

/// Calls as somebody who trusts the authority and has no certificate of it.
async fn call_without_certificate(ca: &ClusterCa, to: std::net::SocketAddr) -> quinn::Connection {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ca.certificate().clone()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"highwater-replica/1".to_vec()];
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(config).unwrap();
    let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let config = quinn::ClientConfig::new(std::sync::Arc::new(crypto));
    endpoint.connect_with(config, to, "broker-2.highwater.internal").unwrap().await.unwrap()
}

#[tokio::test]
async fn a_peer_without_a_certificate_may_only_join() {
    let ca = ca();
    let (two, _) = bind(&ca.issue(TWO).unwrap());
    let (called, arrived) =
        tokio::join!(call_without_certificate(&ca, two.local_addr().unwrap()), arrive(&two));
    let arrived = arrived.unwrap().0;
    assert_eq!(arrived.broker(), None);
    for kind in [StreamKind::Replica, StreamKind::Control, StreamKind::Raft, StreamKind::Join] {
        let (mut sender, _receiver) = called.open_bi().await.unwrap();
        sender.write_all(&kind.hello(1)).await.unwrap();
        let (_sender, mut receiver) = arrived.accept().await.unwrap();
        match receiver.hello().await {
            Ok(hello) => assert_eq!(hello, (StreamKind::Join, 1)),
            Err(StreamError::NotProven(refused)) => assert_eq!(refused, kind),
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_stream_says_what_it_carries_and_frames_arrive_whole_and_in_order() {
    let (called, arrived, _endpoints) = connected(Target::Control).await;
    let payloads: Vec<Bytes> = (0..100u32).map(|n| Bytes::from(vec![n as u8; n as usize * 997])).collect();
    let sent = payloads.clone();
    let send = async {
        let (mut sender, receiver) = called.open(StreamKind::Control, 7).await.unwrap();
        for payload in &sent {
            sender.send(&mut frame(payload)).await.unwrap();
        }
        sender.finish();
        receiver
    };
    let receive = async {
        let (_sender, mut receiver) = arrived.accept().await.unwrap();
        assert_eq!(receiver.hello().await.unwrap(), (StreamKind::Control, 7));
        let mut payloads = Vec::new();
        while let Some(frame) = receiver.next(LIMITS).await.unwrap() {
            assert_eq!(&frame.header[..], b"h");
            payloads.push(frame.payload);
        }
        payloads
    };
    let (_receiver, received) = tokio::join!(send, receive);
    assert_eq!(received, payloads);
}

#[tokio::test]
async fn a_stream_that_is_not_read_holds_up_no_other() {
    let (called, arrived, _endpoints) = connected(Target::Shard(0)).await;
    let megabyte = Bytes::from(vec![7; 1 << 20]);
    let (mut slow, _slow_receiver) = called.open(StreamKind::Replica, 1).await.unwrap();
    let (_unread_sender, mut unread) = arrived.accept().await.unwrap();
    unread.hello().await.unwrap();
    let mut held_up = 0;
    let fill = async {
        loop {
            slow.send(&mut frame(&megabyte)).await.unwrap();
            held_up += 1;
        }
    };
    let others = async {
        for _ in 0..15 {
            let (mut sender, _receiver) = called.open(StreamKind::Replica, 1).await.unwrap();
            let (_sender, mut receiver) = arrived.accept().await.unwrap();
            receiver.hello().await.unwrap();
            for _ in 0..4 {
                let (sent, received) =
                    tokio::join!(async { sender.send(&mut frame(&megabyte)).await }, receiver.next(LIMITS));
                sent.unwrap();
                assert_eq!(received.unwrap().unwrap().payload.len(), megabyte.len());
            }
        }
    };
    tokio::select! {
        () = fill => unreachable!("the loop never ends"),
        () = others => {}
    }
    assert!(held_up <= 20, "{held_up} MiB were taken of a stream that is not read");
}

#[tokio::test]
async fn a_peer_may_have_as_many_streams_open_as_it_has_replicas() {
    let (called, arrived, _endpoints) = connected(Target::Shard(0)).await;
    let mut open = Vec::new();
    for _ in 0..5_000 {
        let (calling, taken) = tokio::join!(called.open(StreamKind::Replica, 1), arrived.accept());
        open.push((calling.unwrap(), taken.unwrap()));
    }
    // Those that have ended make room for others.
    open.clear();
    for _ in 0..5_000 {
        let (calling, taken) = tokio::join!(called.open(StreamKind::Raft, 1), arrived.accept());
        let ((sender, _), (_, mut receiver)) = (calling.unwrap(), taken.unwrap());
        sender.finish();
        receiver.hello().await.unwrap();
    }
}

#[tokio::test]
async fn sixty_four_mebibytes_arrive_whole_and_in_order() {
    let (called, arrived, _endpoints) = connected(Target::Shard(1)).await;
    let payload = |number: u8| Bytes::from(vec![number; 256 << 10]);
    let send = async {
        let (mut sender, receiver) = called.open(StreamKind::Replica, 1).await.unwrap();
        for number in 0..=255 {
            sender.send(&mut frame(&payload(number))).await.unwrap();
        }
        sender.finish();
        receiver
    };
    let receive = async {
        let (_sender, mut receiver) = arrived.accept().await.unwrap();
        receiver.hello().await.unwrap();
        let mut received = 0;
        while let Some(frame) = receiver.next(LIMITS).await.unwrap() {
            assert_eq!(frame.payload, payload(u8::try_from(received).unwrap()));
            received += 1;
        }
        received
    };
    let (_receiver, received) = tokio::join!(send, receive);
    assert_eq!(received, 256);
}

#[tokio::test]
async fn a_close_code_and_bytes_that_are_no_frame_are_told() {
    let (called, arrived, _endpoints) = connected(Target::Control).await;
    let (mut sender, _receiver) = called.open(StreamKind::Control, 1).await.unwrap();
    let (_answer, mut receiver) = arrived.accept().await.unwrap();
    receiver.hello().await.unwrap();
    sender.send(&mut [Bytes::from_static(&[255; 10])]).await.unwrap();
    assert!(matches!(receiver.next(LIMITS).await, Err(StreamError::Frame(_))));
    let (sender, _receiver) = called.open(StreamKind::Control, 1).await.unwrap();
    let (_answer, mut receiver) = arrived.accept().await.unwrap();
    receiver.hello().await.unwrap();
    sender.close(9);
    assert!(matches!(receiver.next(LIMITS).await, Err(StreamError::Closed(9))));
}

#[tokio::test]
async fn a_peer_that_comes_back_is_called_again() {
    let ca = ca();
    let (one, _) = bind(&ca.issue(ONE).unwrap());
    let identity = ca.issue(TWO).unwrap();
    let (two, addresses) = bind(&identity);
    let address = two.local_addr().unwrap();
    let pool = Pool::new(one);
    let (first, arrived) = tokio::join!(pool.connection(TWO, &addresses, Target::Control), arrive(&two));
    let (first, (arrived, _)) = (first.unwrap(), arrived.unwrap());
    arrived.close("gone");
    first.ended().await;
    drop(arrived);
    two.close().await;
    drop(two);
    let again = loop {
        match PeerEndpoint::bind(address, &identity) {
            Ok(endpoint) => break endpoint,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let (second, _) = tokio::join!(pool.connection(TWO, &addresses, Target::Control), arrive(&again));
    assert!(second.unwrap().is_open());
}

/// Without a word to its peers, as a killed process goes: its runtime is dropped with all that it drives.
#[tokio::test]
async fn a_killed_and_restarted_peer_resets_the_connections_of_its_former_life() {
    let ca = ca();
    let (one, _) = bind(&ca.issue(ONE).unwrap());
    let identity = ca.issue(TWO).unwrap();
    let former = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (bound, address) = std::sync::mpsc::channel();
    let (die, killed) = tokio::sync::oneshot::channel::<()>();
    let dying = identity.clone();
    let thread = std::thread::spawn(move || {
        let alive = former.block_on(async {
            let (two, addresses) = bind(&dying);
            bound.send((addresses, two.local_addr().unwrap())).unwrap();
            let arrived = arrive(&two).await.unwrap().0;
            killed.await.unwrap();
            (two, arrived)
        });
        // With the runtime goes what would say good-bye.
        drop(former);
        drop(alive);
    });
    let (addresses, address) = address.recv().unwrap();
    let called = one.connect(TWO, &addresses, Target::Control).await.unwrap();
    die.send(()).unwrap();
    thread.join().unwrap();
    let _again = loop {
        match PeerEndpoint::bind(address, &identity) {
            Ok(endpoint) => break endpoint,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let (mut sender, _receiver) = called.open(StreamKind::Control, 1).await.unwrap();
    sender.send(&mut frame(&Bytes::from_static(b"are you still there?"))).await.unwrap();
    assert_eq!(called.ended().await, quinn::ConnectionError::Reset);
}

/// Lets one node in, or refuses it.
async fn let_in(endpoint: &PeerEndpoint, ca: &ClusterCa, secret: [u8; 16]) {
    let Ok((connection, target)) = arrive(endpoint).await else { return };
    assert_eq!((connection.broker(), target), (None, Target::Control));
    let (sender, mut receiver) = connection.accept().await.unwrap();
    assert_eq!(receiver.hello().await.unwrap().0, StreamKind::Join);
    let request = JoinRequest::receive(&mut receiver).await.unwrap();
    let answer = match request.secret == secret {
        false => JoinAnswer::Refused(JoinRefusal::UnknownToken),
        true => JoinAnswer::Joined {
            cluster: [1; 16],
            broker: 4,
            certificate: ca.sign(BrokerId(4), &request.certificate_request).unwrap().to_vec(),
            ca: ca.certificate().to_vec(),
        },
    };
    answer.send(sender).await.unwrap();
    connection.ended().await;
}

#[tokio::test]
async fn a_node_joins_with_a_token_and_is_then_a_peer() {
    let ca = ca();
    let (endpoint, addresses) = bind(&ca.issue(ONE).unwrap());
    let port = addresses[0].1;
    let token = JoinToken::new(ca.certificate(), [5; 16]);
    let directory = DirectoryId([9; 16]);
    let ask =
        |token: JoinToken| async move { join("127.0.0.1", port, &token, directory, None, vec![]).await };
    let (joined, ()) = tokio::join!(ask(token.clone()), let_in(&endpoint, &ca, [5; 16]));
    let joined = joined.unwrap();
    assert_eq!((joined.cluster, joined.identity.broker), (ClusterId([1; 16]), BrokerId(4)));

    let dir = tempfile::tempdir().unwrap();
    joined.identity.store(dir.path()).unwrap();
    let identity = Identity::load(dir.path()).unwrap().unwrap();
    assert!(ClusterCa::load(dir.path()).unwrap().is_none());
    let (four, _) = bind(&identity);
    let (called, arrived) = tokio::join!(four.connect(ONE, &addresses, Target::Control), arrive(&endpoint));
    called.unwrap();
    assert_eq!(arrived.unwrap().0.broker(), Some(BrokerId(4)));

    let (refused, ()) = tokio::join!(ask(token), let_in(&endpoint, &ca, [6; 16]));
    assert!(matches!(refused, Err(JoinError::Refused(JoinRefusal::UnknownToken))));
}

#[tokio::test]
async fn a_token_of_another_cluster_is_not_shown_to_this_one() {
    let ours = ca();
    let (endpoint, addresses) = bind(&ours.issue(ONE).unwrap());
    let token = JoinToken::new(ca().certificate(), [5; 16]);
    let asked = join("127.0.0.1", addresses[0].1, &token, DirectoryId([9; 16]), None, vec![]);
    let (refused, _) = tokio::join!(asked, arrive(&endpoint));
    assert!(matches!(refused, Err(JoinError::Connect(ConnectError::Handshake { .. }))), "{refused:?}");
}

#[test]
fn an_authority_is_stored_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let ca = ca();
    ca.store(dir.path()).unwrap();
    let read = ClusterCa::load(dir.path()).unwrap().unwrap();
    assert_eq!(read.certificate(), ca.certificate());
    let identity = read.issue(BrokerId(7)).unwrap();
    identity.store(dir.path()).unwrap();
    assert_eq!(Identity::load(dir.path()).unwrap().unwrap().broker, BrokerId(7));
}
