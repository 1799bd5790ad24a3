// SPDX-License-Identifier: Apache-2.0
// What generated message code reads and writes with: Kafka's strings, arrays, nulls and tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/slices.h"
#include "codec/kafka/gen/errors.h"
#include "codec/kafka/uuid.h"
#include "codec/kafka/version_range.h"
#include "codec/reader.h"
#include "codec/writer.h"
#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::codec::kafka {

/// Longest string in UTF-8 bytes, and most elements of one array, in either form: Kafka's own
/// limits.
inline constexpr std::size_t string_bytes_max = 0x7fff;
inline constexpr std::size_t array_elements_max = 1'000'000;

/// A message being read. Failure sticks in the cursor, as in Reader: generated code asks once.
///
/// Lengths: classic versions write int16 (string) or int32 (bytes, array), negative = null;
/// flexible ones write uvarint(length + 1), 0 = null. A null where `allowed` is false fails.
struct MessageReader {
    Reader& cursor;
    int version;
    bool flexible;

    ErrorCode error_code() noexcept { return static_cast<ErrorCode>(cursor.int16()); }
    Uuid uuid() noexcept;

    std::string string() { return nullable_string(false).value_or(std::string()); }
    std::optional<std::string> nullable_string(bool allowed);

    /// Shares the reader's input.
    Bytes bytes() { return nullable_bytes(false).value_or(Bytes()); }
    std::optional<Bytes> nullable_bytes(bool allowed);

    Slices slices() { return nullable_slices(false).value_or(Slices()); }
    std::optional<Slices> nullable_slices(bool allowed);

    /// Elements of an array. Fails if they cannot all be there, each taking at least
    /// `element_bytes_min`; so memory taken by the count is in proportion to the input.
    std::size_t count(std::size_t element_bytes_min) noexcept {
        return nullable_count(element_bytes_min, false).value_or(0);
    }
    std::optional<std::size_t> nullable_count(std::size_t element_bytes_min, bool allowed) noexcept;

    /// The marker in front of a struct that may be null.
    bool present(bool null_allowed) noexcept;

    void skip_tags() noexcept {
        tags([](std::uint32_t) { return false; });
    }

    /// The tag section: `read_known(tag)` reads the field and gives true, or gives false for a tag
    /// it does not know, which is skipped. Tags must ascend (KIP-482).
    template <class ReadKnown>
    void tags(ReadKnown&& read_known) {
        std::int64_t last = -1;
        // A section with more tags than bytes ends as soon as the cursor has failed.
        for (std::uint32_t left = cursor.uvarint(); left != 0 && cursor.ok(); --left) {
            const std::uint32_t tag = cursor.uvarint();
            const std::size_t size = cursor.uvarint();
            const std::size_t begin = cursor.position();
            if (std::exchange(last, tag) >= tag) {
                cursor.fail();
            } else if (!read_known(tag)) {
                cursor.skip(size);
            } else if (cursor.position() - begin != size) {
                cursor.fail();
            }
        }
    }

    /// Run `read` in the classic form whatever the version (the header's client id).
    template <class Read>
    void classic(Read&& read) {
        const bool before = std::exchange(flexible, false);
        read();
        flexible = before;
    }

  private:
    enum class Prefix : std::uint8_t { int16, int32 };

    /// A length or count; nothing for null, also after a failure.
    std::optional<std::size_t> length(Prefix prefix, bool null_allowed) noexcept;
};

/// A message being written. The first error sticks in `status`; what follows it is still written,
/// and is to be thrown away with the rest.
struct MessageWriter {
    Writer& cursor;
    int version;
    bool flexible;
    Status status{};

    void error_code(ErrorCode code) { cursor.int16(static_cast<std::int16_t>(code)); }
    void uuid(const Uuid& id) { cursor.raw(id.bytes); }

    void string(std::string_view text);
    void nullable_string(
        const std::optional<std::string>& text, bool allowed, std::string_view field
    );

    /// Large bytes are shared, not copied.
    void bytes(const Bytes& bytes);
    void nullable_bytes(const std::optional<Bytes>& bytes, bool allowed, std::string_view field);

    void slices(const Slices& slices);
    void nullable_slices(const std::optional<Slices>& slices, bool allowed, std::string_view field);

    void count(std::size_t elements);
    /// Gives whether there are elements to follow.
    template <class Array>
    bool nullable_count(
        const std::optional<Array>& elements, bool allowed, std::string_view field
    ) {
        if (elements.has_value()) {
            count(elements->size());
        } else {
            null(Prefix::int32, allowed, field);
        }
        return elements.has_value();
    }

    /// The marker in front of a struct that may be null; gives whether the struct follows.
    bool present(bool is_present, bool null_allowed, std::string_view field);

    void no_tags() { cursor.uvarint(0); }
    void tag_count(std::initializer_list<bool> present);
    /// One tagged field. `write_value` gets a writer of its own: the size comes first.
    template <class WriteValue>
    void tag(std::uint32_t number, WriteValue&& write_value) {
        Writer body;
        MessageWriter value{.cursor = body, .version = version, .flexible = flexible};
        write_value(value);
        if (status.ok()) {
            status = std::move(value.status);
        }
        cursor.uvarint(number);
        cursor.uvarint(static_cast<std::uint32_t>(body.size()));
        cursor.splice(body.finish());
    }

    /// `field` has a value that this version cannot carry.
    void no_place(std::string_view field);

    /// Run `write` in the classic form whatever the version.
    template <class Write>
    void classic(Write&& write) {
        const bool before = std::exchange(flexible, false);
        write();
        flexible = before;
    }

  private:
    enum class Prefix : std::uint8_t { int16, int32 };

    void length(Prefix prefix, std::size_t size);
    void null(Prefix prefix, bool allowed, std::string_view field);
    void fail(Error error);
};

/// The error of decoding or encoding `message` in a version it does not have.
Error unsupported_version(std::string_view message, int version, VersionRange versions);

/// The error of a decoder whose reader failed.
Error malformed(const Reader& reader, std::string_view message, int version);

}  // namespace lakestream::codec::kafka
