//! Random connection ids, and resets that outlive a process: a broker that was killed and started again has its peers
//! drop their old connections at the first packet, not after the idle timeout.

use blake3::Hash;
use quinn::crypto::{CryptoError, HmacKey};
use quinn::{ConnectionId, ConnectionIdGenerator};

use crate::ca::Identity;

/// Makes the tokens of stateless resets (RFC 9000, section 10.3) from the broker's own key, so that the next process can
/// make them again.
pub(crate) struct ResetKey([u8; 32]);

const RESET_CONTEXT: &str = "highwater 2026 replica door stateless reset";

impl ResetKey {
    pub(crate) fn of(identity: &Identity) -> Self {
        Self(blake3::derive_key(RESET_CONTEXT, identity.key.secret_der()))
    }

    /// For an endpoint that lives for one call.
    pub(crate) fn random() -> Self {
        Self(random())
    }

    fn hash(&self, message: &[u8]) -> Hash {
        blake3::keyed_hash(&self.0, message)
    }
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let hash = self.hash(data);
        signature_out.iter_mut().zip(hash.as_bytes()).for_each(|(out, byte)| *out = *byte);
    }

    fn signature_len(&self) -> usize {
        blake3::OUT_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let given = Hash::from_slice(signature).map_err(|_| CryptoError)?;
        // The comparison takes the same time wherever they differ.
        if self.hash(data) == given { Ok(()) } else { Err(CryptoError) }
    }
}

/// Plain random ids. The library's default marks them with a key of the process, and a later process would not answer a
/// packet of an earlier one.
pub(crate) struct RandomIds;

/// The bytes of a connection id.
const ID_BYTES: usize = 8;

impl ConnectionIdGenerator for RandomIds {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&random::<ID_BYTES>())
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .expect("the operating system gives randomness, or no handshake would succeed");
    bytes
}
