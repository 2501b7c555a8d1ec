// @generated from schemas/ by cargo xtask codegen
//! Which APIs there are and in which versions; the one place that says so.
//!
//! | key | API | accepted | advertised | flexible |
//! |---|---|---|---|---|
//! | 0 | Produce | 3-11 | 0-11 | 9+ |
//! | 1 | Fetch | 4-18 | 4-18 | 12+ |
//! | 3 | Metadata | 0-13 | 0-13 | 9+ |
//! | 18 | ApiVersions | 0-4 | 0-4 | 3+ |

use crate::api::ApiSpec;

/// An API of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiKey {
    /// Appends record batches to partitions.
    Produce,
    /// Reads record batches from partitions; waits for new ones.
    Fetch,
    /// Describes brokers, topics and partitions.
    Metadata,
    /// Tells which APIs and versions the broker speaks, and its features.
    ApiVersions,
}

impl ApiKey {
    /// Every API, by number.
    pub const ALL: &'static [Self] = &[Self::Produce, Self::Fetch, Self::Metadata, Self::ApiVersions];

    /// The API of that number.
    pub const fn from_number(number: i16) -> Option<Self> {
        Some(match number {
            0 => Self::Produce,
            1 => Self::Fetch,
            3 => Self::Metadata,
            18 => Self::ApiVersions,
            _ => return None,
        })
    }

    /// Number, name and versions of the API.
    pub const fn spec(self) -> &'static ApiSpec {
        match self {
            Self::Produce => &ApiSpec {
                number: 0,
                name: "Produce",
                accepted_min: 3,
                advertised_min: 0,
                max: 11,
                flexible_from: Some(9),
            },
            Self::Fetch => &ApiSpec {
                number: 1,
                name: "Fetch",
                accepted_min: 4,
                advertised_min: 4,
                max: 18,
                flexible_from: Some(12),
            },
            Self::Metadata => &ApiSpec {
                number: 3,
                name: "Metadata",
                accepted_min: 0,
                advertised_min: 0,
                max: 13,
                flexible_from: Some(9),
            },
            Self::ApiVersions => &ApiSpec {
                number: 18,
                name: "ApiVersions",
                accepted_min: 0,
                advertised_min: 0,
                max: 4,
                flexible_from: Some(3),
            },
        }
    }
}
