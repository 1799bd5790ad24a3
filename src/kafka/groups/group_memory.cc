// SPDX-License-Identifier: Apache-2.0
// What a group keeps of what its clients said, in bytes.
#include <algorithm>

#include "kafka/groups/group.h"

namespace lakestream::kafka::groups {

namespace {

constexpr std::size_t entry_bytes = 80;  // of an entry in a table, but for its texts

/// A member, or a request that makes one.
std::size_t bytes_of(const std::string& id, const auto& member) {
    std::size_t bytes = id.size() + member.client_id.size() + member.client_host.size();
    if (member.instance_id.has_value()) {
        bytes += entry_bytes + 2 * member.instance_id->size() + id.size();
    }
    for (const Protocol& protocol : member.protocols) {
        bytes += sizeof(Protocol) + protocol.name.size() + protocol.metadata.size();
    }
    return bytes;
}

}  // namespace

std::size_t Group::growth(const JoinRequest& request) const {
    const std::string& id = request.member_id.empty() ? request.fresh_id : request.member_id;
    const auto instance = statics_.find(request.instance_id.value_or(""));
    const auto before =
        members_.find(instance != statics_.end() ? instance->second : request.member_id);
    std::size_t had = protocol_type_.size();
    if (before != members_.end()) {
        had += bytes_of(before->first, before->second);
    }
    const std::size_t wanted = request.protocol_type.size() + bytes_of(id, request);
    return wanted > had ? wanted - had : 0;
}

bool Group::has_room_for(const JoinRequest& request) const {
    const std::size_t more = growth(request);
    if (more > 0 && !may_grow(more)) {
        return false;
    }
    const bool is_known =
        members_.contains(request.member_id) || invited_.contains(request.member_id) ||
        (request.instance_id.has_value() && statics_.contains(*request.instance_id));
    return is_known || members_.size() + invited_.size() < options_->members_max;
}

void Group::count_bytes() {
    bytes_ = protocol_type_.size();
    for (const auto& [id, until] : invited_) {
        bytes_ += entry_bytes + id.size();
    }
    for (const auto& [id, member] : members_) {
        bytes_ += bytes_of(id, member) + member.assignment.size();
    }
}

void Group::count_subscribed() {
    subscribed_bytes_ = 0;
    for (const std::string& topic : subscribed_) {
        subscribed_bytes_ += entry_bytes + topic.size();
    }
}

}  // namespace lakestream::kafka::groups
