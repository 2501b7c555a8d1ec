// @generated from schemas/consumer_group_describe.api by cargo xtask codegen
//! `ConsumerGroupDescribe` (key 69): describes groups of the consumer protocol (KIP-848) and their members.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges, Uuid};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Describes groups of the consumer protocol (KIP-848) and their members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerGroupDescribeRequest<'a> {
    /// Groups to describe.
    pub group_ids: Vec<Cow<'a, str>>,
    /// Whether to tell what the client may do with each group.
    pub include_authorized_operations: bool,
}

impl Body for ConsumerGroupDescribeRequest<'_> {
    const KEY: ApiKey = ApiKey::ConsumerGroupDescribe;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ConsumerGroupDescribeRequest<'a> {
    fn decode(r: &mut Reader<'a>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            group_ids: r.array(true, 1, |r| r.string(true))?,
            include_authorized_operations: r.bool()?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ConsumerGroupDescribeRequest<'_> {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.array(true, &self.group_ids, |w, value| w.string(true, value));
        w.bool(self.include_authorized_operations);
        w.tag_count(&[]);
    }
}

/// The answer to a [`ConsumerGroupDescribeRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerGroupDescribeResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// By group.
    pub groups: Vec<DescribedConsumerGroup<'a>>,
}

impl Body for ConsumerGroupDescribeResponse<'_> {
    const KEY: ApiKey = ApiKey::ConsumerGroupDescribe;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ConsumerGroupDescribeResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            throttle_time_ms: r.i32()?,
            groups: r.array(true, 20, |r| DescribedConsumerGroup::decode(r, version))?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ConsumerGroupDescribeResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.i32(self.throttle_time_ms);
        w.array(true, &self.groups, |w, value| value.encode(w, version));
        w.tag_count(&[]);
    }
}

impl<F> FileRanges<F> for ConsumerGroupDescribeResponse<'_> {}

/// Part of a [`ConsumerGroupDescribeResponse`]: `groups`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedConsumerGroup<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// State of the group.
    pub group_state: Cow<'a, str>,
    /// Grows with each change of members or subscriptions.
    pub group_epoch: i32,
    /// The group's epoch that the target assignment was made for.
    pub assignment_epoch: i32,
    /// The assignor chosen.
    pub assignor_name: Cow<'a, str>,
    /// By member.
    pub members: Vec<ConsumerGroupMember<'a>>,
    /// Bits of what the client may do with the group; the lowest number when not asked.
    pub authorized_operations: i32,
}

impl Default for DescribedConsumerGroup<'_> {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::None,
            error_message: None,
            group_id: Cow::Borrowed(""),
            group_state: Cow::Borrowed(""),
            group_epoch: 0,
            assignment_epoch: 0,
            assignor_name: Cow::Borrowed(""),
            members: Vec::new(),
            authorized_operations: i32::MIN,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribedConsumerGroup<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            error_code: r.error()?,
            error_message: r.nullable_string(true, true)?,
            group_id: r.string(true)?,
            group_state: r.string(true)?,
            group_epoch: r.i32()?,
            assignment_epoch: r.i32()?,
            assignor_name: r.string(true)?,
            members: r.array(true, 16, |r| ConsumerGroupMember::decode(r, version))?,
            authorized_operations: r.i32()?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribedConsumerGroup<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.error(self.error_code);
        w.nullable_string(true, true, self.error_message.as_deref());
        w.string(true, &self.group_id);
        w.string(true, &self.group_state);
        w.i32(self.group_epoch);
        w.i32(self.assignment_epoch);
        w.string(true, &self.assignor_name);
        w.array(true, &self.members, |w, value| value.encode(w, version));
        w.i32(self.authorized_operations);
        w.tag_count(&[]);
    }
}

/// Part of a [`DescribedConsumerGroup`]: `members`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerGroupMember<'a> {
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// The static member's name; null for others.
    pub instance_id: Option<Cow<'a, str>>,
    /// Where the member is; null when not told.
    pub rack_id: Option<Cow<'a, str>>,
    /// The group's epoch that the member has reached.
    pub member_epoch: i32,
    /// What the client calls itself.
    pub client_id: Cow<'a, str>,
    /// Where the client connects from.
    pub client_host: Cow<'a, str>,
    /// Topics that the member reads.
    pub subscribed_topic_names: Vec<Cow<'a, str>>,
    /// Expression for the topics that the member reads; null for none.
    pub subscribed_topic_regex: Option<Cow<'a, str>>,
    /// What the member has got.
    pub assignment: ConsumerGroupAssignment<'a>,
    /// What the member shall get.
    pub target_assignment: ConsumerGroupAssignment<'a>,
    /// 0 a member by the classic protocol, 1 by the consumer protocol; -1 unknown. From version 1 on.
    pub member_type: i8,
}

impl Default for ConsumerGroupMember<'_> {
    fn default() -> Self {
        Self {
            member_id: Cow::Borrowed(""),
            instance_id: None,
            rack_id: None,
            member_epoch: 0,
            client_id: Cow::Borrowed(""),
            client_host: Cow::Borrowed(""),
            subscribed_topic_names: Vec::new(),
            subscribed_topic_regex: None,
            assignment: ConsumerGroupAssignment::default(),
            target_assignment: ConsumerGroupAssignment::default(),
            member_type: -1,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ConsumerGroupMember<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            member_id: r.string(true)?,
            instance_id: r.nullable_string(true, true)?,
            rack_id: r.nullable_string(true, true)?,
            member_epoch: r.i32()?,
            client_id: r.string(true)?,
            client_host: r.string(true)?,
            subscribed_topic_names: r.array(true, 1, |r| r.string(true))?,
            subscribed_topic_regex: r.nullable_string(true, true)?,
            assignment: ConsumerGroupAssignment::decode(r, version)?,
            target_assignment: ConsumerGroupAssignment::decode(r, version)?,
            member_type: if version == 1 { r.i8()? } else { -1 },
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ConsumerGroupMember<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(true, &self.member_id);
        w.nullable_string(true, true, self.instance_id.as_deref());
        w.nullable_string(true, true, self.rack_id.as_deref());
        w.i32(self.member_epoch);
        w.string(true, &self.client_id);
        w.string(true, &self.client_host);
        w.array(true, &self.subscribed_topic_names, |w, value| w.string(true, value));
        w.nullable_string(true, true, self.subscribed_topic_regex.as_deref());
        self.assignment.encode(w, version);
        self.target_assignment.encode(w, version);
        if version == 1 {
            w.i8(self.member_type);
        }
        w.tag_count(&[]);
    }
}

/// Part of a [`ConsumerGroupMember`]: `assignment`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerGroupAssignment<'a> {
    /// By topic.
    pub topic_partitions: Vec<ConsumerGroupTopicPartitions<'a>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ConsumerGroupAssignment<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            topic_partitions: r.array(true, 19, |r| ConsumerGroupTopicPartitions::decode(r, version))?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ConsumerGroupAssignment<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.array(true, &self.topic_partitions, |w, value| value.encode(w, version));
        w.tag_count(&[]);
    }
}

/// Part of a [`ConsumerGroupAssignment`]: `topic_partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerGroupTopicPartitions<'a> {
    /// Id of the topic; zero for none.
    pub topic_id: Uuid,
    /// Name of the topic.
    pub topic_name: Cow<'a, str>,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ConsumerGroupTopicPartitions<'a> {
    fn decode(r: &mut Reader<'a>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            topic_id: r.uuid()?,
            topic_name: r.string(true)?,
            partitions: r.array(true, 4, Reader::i32)?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ConsumerGroupTopicPartitions<'_> {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.uuid(self.topic_id);
        w.string(true, &self.topic_name);
        w.array(true, &self.partitions, |w, value| w.i32(*value));
        w.tag_count(&[]);
    }
}
