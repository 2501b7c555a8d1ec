//! The four codecs: arbitrary bytes decompress to at most the limit or not at all, and what was compressed comes back.

#![no_main]

use compression::CODECS;
use highwater_fuzz::Choices;
use log_core::{CodecError, Compression};

highwater_fuzz::target!(seeds, check);

const ALL: [Compression; 4] = [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let (codec, both_ways) = (choices.one_of(&ALL), choices.byte() & 1 == 1);
    let limit = usize::from(choices.short());
    let input = choices.rest();
    if both_ways {
        return there_and_back(codec, input);
    }
    let mut output = b"kept".to_vec();
    match (CODECS.decompress)(codec, input, limit, &mut output) {
        Ok(()) => assert!(output.starts_with(b"kept") && output.len() - 4 <= limit),
        Err(_) => assert_eq!(output, b"kept", "an error leaves the output as it was"),
    }
}

fn there_and_back(codec: Compression, input: &[u8]) {
    let (mut packed, mut back) = (Vec::new(), Vec::new());
    (CODECS.compress)(codec, input, &mut packed).expect("everything can be compressed");
    (CODECS.decompress)(codec, &packed, input.len(), &mut back).expect("it comes back");
    assert!(back == input, "{codec:?}");
    if let Some(short) = input.len().checked_sub(1) {
        let refused = (CODECS.decompress)(codec, &packed, short, &mut back);
        assert_eq!(refused, Err(CodecError::TooLarge { limit: short }));
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let plain = b"a record, a record, and another record like it, and once more a record".repeat(4);
    let mut seeds = Vec::new();
    for (number, codec) in (0..).zip(ALL) {
        let mut packed = vec![number, 0, 16, 0];
        (CODECS.compress)(codec, &plain, &mut packed).expect("everything can be compressed");
        seeds.push(packed);
        seeds.push([&[number, 1, 0, 0][..], &plain].concat());
    }
    seeds
}
