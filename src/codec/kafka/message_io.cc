// SPDX-License-Identifier: Apache-2.0
// Kafka's lengths, nulls and limits in both forms, classic and flexible.
#include "codec/kafka/message_io.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/result.h"

namespace lakestream::codec::kafka {

namespace {

constexpr std::size_t length_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int8_t struct_present = 1;
constexpr std::int8_t struct_null = -1;

}  // namespace

Uuid MessageReader::uuid() noexcept {
    Uuid id;
    if (const auto taken = cursor.span(id.bytes.size()); !taken.empty()) {
        std::memcpy(id.bytes.data(), taken.data(), taken.size());
    }
    return id;
}

std::optional<std::size_t> MessageReader::length(Prefix prefix, bool null_allowed) noexcept {
    std::int64_t length = 0;
    if (flexible) {
        length = std::int64_t{cursor.uvarint()} - 1;
    } else {
        length = prefix == Prefix::int16 ? cursor.int16() : cursor.int32();
    }
    if (length < 0) {
        if (!null_allowed) {
            cursor.fail();
        }
        return std::nullopt;
    }
    return static_cast<std::size_t>(length);
}

std::optional<std::string> MessageReader::nullable_string(bool allowed) {
    const auto size = length(Prefix::int16, allowed);
    if (!size) {
        return std::nullopt;
    }
    if (*size > string_bytes_max) {
        cursor.fail();
    }
    return std::string(cursor.view(*size));
}

std::optional<Bytes> MessageReader::nullable_bytes(bool allowed) {
    const auto size = length(Prefix::int32, allowed);
    if (!size) {
        return std::nullopt;
    }
    return cursor.bytes(*size);
}

std::optional<Slices> MessageReader::nullable_slices(bool allowed) {
    auto taken = nullable_bytes(allowed);
    return taken ? std::optional(Slices(std::move(*taken))) : std::nullopt;
}

std::optional<std::size_t> MessageReader::nullable_count(
    std::size_t element_bytes_min, bool allowed
) noexcept {
    const auto count = length(Prefix::int32, allowed);
    const auto possible = std::min(cursor.remaining() / element_bytes_min, array_elements_max);
    if (count && *count > possible) {
        cursor.fail();
        return std::nullopt;
    }
    return count;
}

bool MessageReader::present(bool null_allowed) noexcept {
    const bool present = cursor.int8() >= 0;
    if (!present && !null_allowed) {
        cursor.fail();
    }
    return present && cursor.ok();
}

void MessageWriter::fail(Error error) {
    if (status.ok()) {
        status = std::move(error);
    }
}

void MessageWriter::length(Prefix prefix, std::size_t size) {
    if (size > (prefix == Prefix::int16 ? string_bytes_max : length_max)) {
        fail(invalid_argument("{} bytes do not fit into one Kafka field", size));
    } else if (flexible) {
        cursor.uvarint(static_cast<std::uint32_t>(size) + 1);
    } else if (prefix == Prefix::int16) {
        cursor.int16(static_cast<std::int16_t>(size));
    } else {
        cursor.int32(static_cast<std::int32_t>(size));
    }
}

void MessageWriter::null(Prefix prefix, bool allowed, std::string_view field) {
    if (!allowed) {
        fail(invalid_argument("{} is null, which version {} cannot say", field, version));
    } else if (flexible) {
        cursor.uvarint(0);
    } else if (prefix == Prefix::int16) {
        cursor.int16(-1);
    } else {
        cursor.int32(-1);
    }
}

void MessageWriter::string(std::string_view text) {
    length(Prefix::int16, text.size());
    cursor.raw(text);
}

void MessageWriter::nullable_string(
    const std::optional<std::string>& text, bool allowed, std::string_view field
) {
    if (text) {
        string(*text);
    } else {
        null(Prefix::int16, allowed, field);
    }
}

void MessageWriter::bytes(const Bytes& bytes) {
    length(Prefix::int32, bytes.size());
    cursor.splice(bytes);
}

void MessageWriter::nullable_bytes(
    const std::optional<Bytes>& value, bool allowed, std::string_view field
) {
    if (value) {
        bytes(*value);
    } else {
        null(Prefix::int32, allowed, field);
    }
}

void MessageWriter::slices(const Slices& slices) {
    length(Prefix::int32, slices.size());
    cursor.splice(slices);
}

void MessageWriter::nullable_slices(
    const std::optional<Slices>& value, bool allowed, std::string_view field
) {
    if (value) {
        slices(*value);
    } else {
        null(Prefix::int32, allowed, field);
    }
}

void MessageWriter::count(std::size_t elements) {
    if (elements > array_elements_max) {
        fail(invalid_argument("{} elements in one array are more than Kafka takes", elements));
    }
    length(Prefix::int32, elements);
}

bool MessageWriter::present(bool is_present, bool null_allowed, std::string_view field) {
    if (!is_present && !null_allowed) {
        fail(invalid_argument("{} is null, which version {} cannot say", field, version));
    }
    cursor.int8(is_present ? struct_present : struct_null);
    return is_present;
}

void MessageWriter::tag_count(std::initializer_list<bool> present) {
    cursor.uvarint(static_cast<std::uint32_t>(std::ranges::count(present, true)));
}

void MessageWriter::no_place(std::string_view field) {
    fail(invalid_argument("{} has a value, and version {} has no place for it", field, version));
}

Error unsupported_version(std::string_view message, int version, VersionRange versions) {
    return unsupported(
        "{} version {}: versions {} to {} are known",
        message,
        version,
        versions.first,
        versions.last
    );
}

Error malformed(const Reader& reader, std::string_view message, int version) {
    return reader.status(fmt::format("Kafka {} version {}", message, version)).error();
}

}  // namespace lakestream::codec::kafka
