// SPDX-License-Identifier: Apache-2.0
// What the metadata store holds of a group: its record, one for each committed offset, and the
// epochs of its coordinators.
//
//   group    = version:uint8 (2)  epoch:uvarint64  life:uint8 (0 lives, 1 deleted)
//              generation:int32  empty since:int64  type:text  name:text?  leader:text?
//              members:uvarint  member*
//   member   = id:text  instance:text?  client id:text  host:text
//              session ms:uvarint64  rebalance ms:uvarint64  subscription:bytes  assignment:bytes
//   offset   = version:uint8 (2)  epoch:uvarint64  has:uint8 (1 current, 2 previous)
//              committed*
//   epochs   = version:uint8 (2)  begins:uint8  first:uvarint64  count:uvarint  begun:uvarint64*
//   committed= offset:int64  leader epoch:int32  committed at:int64  expires at:int64 (-1: never)
//              topic id:16 bytes  metadata:text
//
// Times are ms since 1970; text and bytes begin with their length (uvarint); text? with a byte that
// says whether it is there. A record of epoch x counts only while no epoch above x had begun
// (docs/protocols/groups.md); else `previous` stands. Version 1 had other epochs: they are read as
// 0, that of nobody who could still write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "base/uuid.h"
#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::kafka::groups {

/// A member as it was when its generation began.
struct MemberRecord {
    std::string id;
    std::optional<std::string> instance_id;
    std::string client_id;
    std::string client_host;
    Duration session_timeout{};
    Duration rebalance_timeout{};
    Bytes subscription;  // for the chosen protocol
    Bytes assignment;

    bool operator==(const MemberRecord&) const = default;
};

/// The last completed generation of a group.
struct GroupRecord {
    enum class Life : std::uint8_t { lives = 0, deleted = 1 };

    std::uint64_t epoch = 0;  // of the coordinator that wrote it; 0: before there were such
    Life life = Life::lives;
    std::int32_t generation = 0;
    WallTime empty_since{};  // of a group without members
    std::string protocol_type;
    std::optional<std::string> protocol_name;
    std::optional<std::string> leader;
    std::vector<MemberRecord> members;

    bool operator==(const GroupRecord&) const = default;
};

/// A committed offset.
struct Committed {
    std::int64_t offset = 0;
    std::int32_t leader_epoch = -1;
    WallTime at{};
    std::optional<WallTime> expires;  // as the client asked for (OffsetCommit 2 to 4)
    Uuid topic_id{};
    std::string metadata;

    bool operator==(const Committed&) const = default;
};

struct OffsetRecord {
    std::uint64_t epoch = 0;
    std::optional<Committed> current;   // none: removed
    std::optional<Committed> previous;  // what counts if this record does not

    bool operator==(const OffsetRecord&) const = default;
};

/// The epochs by which a group's records are judged. An epoch is one more than the version of the
/// put that began it, so none is ever given twice, also not to a group that was deleted and made
/// again.
struct Epochs {
    bool begins = false;               // the put that stored this began one; it is in no field
    std::uint64_t first = 0;           // of this life of the group; 0: the one that begins
    std::vector<std::uint64_t> begun;  // ascending; earlier ones tell no record from another

    /// With the epoch that begins, if one does, by a put of version `put`.
    Epochs at(std::int64_t put) const;
    /// Whether a record counts that epoch `epoch` put as version `put`. Precondition: none begins.
    bool counts(std::uint64_t epoch, std::int64_t put) const;
    /// Whether it was written to a group of the same name that was deleted.
    bool is_of_earlier_life(std::uint64_t epoch) const { return epoch < first && epoch != 0; }

    bool operator==(const Epochs&) const = default;
};

Bytes encode(const GroupRecord& record);
Bytes encode(const OffsetRecord& record);
Bytes encode(const Epochs& epochs);

/// Errors: `corrupt`; `unsupported` (a newer version).
Result<GroupRecord> decode_group(const Bytes& stored);
Result<OffsetRecord> decode_offset(const Bytes& stored);
Result<Epochs> decode_epochs(const Bytes& stored);

/// The topics in a consumer's subscription (Kafka's ConsumerProtocolSubscription, any version);
/// none when it cannot be read.
std::optional<std::vector<std::string>> subscribed_topics(const Bytes& subscription);

}  // namespace lakestream::kafka::groups
