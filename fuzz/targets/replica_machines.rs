//! Leaders and followers of one partition on up to four brokers: the input says what happens next, an oracle what may never happen.

#![no_main]

highwater_fuzz::target!(seeds, |bytes: &[u8]| replica_core::walks::walk_by(bytes));

fn seeds() -> Vec<Vec<u8>> {
    // Bytes without a pattern: every kind of event is among them.
    let mut noise = 1_u32;
    let mut next = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 24) as u8
    };
    [200, 600, 1_500, 3_000].into_iter().map(|length| (0..length).map(|_| next()).collect()).collect()
}
