// SPDX-License-Identifier: Apache-2.0
// Taking a group over: begin an epoch, which fences every earlier one, then read what counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kafka/groups/keys.h"
#include "kafka/groups/ledger.h"
#include "kafka/groups/record.h"
#include "meta/metadata_store.h"
#include "rt/task.h"

namespace lakestream::kafka::groups {

/// A group as its new coordinator finds it.
struct Taken {
    Ledger ledger;
    /// None: there is no such group (yet), or it was deleted.
    std::optional<GroupRecord> record;
    /// What is stored says more than counts, and is to be written again.
    bool record_is_void = false;
};

/// Who takes over: a coordinator, unique to this process, and a number it never uses again. So an
/// epoch that an earlier call began and gave up is never taken for one's own.
struct Identity {
    std::string coordinator;
    std::uint64_t number = 0;
    /// Only if the epoch before is its own, of this number or a later one; else `fenced`.
    std::optional<std::uint64_t> after{};
};

/// Errors: of the store; `fenced` as above; `conflict` when others keep taking it over; `corrupt`,
/// `unsupported` (a newer format). Cost: 2 reads, 1 write, 1 scan.
rt::Task<Result<Taken>> take_over(
    meta::MetadataStore& store, std::string group_key, Identity identity
);

/// The group's record, living or not; none when there is none.
rt::Task<Result<std::optional<GroupRecord>>> find_group(
    meta::MetadataStore& store, std::string group_key
);

}  // namespace lakestream::kafka::groups
