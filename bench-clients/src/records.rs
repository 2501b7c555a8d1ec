//! The values: JSON of 100 bytes as a service might log it, made once, so that making them is no part of what is measured.

/// Of each value.
pub(crate) const BYTES: usize = 100;
/// Different ones; then they repeat, farther apart than a compressor looks back.
const KINDS: u64 = 10_007;

/// Values to be sent round and round.
pub(crate) fn all() -> Vec<[u8; BYTES]> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..KINDS).map(|number| one(number, next())).collect()
}

fn one(number: u64, random: u64) -> [u8; BYTES] {
    let kind = ["view", "click", "purchase", "sign-in"][(random % 4) as usize];
    let mut text = format!(
        "{{\"id\":{number},\"user\":\"u-{:05}\",\"event\":\"{kind}\",\"ms\":{},\"session\":\"{:016x}\",\"pad\":\"",
        (random >> 8) % 100_000,
        (random >> 32) % 10_000,
        random
    );
    while text.len() < BYTES - 2 {
        text.push('x');
    }
    text.truncate(BYTES - 2);
    text.push_str("\"}");
    let mut value = [b' '; BYTES];
    value.copy_from_slice(text.as_bytes());
    value
}
