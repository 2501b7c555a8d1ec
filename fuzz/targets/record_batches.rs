//! Record batches: as a producer sends them, as a log holds them, as a scan after a crash meets them, as a consumer reads them.
//!
//! The checksum is out of the way, so that what lies behind it is reached.

#![no_main]

use highwater_fuzz::no_checksum;
use log_core::batch::{self, BatchHeader, Batches, ControlRecord, ProduceRules, Records, Stamp};
use log_core::segment::{ScanStart, ScanStep, Scanner};
use log_core::{LeaderEpoch, Offset, Timestamp};

highwater_fuzz::target!(seeds, check);

const NOW: Timestamp = Timestamp(1_700_000_000_000);
const LIMIT: usize = 1 << 20;

fn check(bytes: &[u8]) {
    produced(bytes);
    stored(bytes);
    scanned(bytes);
}

/// What a broker accepts can be placed, stamped, and read by everybody after it.
fn produced(bytes: &[u8]) {
    let rules = ProduceRules { batch_bytes_max: LIMIT, ..ProduceRules::at(NOW) };
    let Ok(found) = batch::validate(bytes, &rules, no_checksum) else { return };
    assert_eq!(found.header.batch_bytes, bytes.len(), "exactly one batch");
    let mut buffer = Vec::new();
    let Ok(inside) = found.look_inside(bytes, &rules, compression::CODECS, LIMIT, &mut buffer) else {
        return;
    };
    assert_ne!(inside.stamp, Stamp::Walk, "it was walked");
    let mut placed = bytes.to_vec();
    let (head, records) = placed.split_first_chunk_mut().expect("it has a header");
    batch::patch::stamp(head, records, inside.stamp, no_checksum);
    batch::patch::assign(head, Offset(77), LeaderEpoch(5));
    let header = batch::check_stored(&placed, no_checksum).expect("what was accepted is good in the log");
    assert_eq!((header.base_offset, header.leader_epoch), (Offset(77), LeaderEpoch(5)));
    assert_eq!(header.next_offset().0, 77 + i64::from(header.record_count));
    let raw = batch::records_of(&header, &placed).expect("it is whole");
    let plain =
        batch::decompress(&header, raw, compression::CODECS, LIMIT, &mut buffer).expect("it was looked into");
    // A broker walks the lengths of the records; what lies inside of them is the producer's own, and readers find it out.
    batch::walk_lengths(plain, header.record_count).expect("as many records as it counts");
    let whole = Records::new(&header, plain).take_while(Result::is_ok).count();
    assert!(i32::try_from(whole).is_ok_and(|whole| whole <= header.record_count));
}

/// What a consumer is sent: nothing in it may be believed.
fn stored(bytes: &[u8]) {
    for (header, one) in Batches::new(bytes) {
        let _ = batch::check_stored(one, no_checksum);
        let Ok(raw) = batch::records_of(&header, one) else { continue };
        let _ = batch::max_timestamp_of(&header, raw);
        let mut buffer = Vec::new();
        let Ok(plain) = batch::decompress(&header, raw, compression::CODECS, LIMIT, &mut buffer) else {
            continue;
        };
        for record in Records::new(&header, plain).take(10_000) {
            let Ok(record) = record else { break };
            let _ = ControlRecord::parse(&record);
            record.headers.for_each(|header| drop(header.key.to_vec()));
        }
    }
    let _ = BatchHeader::parse(bytes);
}

/// A segment after a crash: the scan takes whole batches in order, stops at the first that is none, and looks at all behind it.
fn scanned(bytes: &[u8]) {
    let start = ScanStart {
        position: 0,
        offset: Offset::ZERO,
        epoch: LeaderEpoch::NONE,
        newest_epoch: LeaderEpoch(5),
    };
    let mut scanner = Scanner::new(start, no_checksum);
    while let Some(window) = bytes.get(scanner.position() as usize..) {
        let before = scanner.offset();
        match scanner.step(window, true) {
            ScanStep::Batch(found) => {
                assert!(scanner.offset() > before, "a batch leads on");
                assert_eq!(found.header.base_offset, before);
            }
            ScanStep::NeedBytes(_) => panic!("there are no more bytes"),
            ScanStep::Zeros | ScanStep::End => break,
            ScanStep::Refused(_) => {
                let mut tail = scanner.tail(window);
                window.chunks(7).for_each(|piece| tail.feed(piece));
                let mut whole = scanner.tail(window);
                whole.feed(window);
                assert_eq!(tail.finish(false), whole.finish(false), "the pieces do not matter");
                break;
            }
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let first = highwater_fuzz::batch(0, &["one", "two", "three"], no_checksum);
    let second = highwater_fuzz::batch(3, &["four"], no_checksum);
    vec![first.clone(), second.clone(), [first.clone(), second].concat(), [&first[..], &[0; 100]].concat()]
}
