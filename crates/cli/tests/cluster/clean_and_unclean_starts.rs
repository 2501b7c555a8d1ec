//! What a start reads: nothing after a clean stop, little after a kill, whatever is kept.

use crate::harness::{Cluster, Door, Load, in_sync, read_all, story, topic};

const RECORDS_READ: &str = "highwater_start_record_bytes_read_total";
const BOOKKEEPING_READ: &str = "highwater_start_bookkeeping_bytes_read_total";
const BYTES_PER_PARTITION_MAX: u64 = 128 << 20;
const PARTITIONS: u32 = 3;
const VALUE_BYTES: usize = 20_000;
/// The bound, the leader epochs and the producers' state of a partition.
const BOOKKEEPING_BYTES_MAX: u64 = 12 << 10;

#[test]
fn a_clean_start_scans_nothing_and_an_unclean_one_little() {
    story(async {
        let mut cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        // Segments of 1 MiB: several for each partition.
        let kept = topic("kept", PARTITIONS).config("segment.bytes", "1048576");
        client.admin().create_topic(kept).await.unwrap();
        let load = Load::sized(&client, "kept", VALUE_BYTES);
        load.more(1_000).await;
        cluster.kill_all();
        cluster.start_all().await;
        load.more(100).await;
        let ledger = load.stop().await;
        in_sync(&client, "kept").await;
        for node in &cluster.nodes {
            let read = node.metric(RECORDS_READ).expect("a ready broker answers");
            eprintln!("node {}: {read} record bytes read after a kill", node.id);
            assert!(read < BYTES_PER_PARTITION_MAX * u64::from(PARTITIONS), "node {} read {read}", node.id);
        }

        cluster.stop_all().await;
        cluster.verify();
        cluster.start_all().await;
        in_sync(&client, "kept").await;
        for node in &cluster.nodes {
            let records = node.metric(RECORDS_READ).expect("a ready broker answers");
            assert_eq!(records, 0, "node {} scanned", node.id);
            let read = node.metric(BOOKKEEPING_READ).expect("a ready broker answers");
            eprintln!("node {}: no record bytes and {read} of bookkeeping read after a clean stop", node.id);
            assert!(read <= BOOKKEEPING_BYTES_MAX * u64::from(PARTITIONS), "node {} read {read}", node.id);
        }
        ledger.check(&read_all(&client, "kept").await);
    });
}
