//! What the client does about a broker's error codes, beyond "try again" and "ask for metadata".

use kafka_wire::ErrorCode;

/// True if the group's coordinator has to be looked for again.
pub(crate) const fn needs_coordinator(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator)
}

/// True if a produce that was answered so was certainly not appended anywhere. The other codes can also be the answer
/// for a batch that the leader appended and could then not replicate (in time), or whose leader lost its office.
pub(crate) const fn means_not_appended(code: ErrorCode) -> bool {
    !matches!(
        code,
        ErrorCode::UnknownServerError
            | ErrorCode::LeaderNotAvailable
            | ErrorCode::NotLeaderOrFollower
            | ErrorCode::RequestTimedOut
            | ErrorCode::NetworkException
            | ErrorCode::NotEnoughReplicasAfterAppend
            | ErrorCode::KafkaStorageError
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::DuplicateSequenceNumber
            | ErrorCode::Unknown(_)
    )
}

/// True if the producer's id or epoch is no longer good: it needs a new one before it can go on.
pub(crate) const fn needs_producer_id(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UnknownProducerId
            | ErrorCode::InvalidProducerEpoch
            | ErrorCode::ProducerFenced
            | ErrorCode::InvalidProducerIdMapping
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_definite_codes_mean_not_appended() {
        for code in [ErrorCode::NotEnoughReplicas, ErrorCode::MessageTooLarge, ErrorCode::InvalidRecord] {
            assert!(means_not_appended(code), "{code}");
        }
        for code in [ErrorCode::NotLeaderOrFollower, ErrorCode::RequestTimedOut, ErrorCode::Unknown(9999)] {
            assert!(!means_not_appended(code), "{code}");
        }
    }
}
