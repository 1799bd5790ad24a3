// SPDX-License-Identifier: Apache-2.0
// Reads and writes the records of groups.
#include "kafka/groups/record.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::kafka::groups {

namespace {

constexpr std::uint8_t version = 2;
constexpr std::uint8_t first_version_of_epochs = 2;
constexpr std::uint8_t has_current = 1;
constexpr std::uint8_t has_previous = 2;
constexpr std::int64_t never = -1;
constexpr std::uint64_t ms_max = std::uint64_t{1} << 40;  // of a duration

void put(codec::Writer& out, std::string_view text) {
    out.uvarint(static_cast<std::uint32_t>(text.size()));
    out.raw(text);
}

void put(codec::Writer& out, const Bytes& bytes) {
    out.uvarint(static_cast<std::uint32_t>(bytes.size()));
    out.raw(bytes.span());
}

void put_optional(codec::Writer& out, const std::optional<std::string>& text) {
    out.boolean(text.has_value());
    if (text.has_value()) {
        put(out, *text);
    }
}

void put(codec::Writer& out, Duration duration) {
    out.uvarint64(static_cast<std::uint64_t>(duration / 1ms));
}

std::string text(codec::Reader& in) {
    return std::string(in.view(in.uvarint()));
}

Bytes bytes(codec::Reader& in) {
    return Bytes::copy(in.span(in.uvarint()));
}

bool flag(codec::Reader& in) {
    const std::uint8_t value = in.uint8();
    if (value > 1) {
        in.fail();
    }
    return value == 1;
}

std::optional<std::string> optional_text(codec::Reader& in) {
    return flag(in) ? std::optional(text(in)) : std::nullopt;
}

Duration duration(codec::Reader& in) {
    const std::uint64_t ms = in.uvarint64();
    if (ms > ms_max) {
        in.fail();
        return {};
    }
    return std::chrono::milliseconds(ms);
}

void put(codec::Writer& out, const MemberRecord& member) {
    put(out, member.id);
    put_optional(out, member.instance_id);
    put(out, member.client_id);
    put(out, member.client_host);
    put(out, member.session_timeout);
    put(out, member.rebalance_timeout);
    put(out, member.subscription);
    put(out, member.assignment);
}

MemberRecord member(codec::Reader& in) {
    MemberRecord read;
    read.id = text(in);
    read.instance_id = optional_text(in);
    read.client_id = text(in);
    read.client_host = text(in);
    read.session_timeout = duration(in);
    read.rebalance_timeout = duration(in);
    read.subscription = bytes(in);
    read.assignment = bytes(in);
    return read;
}

void put(codec::Writer& out, const Committed& committed) {
    out.int64(committed.offset);
    out.int32(committed.leader_epoch);
    out.int64(to_ms(committed.at));
    out.int64(committed.expires.has_value() ? to_ms(*committed.expires) : never);
    out.raw(committed.topic_id);
    put(out, committed.metadata);
}

Committed committed(codec::Reader& in) {
    Committed read;
    read.offset = in.int64();
    read.leader_epoch = in.int32();
    read.at = wall_from_ms(in.int64());
    const std::int64_t expires = in.int64();
    if (expires != never) {
        read.expires = wall_from_ms(expires);
    }
    const auto id = in.span(read.topic_id.size());
    std::ranges::copy(id, read.topic_id.begin());
    read.metadata = text(in);
    return read;
}

/// The version byte: what follows is read by its rules.
Result<std::uint8_t> read_version(codec::Reader& in, std::string_view what) {
    const std::uint8_t found = in.uint8();
    if (found > version) {
        return unsupported(
            "{} of version {}: this program knows {}; use a newer one", what, found, version
        );
    }
    return found;
}

std::uint64_t epoch(codec::Reader& in, std::uint8_t found) {
    const std::uint64_t stored = in.uvarint64();
    return found < first_version_of_epochs ? 0 : stored;
}

}  // namespace

Bytes encode(const GroupRecord& record) {
    codec::Writer out;
    out.uint8(version);
    out.uvarint64(record.epoch);
    out.uint8(static_cast<std::uint8_t>(record.life));
    out.int32(record.generation);
    out.int64(to_ms(record.empty_since));
    put(out, record.protocol_type);
    put_optional(out, record.protocol_name);
    put_optional(out, record.leader);
    out.uvarint(static_cast<std::uint32_t>(record.members.size()));
    for (const MemberRecord& member : record.members) {
        put(out, member);
    }
    return out.finish().join();
}

Result<GroupRecord> decode_group(const Bytes& stored) {
    codec::Reader in(stored.span());
    const std::uint8_t found = LKS_TRY(read_version(in, "group record"));
    GroupRecord record;
    record.epoch = epoch(in, found);
    record.life = flag(in) ? GroupRecord::Life::deleted : GroupRecord::Life::lives;
    record.generation = in.int32();
    record.empty_since = wall_from_ms(in.int64());
    record.protocol_type = text(in);
    record.protocol_name = optional_text(in);
    record.leader = optional_text(in);
    for (std::uint32_t i = in.uvarint(); i > 0 && in.ok(); --i) {
        record.members.push_back(member(in));
    }
    if (in.remaining() > 0) {
        in.fail();
    }
    LKS_TRY(in.status("group record"));
    return record;
}

Bytes encode(const OffsetRecord& record) {
    codec::Writer out;
    out.uint8(version);
    out.uvarint64(record.epoch);
    out.uint8(static_cast<std::uint8_t>(
        (record.current.has_value() ? has_current : 0) |
        (record.previous.has_value() ? has_previous : 0)
    ));
    if (record.current.has_value()) {
        put(out, *record.current);
    }
    if (record.previous.has_value()) {
        put(out, *record.previous);
    }
    return out.finish().join();
}

Result<OffsetRecord> decode_offset(const Bytes& stored) {
    codec::Reader in(stored.span());
    const std::uint8_t found = LKS_TRY(read_version(in, "committed offset"));
    OffsetRecord record;
    record.epoch = epoch(in, found);
    const std::uint8_t has = in.uint8();
    if (has > (has_current | has_previous)) {
        in.fail();
    }
    if ((has & has_current) != 0) {
        record.current = committed(in);
    }
    if ((has & has_previous) != 0) {
        record.previous = committed(in);
    }
    if (in.remaining() > 0) {
        in.fail();
    }
    LKS_TRY(in.status("committed offset"));
    return record;
}

Epochs Epochs::at(std::int64_t put) const {
    Epochs all = *this;
    if (std::exchange(all.begins, false)) {
        all.begun.push_back(static_cast<std::uint64_t>(put) + 1);
        all.first = first != 0 ? first : all.begun.back();
    }
    return all;
}

bool Epochs::counts(std::uint64_t epoch, std::int64_t put) const {
    return !is_of_earlier_life(epoch) && std::ranges::none_of(begun, [&](std::uint64_t other) {
        return other > epoch && other <= static_cast<std::uint64_t>(put);
    });
}

Bytes encode(const Epochs& epochs) {
    codec::Writer out;
    out.uint8(version);
    out.boolean(epochs.begins);
    out.uvarint64(epochs.first);
    out.uvarint(static_cast<std::uint32_t>(epochs.begun.size()));
    for (const std::uint64_t begun : epochs.begun) {
        out.uvarint64(begun);
    }
    return out.finish().join();
}

Result<Epochs> decode_epochs(const Bytes& stored) {
    codec::Reader in(stored.span());
    LKS_TRY(read_version(in, "epochs of a group"));
    Epochs epochs;
    epochs.begins = flag(in);
    epochs.first = in.uvarint64();
    for (std::uint32_t i = in.uvarint(); i > 0 && in.ok(); --i) {
        epochs.begun.push_back(in.uvarint64());
    }
    if (in.remaining() > 0) {
        in.fail();
    }
    LKS_TRY(in.status("epochs of a group"));
    return epochs;
}

std::optional<std::vector<std::string>> subscribed_topics(const Bytes& subscription) {
    codec::Reader in(subscription.span());
    const std::int16_t consumer_version = in.int16();
    const std::int32_t count = in.int32();
    if (consumer_version < 0 || count < 0) {
        return std::nullopt;
    }
    std::vector<std::string> topics;
    for (std::int32_t i = 0; i < count && in.ok(); ++i) {
        const std::int16_t size = in.int16();
        if (size < 0) {
            return std::nullopt;
        }
        topics.emplace_back(in.view(static_cast<std::size_t>(size)));
    }
    return in.ok() ? std::optional(std::move(topics)) : std::nullopt;
}

}  // namespace lakestream::kafka::groups
