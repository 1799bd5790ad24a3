// SPDX-License-Identifier: Apache-2.0
// Index of a compacted pair: gzip around framed JSON around Base64 around protobuf.
#include "table/compacted_index.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/endian.h"
#include "base/format.h"
#include "codec/base64.h"
#include "codec/compress.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::table {
namespace {

using codec::Reader;
using codec::Writer;

constexpr std::int32_t end_of_blocks = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t content_bytes_max = std::size_t{1} << 30;

/// Field number of the header in the row's message; field 4 is a schema version, not for raw rows.
constexpr std::uint32_t field_header = 2;

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_number(Writer& out, std::uint32_t field, std::int64_t value) {
    out.uvarint(field << 3);
    out.uvarint64(static_cast<std::uint64_t>(value));
}

void put_framed(std::string& out, std::string_view body) {
    std::byte length[sizeof(std::int32_t)];
    store_be(length, static_cast<std::int32_t>(body.size()));
    out.append(reinterpret_cast<const char*>(length), sizeof(length));
    out += body;
}

void skip_field(Reader& in, std::uint32_t tag) {
    switch (static_cast<WireType>(tag & 7)) {
        case WireType::varint: in.uvarint64(); return;
        case WireType::fixed64: in.skip(8); return;
        case WireType::bytes: in.skip(in.uvarint()); return;
        case WireType::fixed32: in.skip(4); return;
    }
    in.fail();
}

EntryHeader read_header(Reader& in) {
    EntryHeader header;
    while (in.ok() && in.remaining() > 0) {
        const std::uint32_t tag = in.uvarint();
        if ((tag & 7) != static_cast<std::uint32_t>(WireType::varint)) {
            skip_field(in, tag);
            continue;
        }
        const auto value = static_cast<std::int64_t>(in.uvarint64());
        switch (tag >> 3) {
            case 1: header.offset = Offset(value); break;
            case 2: header.records = static_cast<std::int32_t>(value); break;
            case 3: header.timestamp_ms = value; break;
            case 4: header.size_bytes = static_cast<std::int32_t>(value); break;
            case 5: header.cumulative_size = value; break;
            default: break;
        }
    }
    return header;
}

/// Takes the events of one block: an array of objects whose values are texts.
class BlockReader : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit BlockReader(std::vector<EntryHeader>& rows) : rows_(rows) {}

    const std::optional<Error>& error() const { return error_; }

    bool start_array(std::size_t /*elements*/) override {
        return std::exchange(in_array_, true) ? refuse("an array inside an array") : true;
    }
    bool start_object(std::size_t /*elements*/) override {
        if (!in_array_ || std::exchange(in_object_, true)) {
            return refuse("an object where none belongs");
        }
        metadata_.reset();
        offset_.reset();
        return true;
    }
    bool key(string_t& name) override {
        key_ = std::move(name);
        return true;
    }
    bool string(string_t& text) override {
        if (!in_object_) {
            return refuse("a text where none belongs");
        }
        if (key_ == "metadata") {
            metadata_ = std::move(text);
        } else if (key_ == "offset") {
            offset_ = std::move(text);
        }
        return true;
    }
    bool end_object() override {
        in_object_ = false;
        auto row = read_row();
        if (!row.ok()) {
            error_ = std::move(row.error());
            return false;
        }
        rows_.push_back(*row);
        return true;
    }
    bool end_array() override { return true; }

    bool null() override { return refuse("a null"); }
    bool boolean(bool) override { return refuse("a boolean"); }
    bool number_integer(number_integer_t) override { return refuse("a number"); }
    bool number_unsigned(number_unsigned_t) override { return refuse("a number"); }
    bool number_float(number_float_t, const string_t&) override { return refuse("a number"); }
    bool binary(binary_t&) override { return refuse("binary"); }
    bool parse_error(
        std::size_t position,
        const std::string& /*token*/,
        const nlohmann::json::exception& /*what*/
    ) override {
        error_ = corrupt("a block of the index is not JSON at byte {}", position);
        return false;
    }

  private:
    bool refuse(std::string_view what) {
        error_ = corrupt("row {} of the index: {}", rows_.size(), what);
        return false;
    }

    Result<EntryHeader> read_row() const {
        const std::size_t row = rows_.size();
        if (!metadata_.has_value() || !offset_.has_value()) {
            return corrupt("row {} of the index has no metadata or offset", row);
        }
        auto header = decode_metadata(*metadata_);
        if (!header.ok()) {
            return std::move(header.error()).with_context(fmt::format("row {} of the index", row));
        }
        std::int64_t offset = 0;
        const char* const end = offset_->data() + offset_->size();
        const auto parsed = std::from_chars(offset_->data(), end, offset);
        if (parsed.ec != std::errc() || parsed.ptr != end || offset != header->offset.v) {
            return corrupt(
                "row {} of the index has offset '{}' and {} in its metadata",
                row,
                *offset_,
                header->offset
            );
        }
        const std::int64_t from = rows_.empty() ? 0 : rows_.back().range().end.v;
        if (offset < from || header->records <= 0 || header->size_bytes < 0 ||
            offset > std::numeric_limits<std::int64_t>::max() - header->records) {
            return corrupt(
                "row {} of the index has offset {} (expected {} or more), {} records, {} bytes",
                row,
                offset,
                from,
                header->records,
                header->size_bytes
            );
        }
        return header;
    }

    std::vector<EntryHeader>& rows_;
    std::optional<Error> error_;
    bool in_array_ = false;
    bool in_object_ = false;
    std::string key_;
    std::optional<std::string> metadata_;
    std::optional<std::string> offset_;
};

Status read_block(std::string_view json, std::vector<EntryHeader>& rows) {
    BlockReader reader(rows);
    if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) {
        return reader.error().value_or(corrupt("a block of the index is not JSON"));
    }
    return {};
}

}  // namespace

std::string encode_metadata(const EntryHeader& header) {
    Writer numbers(48);
    put_number(numbers, 1, header.offset.v);
    put_number(numbers, 2, header.records);
    put_number(numbers, 3, header.timestamp_ms);
    put_number(numbers, 4, header.size_bytes);
    put_number(numbers, 5, header.cumulative_size);
    const Bytes inner = numbers.finish().join();
    Writer message(64);
    message.uvarint(field_header << 3 | static_cast<std::uint32_t>(WireType::bytes));
    message.uvarint(static_cast<std::uint32_t>(inner.size()));
    message.raw(inner.span());
    return codec::base64_encode(message.finish().join().span());
}

Result<EntryHeader> decode_metadata(std::string_view text) {
    const Bytes message = LKS_TRY(codec::base64_decode(text));
    Reader in(message.span());
    std::optional<EntryHeader> header;
    while (in.ok() && in.remaining() > 0) {
        const std::uint32_t tag = in.uvarint();
        if (tag == (field_header << 3 | static_cast<std::uint32_t>(WireType::bytes)) &&
            !header.has_value()) {
            Reader inner(in.span(in.uvarint()));
            header = read_header(inner);
            LKS_TRY(inner.status("entry header"));
        } else {
            skip_field(in, tag);
        }
    }
    LKS_TRY(in.status("row metadata"));
    if (!header.has_value()) {
        return corrupt("row metadata '{}' has no entry header", text);
    }
    return *header;
}

void CompactedIndexWriter::add(const EntryHeader& header) {
    LKS_ASSERT(offsets_.empty() || offsets_.back() < header.offset);
    block_ += block_.empty() ? '[' : ',';
    fmt::format_to(
        std::back_inserter(block_),
        R"({{"metadata":"{}","offset":"{}"}})",
        encode_metadata(header),
        header.offset
    );
    offsets_.push_back(header.offset);
    if (offsets_.size() % block_rows_max == 0) {
        end_block();
    }
}

void CompactedIndexWriter::end_block() {
    block_ += ']';
    put_framed(done_, block_);
    block_.clear();
}

std::string CompactedIndexWriter::take() {
    return std::exchange(done_, {});
}

std::string CompactedIndexWriter::finish() {
    LKS_ASSERT(!offsets_.empty());
    if (!block_.empty()) {
        end_block();
    }
    std::string map;
    map.reserve(offsets_.size() * 16);
    for (std::size_t row = 0; row < offsets_.size(); ++row) {
        fmt::format_to(
            std::back_inserter(map), "{}\"{}\":{}", row == 0 ? '{' : ',', offsets_[row], row
        );
    }
    map += '}';
    std::byte end[sizeof(end_of_blocks)];
    store_be(end, end_of_blocks);
    done_.append(reinterpret_cast<const char*>(end), sizeof(end));
    put_framed(done_, map);
    return take();
}

Result<std::vector<EntryHeader>> decode_compacted_index(const Bytes& stored) {
    return decode_compacted_index_content(
        LKS_TRY(codec::decompress(codec::Compression::gzip, stored, content_bytes_max))
    );
}

Result<std::vector<EntryHeader>> decode_compacted_index_content(const Bytes& content) {
    Reader in(content.span());
    std::vector<EntryHeader> rows;
    std::int32_t length = in.int32();
    for (; in.ok() && length != end_of_blocks; length = in.int32()) {
        const std::string_view json = in.view(static_cast<std::uint32_t>(length));
        if (in.ok()) {
            LKS_TRY(read_block(json, rows));
        }
    }
    // The map from offsets to rows says what the rows already say: only its frame is looked at.
    in.skip(static_cast<std::uint32_t>(in.int32()));
    LKS_TRY(in.status("compacted index"));
    return rows;
}

}  // namespace lakestream::table
