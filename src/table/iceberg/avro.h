// SPDX-License-Identifier: Apache-2.0
// Avro container files, as far as Iceberg's manifests need them (Avro 1.12 specification).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/reader.h"
#include "codec/writer.h"
#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::table::iceberg {

struct AvroField {
    std::string name;
    std::int32_t id = -1;  // Iceberg's `field-id`; -1 when there is none
    std::size_t type = 0;  // in AvroSchema
};

enum class AvroKind : std::uint8_t {
    null,
    boolean,
    integer,  // int and long
    real32,
    real64,
    bytes,  // bytes and string
    fixed,
    enumeration,
    array,
    map,
    record,
    choice,  // a union
};

struct AvroType {
    AvroKind kind = AvroKind::null;
    std::vector<AvroField> fields;     // record
    std::vector<std::size_t> options;  // choice: its branches; array and map: the element
    std::uint64_t size = 0;            // fixed: bytes; enumeration: symbols
};

/// A writer's schema. Types refer to each other by place, so that a type may hold itself.
struct AvroSchema {
    std::vector<AvroType> types;
    std::size_t root = 0;

    /// Errors: `corrupt`.
    static Result<AvroSchema> parse(std::string_view json);
};

struct AvroValue;

/// Values in the order of the schema's fields, found by Iceberg's field id: names may differ
/// between writers, ids may not.
struct AvroRecord {
    const std::vector<AvroField>* fields = nullptr;  // of the reader's schema
    std::vector<AvroValue> values;

    /// The field with this id; null when the writer had none, or wrote null.
    const AvroValue* find(std::int32_t id) const;

    // The field's value; the optional ones are absent for a missing field or null.
    // Errors: `corrupt` when it is of another type, or missing where it must not be.
    Result<std::int64_t> integer(std::int32_t id) const;
    Result<std::optional<std::int64_t>> optional_integer(std::int32_t id) const;
    Result<std::int32_t> int32(std::int32_t id) const;
    Result<std::optional<bool>> optional_boolean(std::int32_t id) const;
    Result<std::string> text(std::int32_t id) const;
    Result<std::optional<Bytes>> optional_bytes(std::int32_t id) const;
    /// Empty for a missing field or null.
    Result<const std::vector<AvroValue>*> list(std::int32_t id) const;
};

/// One value; which branch of a union it took shows only in its type. A map is a list of records of
/// two values without field ids. Bytes share the file's block.
struct AvroValue {
    std::variant<
        std::monostate,
        bool,
        std::int64_t,
        double,
        Bytes,
        std::vector<AvroValue>,
        AvroRecord>
        value;
};

/// Reads the records of a container file one after the other; codecs null, deflate and zstandard.
/// Never trusts a count: memory is bounded by one decompressed block (at most 32 MiB) and a small
/// multiple of it for the record at hand.
class AvroReader {
  public:
    /// Errors: `corrupt`, `unsupported` (codec).
    static Result<AvroReader> open(Bytes file);

    /// The file's metadata, `avro.schema` and `avro.codec` included.
    const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
    /// The next record; none at the end. It refers to this reader's schema.
    /// Errors: `corrupt`, `exhausted` (block too large).
    Result<std::optional<AvroRecord>> next();

  private:
    enum class Codec : std::uint8_t { null, deflate, zstandard };

    explicit AvroReader(Bytes file) : file_(std::move(file)) {}
    Status read_header();
    Status next_block();

    codec::Reader file_;
    std::map<std::string, std::string, std::less<>> metadata_;
    AvroSchema schema_;
    Codec codec_ = Codec::null;
    std::array<std::byte, 16> sync_{};
    codec::Reader block_{Bytes()};
    std::int64_t left_in_block_ = 0;
    std::uint64_t values_left_ = 0;  // what this block may still claim to hold
};

/// Writes a container file in deflated blocks of about 64 KiB. The caller encodes each record
/// itself, in the schema's order of fields.
class AvroWriter {
  public:
    /// `metadata` without `avro.*`. `sync` should differ between files.
    AvroWriter(
        std::string_view schema,
        const std::map<std::string, std::string>& metadata,
        std::array<std::byte, 16> sync
    );

    /// Start the next record: its fields go into the answer.
    codec::Writer& next();
    /// Bytes so far, about: what is not deflated yet counts in full.
    std::uint64_t bytes() const { return file_.size() + block_.size(); }
    Bytes finish();

  private:
    void end_block();

    codec::Writer file_;
    codec::Writer block_;
    std::int64_t records_in_block_ = 0;
    std::array<std::byte, 16> sync_;
};

/// A string or bytes: length, then the bytes.
void put_avro_bytes(codec::Writer& to, std::string_view text);

}  // namespace lakestream::table::iceberg
