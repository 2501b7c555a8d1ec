//! What an API's versions mean to a broker: which are told to clients, which are decoded.
//!
//! The two ranges differ on purpose: librdkafka takes `Produce` 0 as the sign that gzip, snappy and lz4 work
//! (KAFKA-18659), yet no version below 3 carries record batches, and none is decoded.

use alloc::vec::Vec;

use crate::ApiKey;
use crate::messages::api_versions::ApiVersion;

/// Number, name and versions of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiSpec {
    /// The number on the wire.
    pub number: i16,
    /// The protocol's name.
    pub name: &'static str,
    /// Lowest version that is decoded and encoded.
    pub accepted_min: i16,
    /// Lowest version that clients are told.
    pub advertised_min: i16,
    /// Highest version, accepted and advertised.
    pub max: i16,
    /// First version with compact lengths and tags; `None` if there is none.
    pub flexible_from: Option<i16>,
}

impl ApiSpec {
    /// `versions` are the accepted minimum, the advertised minimum and the maximum.
    pub(crate) const fn new(
        number: i16,
        name: &'static str,
        versions: [i16; 3],
        flexible_from: Option<i16>,
    ) -> Self {
        let [accepted_min, advertised_min, max] = versions;
        Self { number, name, accepted_min, advertised_min, max, flexible_from }
    }
}

impl ApiKey {
    /// The number on the wire.
    pub const fn number(self) -> i16 {
        self.spec().number
    }

    /// The protocol's name.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether requests and responses of that version can be decoded and encoded.
    pub const fn accepts(self, version: i16) -> bool {
        let spec = self.spec();
        spec.accepted_min <= version && version <= spec.max
    }

    /// Whether that version has compact lengths and tags.
    pub const fn is_flexible(self, version: i16) -> bool {
        match self.spec().flexible_from {
            Some(first) => version >= first,
            None => false,
        }
    }

    /// The entry of this API in an answer to `ApiVersions`.
    pub const fn advertised(self) -> ApiVersion {
        let spec = self.spec();
        ApiVersion { api_key: spec.number, min_version: spec.advertised_min, max_version: spec.max }
    }

    /// The highest version that both this side and a peer with that entry speak.
    pub fn common_version(self, peer: &ApiVersion) -> Option<i16> {
        let spec = self.spec();
        let version = spec.max.min(peer.max_version);
        (version >= spec.accepted_min.max(peer.min_version)).then_some(version)
    }
}

/// What a broker that serves these APIs tells its clients, by number.
pub fn api_version_ranges(served: impl Fn(ApiKey) -> bool) -> Vec<ApiVersion> {
    ApiKey::ALL.iter().filter(|key| served(**key)).map(|key| key.advertised()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_order_and_found_by_their_numbers() {
        assert!(ApiKey::ALL.is_sorted_by_key(|key| key.number()));
        for key in ApiKey::ALL {
            assert_eq!(ApiKey::from_number(key.number()), Some(*key));
        }
        assert_eq!(ApiKey::from_number(999), None);
    }

    #[test]
    fn produce_is_advertised_from_zero_and_decoded_from_three() {
        let told = ApiKey::Produce.advertised();
        assert_eq!((told.min_version, told.max_version), (0, 11));
        assert!(!ApiKey::Produce.accepts(2));
        assert!(ApiKey::Produce.accepts(3));
        assert!(!ApiKey::Produce.accepts(12));
    }

    #[test]
    fn the_common_version_is_the_lower_maximum_if_both_minima_allow_it() {
        let peer = |min_version, max_version| ApiVersion { api_key: 1, min_version, max_version };
        assert_eq!(ApiKey::Fetch.common_version(&peer(0, 11)), Some(11));
        assert_eq!(ApiKey::Fetch.common_version(&peer(4, 99)), Some(18));
        assert_eq!(ApiKey::Fetch.common_version(&peer(0, 3)), None);
        assert_eq!(ApiKey::Fetch.common_version(&peer(19, 20)), None);
    }
}
