// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding rows.
#include "meta/embedded/rows.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/endian.h"
#include "base/result.h"
#include "codec/reader.h"
#include "codec/writer.h"
#include "meta/validation.h"

namespace lakestream::meta::embedded {

namespace {

constexpr std::uint8_t layout_version = 1;

enum Flag : std::uint8_t {
    has_session = 1,
    has_identity = 2,
    has_partition_key = 4,
    all_flags = 7
};

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

void append_be(std::string& row, std::int64_t value) {
    std::byte bytes[sizeof(value)];
    store_be(bytes, value);
    row.append(reinterpret_cast<const char*>(bytes), sizeof(bytes));
}

void write_text(codec::Writer& writer, std::string_view text) {
    writer.uvarint64(text.size());
    writer.raw(text);
}

std::string read_text(codec::Reader& reader) {
    const std::uint64_t size = reader.uvarint64();
    return std::string(reader.view(static_cast<std::size_t>(size)));
}

Status check_version(codec::Reader& reader, std::string_view what) {
    const std::uint8_t version = reader.uint8();
    if (reader.ok() && version != layout_version) {
        return corrupt("{} in layout {}, which this version does not know", what, version);
    }
    return {};
}

Status check_end(const codec::Reader& reader, std::string_view what) {
    LKS_TRY(reader.status(what));
    if (reader.remaining() > 0) {
        return corrupt("{} with {} bytes too many", what, reader.remaining());
    }
    return {};
}

WallTime read_time(codec::Reader& reader, WallTime base) {
    // Wraps instead of overflowing: the bytes may say anything.
    return wall_from_ms(static_cast<std::int64_t>(
        static_cast<std::uint64_t>(to_ms(base)) + static_cast<std::uint64_t>(reader.varlong())
    ));
}

struct Header {
    RecordHead head;
    WallTime modified;
    std::uint8_t flags = 0;
};

Result<Header> read_header(codec::Reader& reader) {
    LKS_TRY(check_version(reader, "record"));
    Header header;
    header.flags = reader.uint8();
    if ((header.flags & ~all_flags) != 0) {
        return corrupt("record with unknown flags {:#x}", header.flags);
    }
    header.head.id = VersionId(reader.varlong());
    header.head.modifications = reader.varlong();
    header.head.created = read_time(reader, WallTime{});
    header.modified = read_time(reader, header.head.created);
    if ((header.flags & has_session) != 0) {
        header.head.session = SessionId(reader.varlong());
    }
    return header;
}

}  // namespace

std::string record_row(std::string_view encoded_key) {
    std::string row;
    row.reserve(1 + encoded_key.size());
    row.push_back(record_tag);
    row.append(encoded_key);
    return row;
}

std::string session_row(SessionId session) {
    std::string row(1, session_tag);
    append_be(row, session.v);
    return row;
}

std::string link_row(SessionId session, std::string_view encoded_key) {
    std::string row(1, link_tag);
    append_be(row, session.v);
    row.append(encoded_key);
    return row;
}

std::string rows_end(char tag) {
    return std::string(1, static_cast<char>(tag + 1));
}

Result<std::pair<SessionId, std::string_view>> parse_session_row(std::string_view row) {
    codec::Reader reader(bytes_of(row));
    reader.skip(1);
    const SessionId session(reader.int64());
    LKS_TRY(reader.status("session row"));
    return std::pair(session, reader.view(reader.remaining()));
}

Bytes encode_record_header(const StoredRecord& record) {
    const Version& version = record.version;
    const auto size = [](const std::optional<std::string>& text) {
        return text.has_value() ? text->size() + codec::uvarint32_bytes_max : 0;
    };
    codec::Writer writer(48 + size(version.identity) + size(record.partition_key));
    writer.uint8(layout_version);
    writer.uint8(static_cast<std::uint8_t>(
        (version.session.has_value() ? has_session : 0) |
        (version.identity.has_value() ? has_identity : 0) |
        (record.partition_key.has_value() ? has_partition_key : 0)
    ));
    writer.varlong(version.id.v);
    writer.varlong(version.modifications);
    writer.varlong(to_ms(version.created));
    writer.varlong(static_cast<std::int64_t>(
        static_cast<std::uint64_t>(to_ms(version.modified)) -
        static_cast<std::uint64_t>(to_ms(version.created))
    ));
    if (version.session.has_value()) {
        writer.varlong(version.session->v);
    }
    if (version.identity.has_value()) {
        write_text(writer, *version.identity);
    }
    if (record.partition_key.has_value()) {
        write_text(writer, *record.partition_key);
    }
    return writer.finish().join();
}

Result<StoredRecord> decode_record(std::string_view row) {
    codec::Reader reader(bytes_of(row));
    const Header header = LKS_TRY(read_header(reader));
    StoredRecord record;
    record.version = {
        .id = header.head.id,
        .modifications = header.head.modifications,
        .created = header.head.created,
        .modified = header.modified,
        .session = header.head.session,
        .identity = std::nullopt,
    };
    if ((header.flags & has_identity) != 0) {
        record.version.identity = read_text(reader);
    }
    if ((header.flags & has_partition_key) != 0) {
        record.partition_key = read_text(reader);
    }
    LKS_TRY(reader.status("record"));
    record.value = reader.bytes(reader.remaining());
    return record;
}

Result<RecordHead> decode_record_head(std::string_view row) {
    codec::Reader reader(bytes_of(row));
    const Header header = LKS_TRY(read_header(reader));
    LKS_TRY(reader.status("record"));
    return header.head;
}

Bytes encode_counters(ShardCounters counters) {
    codec::Writer writer(1 + 2 * sizeof(std::int64_t));
    writer.uint8(layout_version);
    writer.int64(counters.offset);
    writer.int64(counters.version);
    return writer.finish().join();
}

Result<ShardCounters> decode_counters(std::string_view row) {
    codec::Reader reader(bytes_of(row));
    LKS_TRY(check_version(reader, "metadata store"));
    ShardCounters counters;
    counters.offset = reader.int64();
    counters.version = reader.int64();
    LKS_TRY(check_end(reader, "counters"));
    if (counters.offset < 0 || counters.version < 0) {
        return corrupt("counters below 0");
    }
    return counters;
}

Bytes encode_session(const Session& session) {
    codec::Writer writer(16 + session.identity.size());
    writer.uint8(layout_version);
    writer.uvarint64(static_cast<std::uint64_t>(
        std::chrono::ceil<std::chrono::milliseconds>(session.timeout).count()
    ));
    write_text(writer, session.identity);
    return writer.finish().join();
}

Result<Session> decode_session(std::string_view row) {
    codec::Reader reader(bytes_of(row));
    LKS_TRY(check_version(reader, "session"));
    const std::uint64_t timeout_ms = reader.uvarint64();
    Session session;
    session.identity = read_text(reader);
    LKS_TRY(check_end(reader, "session"));
    const Status valid = timeout_ms <= 1'000'000'000
                             ? validate_session_timeout(std::chrono::milliseconds(timeout_ms))
                             : Status(corrupt("too long"));
    if (!valid.ok()) {
        return corrupt("session with a timeout of {} ms", timeout_ms);
    }
    session.timeout = std::chrono::milliseconds(timeout_ms);
    return session;
}

}  // namespace lakestream::meta::embedded
