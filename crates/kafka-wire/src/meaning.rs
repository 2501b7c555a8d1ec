//! The few places where the bytes of a message mean different things in different versions, or must have a form that
//! the types do not say.

use crate::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use crate::messages::metadata::MetadataRequest;

impl MetadataRequest<'_> {
    /// Whether all topics are asked for: by null, or by an empty list in version 0, which has no null.
    pub fn asks_for_all_topics(&self, version: i16) -> bool {
        self.topics.as_ref().is_none_or(|topics| version == 0 && topics.is_empty())
    }
}

impl ApiVersionsRequest<'_> {
    /// Whether the client's name and version have the form that KIP-511 asks for; if not, the answer is
    /// [`crate::ErrorCode::InvalidRequest`]. Always so below version 3, which has no names.
    pub fn names_are_valid(&self, version: i16) -> bool {
        version < 3 || (is_valid(&self.client_software_name) && is_valid(&self.client_software_version))
    }
}

impl ApiVersionsResponse<'_> {
    /// Takes out what clients of that version cannot read: a supported feature with minimum 0, below version 4
    /// (KAFKA-17011).
    pub fn fit_version(&mut self, version: i16) {
        if version < 4 {
            self.supported_features.retain(|feature| feature.min_version > 0);
        }
    }
}

/// Letters and digits, with `-` and `.` allowed between them.
fn is_valid(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let ends = |c: char| c.is_ascii_alphanumeric();
    name.chars().all(inner) && name.starts_with(ends) && name.ends_with(ends)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::messages::api_versions::SupportedFeature;

    #[test]
    fn null_asks_for_all_topics_and_so_does_an_empty_list_in_version_0() {
        let asks = |topics: Option<Vec<_>>, version| {
            MetadataRequest { topics, ..Default::default() }.asks_for_all_topics(version)
        };
        assert!(asks(None, 1));
        assert!(asks(Some(vec![]), 0));
        assert!(!asks(Some(vec![]), 1));
    }

    #[test]
    fn a_client_name_is_letters_and_digits_with_dots_and_dashes_inside() {
        let valid = |name: &str| {
            let request = ApiVersionsRequest {
                client_software_name: name.into(),
                client_software_version: "1.0".into(),
            };
            request.names_are_valid(3)
        };
        assert!(valid("apache-kafka-java"));
        assert!(valid("a"));
        for name in ["", "-a", "a.", "a b", "ä"] {
            assert!(!valid(name), "{name}");
        }
        assert!(ApiVersionsRequest::default().names_are_valid(2));
    }

    #[test]
    fn a_feature_with_minimum_0_is_told_from_version_4_on() {
        let feature = |min_version| SupportedFeature { name: "f".into(), min_version, max_version: 2 };
        let mut response =
            ApiVersionsResponse { supported_features: vec![feature(0), feature(1)], ..Default::default() };
        response.fit_version(4);
        assert_eq!(response.supported_features.len(), 2);
        response.fit_version(3);
        assert_eq!(response.supported_features, [feature(1)]);
    }
}
