//! What a group command is refused with, and what is wrong with a record that cannot be replayed.

/// Why a command on a group fails. The group is unchanged by a command that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The group id is empty where a group with members needs one.
    #[error("the group id is not valid")]
    InvalidGroupId,
    /// The request contradicts itself.
    #[error("the request is not valid")]
    InvalidRequest,
    /// The session timeout lies outside the configured bounds.
    #[error("the session timeout is outside the bounds that this cluster allows")]
    InvalidSessionTimeout,
    /// No protocol is supported by all members, or the protocol type is another one.
    #[error("the member's protocols do not fit those of the group")]
    InconsistentProtocol,
    /// No such member; it joins anew with an empty id.
    #[error("the member is not known to the group")]
    UnknownMember,
    /// The member joins again with the id that the answer carries.
    #[error("the member must join again with the id given to it")]
    MemberIdRequired,
    /// Another process took over this static member.
    #[error("the static member was taken over by another process")]
    FencedInstance,
    /// The generation is not the group's present one.
    #[error("the generation is not the present one")]
    IllegalGeneration,
    /// The member must join again now.
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    /// The group has as many members as are allowed.
    #[error("the group has as many members as this cluster allows")]
    GroupFull,
    /// A group with members cannot be deleted.
    #[error("the group has members")]
    NonEmptyGroup,
    /// No such group.
    #[error("the group does not exist")]
    GroupNotFound,
    /// The group's members consume the topic.
    #[error("the group is subscribed to the topic")]
    SubscribedToTopic,
    /// The metadata of a committed offset is too long.
    #[error("the metadata of a committed offset is too long")]
    MetadataTooLarge,
    /// The records of the command were not appended.
    #[error("the group's partition cannot be written now")]
    NotAvailable,
    /// Another broker leads the group's partition now; whether the records were kept is not known.
    #[error("this broker no longer coordinates the group")]
    NotCoordinator,
    /// It was not known in time whether the records were committed.
    #[error("the group's records were not committed in time")]
    TimedOut,
}

/// Why a record of the groups' log cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes end early or hold an impossible length.
    #[error("a group record is malformed at byte {at}")]
    Malformed {
        /// Where in the key or value.
        at: usize,
    },
    /// A value of a version that this build does not know.
    #[error("a group record has the unknown version {version}")]
    UnknownVersion {
        /// The version found.
        version: i16,
    },
}
