//! Random bytes from the operating system: ids, secrets, seeds.

/// `N` bytes that nobody can guess.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .expect("the operating system gives randomness, or no key could be made either");
    bytes
}
