// SPDX-License-Identifier: Apache-2.0
// Encoding of subscriptions and assignments.
#include "cli/consumer_protocol.h"

#include <algorithm>

#include "base/result.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::cli {

namespace {

void write_string(codec::Writer& out, const std::string& text) {
    out.int16(static_cast<std::int16_t>(text.size()));
    out.raw(text);
}

std::string read_string(codec::Reader& in) {
    // A negative size becomes one that no input has.
    return std::string(in.view(static_cast<std::size_t>(in.int16())));
}

}  // namespace

Bytes encode_subscription(const std::vector<std::string>& topics) {
    codec::Writer out;
    out.int16(0);
    out.int32(static_cast<std::int32_t>(topics.size()));
    for (const std::string& topic : topics) {
        write_string(out, topic);
    }
    out.int32(-1);
    return out.finish().join();
}

Result<std::vector<std::string>> decode_subscription(const Bytes& bytes) {
    codec::Reader in(bytes);
    in.int16();
    std::vector<std::string> topics;
    for (std::int32_t left = in.int32(); left > 0 && in.ok(); --left) {
        topics.push_back(read_string(in));
    }
    LKS_TRY(in.status("a member's subscription"));
    return topics;
}

Bytes encode_assignment(const Assignment& assignment) {
    codec::Writer out;
    out.int16(0);
    out.int32(static_cast<std::int32_t>(assignment.size()));
    for (const auto& [topic, partitions] : assignment) {
        write_string(out, topic);
        out.int32(static_cast<std::int32_t>(partitions.size()));
        for (const std::int32_t partition : partitions) {
            out.int32(partition);
        }
    }
    out.int32(-1);
    return out.finish().join();
}

Result<Assignment> decode_assignment(const Bytes& bytes) {
    Assignment assignment;
    if (bytes.empty()) {
        return assignment;
    }
    codec::Reader in(bytes);
    in.int16();
    for (std::int32_t topics = in.int32(); topics > 0 && in.ok(); --topics) {
        std::vector<std::int32_t>& partitions = assignment[read_string(in)];
        for (std::int32_t left = in.int32(); left > 0 && in.ok(); --left) {
            partitions.push_back(in.int32());
        }
    }
    LKS_TRY(in.status("a member's assignment"));
    return assignment;
}

std::map<std::string, std::vector<std::int32_t>> assign_ranges(
    std::vector<std::string> members, std::int32_t partitions
) {
    std::map<std::string, std::vector<std::int32_t>> assigned;
    std::ranges::sort(members);
    std::int32_t next = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const auto left = static_cast<std::int32_t>(members.size() - i);
        const std::int32_t end = next + (partitions - next + left - 1) / left;
        std::vector<std::int32_t>& mine = assigned[members[i]];
        for (; next < end; ++next) {
            mine.push_back(next);
        }
    }
    return assigned;
}

}  // namespace lakestream::cli
