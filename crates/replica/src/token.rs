//! The text that lets a node join: which authority to trust, and a secret that the cluster knows the hash of.
//!
//! ```text
//! hw1-<fingerprint of the authority's certificate, 16 bytes in hex>-<secret, 16 bytes in hex>
//! ```
//! The fingerprint is the first half of the certificate's BLAKE3: 128 bits, against which no second certificate is found.

use std::fmt;
use std::str::FromStr;

use rustls::pki_types::CertificateDer;

use crate::error::JoinError;

const PREFIX: &str = "hw1-";

/// A join token. Single use and expiry are decided by the metadata record that holds its hash.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinToken {
    fingerprint: [u8; 16],
    secret: [u8; 16],
}

impl JoinToken {
    /// A token for the cluster of this authority.
    #[must_use]
    pub fn new(ca: &CertificateDer<'_>, secret: [u8; 16]) -> Self {
        Self { fingerprint: fingerprint(ca), secret }
    }

    /// Whether this is the certificate of the authority that made the token.
    #[must_use]
    pub fn trusts(&self, ca: &CertificateDer<'_>) -> bool {
        self.fingerprint == fingerprint(ca)
    }

    /// What the joining node shows.
    #[must_use]
    pub fn secret(&self) -> [u8; 16] {
        self.secret
    }

    /// What the metadata keeps instead of a secret.
    #[must_use]
    pub fn hash(secret: &[u8; 16]) -> [u8; 32] {
        blake3::hash(secret).into()
    }
}

fn fingerprint(ca: &CertificateDer<'_>) -> [u8; 16] {
    let hash = blake3::hash(ca);
    *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
}

impl fmt::Display for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |f: &mut fmt::Formatter<'_>, bytes: &[u8]| {
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        };
        f.write_str(PREFIX)?;
        hex(f, &self.fingerprint)?;
        f.write_str("-")?;
        hex(f, &self.secret)
    }
}

/// The secret is never shown by accident.
impl fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinToken")
    }
}

impl FromStr for JoinToken {
    type Err = JoinError;

    fn from_str(text: &str) -> Result<Self, JoinError> {
        let (fingerprint, secret) =
            text.trim().strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')).ok_or(JoinError::Token)?;
        Ok(Self { fingerprint: from_hex(fingerprint)?, secret: from_hex(secret)? })
    }
}

fn from_hex(text: &str) -> Result<[u8; 16], JoinError> {
    let mut bytes = [0; 16];
    if text.len() != 32 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(JoinError::Token);
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        let digits = text.get(2 * at..2 * at + 2).ok_or(JoinError::Token)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| JoinError::Token)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_is_written_and_trusts_one_authority() {
        let (ours, other) = (CertificateDer::from(vec![1, 2]), CertificateDer::from(vec![1, 3]));
        let token = JoinToken::new(&ours, [7; 16]);
        let read: JoinToken = format!(" {token}\n").parse().unwrap();
        assert_eq!(read, token);
        assert!(read.trusts(&ours) && !read.trusts(&other));
    }

    #[test]
    fn anything_else_is_no_token() {
        for text in
            ["", "hw1-", "hw1-00-00", &format!("hw1-{}-{}", "0".repeat(32), "g".repeat(32)), "hw1-ä-ö"]
        {
            assert!(text.parse::<JoinToken>().is_err(), "{text}");
        }
    }
}
