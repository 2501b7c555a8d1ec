//! Record batches of every codec: built, validated, looked into and read back.

use highwater_compression::CODECS;
use log_core::batch::{
    BatchBuilder, BatchSpec, NewRecord, ProduceRules, Records, Stamp, check_stored, decompress, records_of,
    validate,
};
use log_core::{BatchError, CodecError, Compression, Crc32c, Refusal, Timestamp};

const CRC: Crc32c = crc32c::crc32c_append;
const NOW: Timestamp = Timestamp(1_000_000);
const ALL: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fn batch(compression: Compression) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for number in 0..1000 {
        let value = format!("value {}", number % 10);
        let record = NewRecord { timestamp: NOW, key: None, value: Some(value.as_bytes()), headers: &[] };
        builder.push(&record).expect("a thousand short records fit a batch");
    }
    builder
        .build(&BatchSpec { compression, ..BatchSpec::default() }, CODECS, CRC)
        .expect("every codec writes here")
}

#[test]
fn records_come_back() {
    for compression in ALL {
        let bytes = batch(compression);
        let rules = ProduceRules::at(NOW);
        let produced = validate(&bytes, &rules, CRC).unwrap();
        let mut buffer = Vec::new();
        let looked = produced.look_inside(&bytes, &rules, CODECS, 1 << 20, &mut buffer).unwrap();
        assert_eq!(looked.stamp, Stamp::AsSent);
        let header = check_stored(&bytes, CRC).unwrap();
        assert_eq!(header.compression(), compression);
        let stored = records_of(&header, &bytes).unwrap();
        let records = decompress(&header, stored, CODECS, 1 << 20, &mut buffer).unwrap();
        let last = Records::new(&header, records).last().unwrap().unwrap();
        assert_eq!((last.offset.0, last.value), (999, Some(b"value 9".as_slice())));
    }
}

#[test]
fn a_batch_that_expands_too_far_is_too_large() {
    for compression in ALL.into_iter().skip(1) {
        let (bytes, rules) = (batch(compression), ProduceRules::at(NOW));
        let produced = validate(&bytes, &rules, CRC).unwrap();
        let found = produced.look_inside(&bytes, &rules, CODECS, 5000, &mut Vec::new());
        assert_eq!(found, Err(BatchError::Codec(CodecError::TooLarge { limit: 5000 })));
        assert_eq!(found.unwrap_err().refusal(), Refusal::MessageTooLarge);
    }
}
