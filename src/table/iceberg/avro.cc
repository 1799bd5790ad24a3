// SPDX-License-Identifier: Apache-2.0
// Container files: header, blocks, values.
#include "table/iceberg/avro.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/endian.h"
#include "base/result.h"
#include "codec/compress.h"

namespace lakestream::table::iceberg {

namespace {

constexpr std::string_view magic("Obj\x01", 4);
constexpr std::size_t block_bytes_max = 32UL << 20;
constexpr std::size_t block_bytes_target = 64UL << 10;
constexpr int depth_max = 32;

/// A length in front of bytes. Fails the reader when there are not so many.
std::size_t length(codec::Reader& reader) {
    const std::int64_t claimed = reader.varlong();
    if (claimed < 0 || static_cast<std::uint64_t>(claimed) > reader.remaining()) {
        reader.fail();
        return 0;
    }
    return static_cast<std::size_t>(claimed);
}

/// Decodes values by a schema, with a limit to how many a block may hold.
class Decoder {
  public:
    Decoder(const AvroSchema& schema, codec::Reader& reader, std::uint64_t& values_left)
        : schema_(schema), reader_(reader), values_left_(values_left) {}

    Result<AvroValue> value(std::size_t type_place, int depth) {
        const AvroType& type = schema_.types[type_place];
        if (depth > depth_max || values_left_ == 0) {
            return corrupt("Avro data is nested too deep or holds more values than it has bytes");
        }
        --values_left_;
        switch (type.kind) {
            case AvroKind::null: return AvroValue{};
            case AvroKind::boolean: return AvroValue{reader_.boolean()};
            case AvroKind::integer: return AvroValue{reader_.varlong()};
            case AvroKind::real32: return AvroValue{real<float, std::uint32_t>()};
            case AvroKind::real64: return AvroValue{real<double, std::uint64_t>()};
            case AvroKind::bytes: return AvroValue{reader_.bytes(length(reader_))};
            case AvroKind::fixed: return AvroValue{reader_.bytes(type.size)};
            case AvroKind::enumeration: return AvroValue{reader_.varlong()};
            case AvroKind::array: return list(type, depth);
            case AvroKind::map: return list(type, depth);
            case AvroKind::record: return record(type, depth);
            case AvroKind::choice: return choice(type, depth);
        }
        LKS_UNREACHABLE();
    }

  private:
    template <class Real, class Word>
    double real() {
        const auto bytes = reader_.span(sizeof(Word));
        return bytes.empty() ? 0 : std::bit_cast<Real>(load_le<Word>(bytes.data()));
    }

    Result<AvroValue> choice(const AvroType& type, int depth) {
        const std::int64_t branch = reader_.varlong();
        if (branch < 0 || static_cast<std::uint64_t>(branch) >= type.options.size()) {
            return corrupt("Avro union without branch {}", branch);
        }
        return value(type.options[static_cast<std::size_t>(branch)], depth + 1);
    }

    Result<AvroValue> record(const AvroType& type, int depth) {
        AvroRecord out{.fields = &type.fields};
        for (const AvroField& field : type.fields) {
            out.values.push_back(LKS_TRY(value(field.type, depth + 1)));
        }
        return AvroValue{std::move(out)};
    }

    Result<AvroValue> list(const AvroType& type, int depth) {
        std::vector<AvroValue> items;
        while (true) {
            std::int64_t count = reader_.varlong();
            if (count < 0) {
                reader_.varlong();  // bytes of this part, for who wants to skip it
                if (count == std::numeric_limits<std::int64_t>::min()) {
                    return corrupt("Avro list with a count out of range");
                }
                count = -count;
            }
            if (count == 0 || !reader_.ok()) {
                return AvroValue{std::move(items)};
            }
            for (; count > 0 && reader_.ok(); --count) {
                items.push_back(LKS_TRY(item(type, depth)));
            }
        }
    }

    Result<AvroValue> item(const AvroType& type, int depth) {
        if (type.kind == AvroKind::array) {
            return value(type.options.front(), depth + 1);
        }
        static const std::vector<AvroField> unnamed(2);
        AvroRecord entry{.fields = &unnamed};
        entry.values.push_back(AvroValue{reader_.bytes(length(reader_))});
        entry.values.push_back(LKS_TRY(value(type.options.front(), depth + 1)));
        return AvroValue{std::move(entry)};
    }

    const AvroSchema& schema_;
    codec::Reader& reader_;
    std::uint64_t& values_left_;
};

/// Its value as a T; null when it is missing or null. Another type is an error.
template <class T>
Result<const T*> as(const AvroRecord& record, std::int32_t id) {
    const AvroValue* const found = record.find(id);
    if (found == nullptr) {
        return static_cast<const T*>(nullptr);
    }
    if (const T* const value = std::get_if<T>(&found->value)) {
        return value;
    }
    return corrupt("Avro field {} is of an unexpected type", id);
}

Error missing(std::int32_t id) {
    return corrupt("Avro field {} is missing", id);
}

}  // namespace

const AvroValue* AvroRecord::find(std::int32_t id) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if ((*fields)[i].id == id) {
            const AvroValue& value = values[i];
            return std::holds_alternative<std::monostate>(value.value) ? nullptr : &value;
        }
    }
    return nullptr;
}

Result<std::optional<std::int64_t>> AvroRecord::optional_integer(std::int32_t id) const {
    const auto* const value = LKS_TRY(as<std::int64_t>(*this, id));
    return value == nullptr ? std::nullopt : std::optional(*value);
}

Result<std::int64_t> AvroRecord::integer(std::int32_t id) const {
    const auto* const value = LKS_TRY(as<std::int64_t>(*this, id));
    return value == nullptr ? Result<std::int64_t>(missing(id)) : *value;
}

Result<std::int32_t> AvroRecord::int32(std::int32_t id) const {
    const std::int64_t value = LKS_TRY(integer(id));
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
        return corrupt("Avro field {} is {}, no 32-bit integer", id, value);
    }
    return static_cast<std::int32_t>(value);
}

Result<std::optional<bool>> AvroRecord::optional_boolean(std::int32_t id) const {
    const auto* const value = LKS_TRY(as<bool>(*this, id));
    return value == nullptr ? std::nullopt : std::optional(*value);
}

Result<std::string> AvroRecord::text(std::int32_t id) const {
    const auto* const value = LKS_TRY(as<Bytes>(*this, id));
    return value == nullptr ? Result<std::string>(missing(id)) : std::string(value->view());
}

Result<std::optional<Bytes>> AvroRecord::optional_bytes(std::int32_t id) const {
    const auto* const value = LKS_TRY(as<Bytes>(*this, id));
    return value == nullptr ? std::nullopt : std::optional(value->compact());
}

Result<const std::vector<AvroValue>*> AvroRecord::list(std::int32_t id) const {
    static const std::vector<AvroValue> empty;
    const auto* const value = LKS_TRY(as<std::vector<AvroValue>>(*this, id));
    return value == nullptr ? &empty : value;
}

Result<AvroReader> AvroReader::open(Bytes file) {
    AvroReader reader(std::move(file));
    LKS_TRY(reader.read_header());
    return reader;
}

Status AvroReader::read_header() {
    if (file_.view(magic.size()) != magic) {
        return corrupt("no Avro container file");
    }
    while (true) {
        std::int64_t count = file_.varlong();
        if (count < 0) {
            file_.varlong();
            count = count == std::numeric_limits<std::int64_t>::min() ? 0 : -count;
        }
        if (count == 0 || !file_.ok()) {
            break;
        }
        for (; count > 0 && file_.ok(); --count) {
            std::string name(file_.view(length(file_)));
            metadata_[std::move(name)] = std::string(file_.view(length(file_)));
        }
    }
    const auto sync = file_.span(sync_.size());
    LKS_TRY(file_.status("Avro header"));
    std::ranges::copy(sync, sync_.begin());
    schema_ = LKS_TRY(AvroSchema::parse(metadata_["avro.schema"]));
    if (schema_.types[schema_.root].kind != AvroKind::record) {
        return corrupt("Avro file does not hold records");
    }
    const std::string& codec = metadata_["avro.codec"];
    if (codec == "deflate") {
        codec_ = Codec::deflate;
    } else if (codec == "zstandard") {
        codec_ = Codec::zstandard;
    } else if (!codec.empty() && codec != "null") {
        return unsupported("Avro codec '{}'", codec);
    }
    return {};
}

Status AvroReader::next_block() {
    const std::int64_t count = file_.varlong();
    const Bytes packed = file_.bytes(length(file_));
    const auto sync = file_.span(sync_.size());
    LKS_TRY(file_.status("Avro block"));
    if (!std::ranges::equal(sync, sync_)) {
        return corrupt("Avro block ends without its marker, at byte {}", file_.position());
    }
    Bytes data = packed;
    if (codec_ == Codec::deflate) {
        data = LKS_TRY(codec::inflate_raw(packed, block_bytes_max));
    } else if (codec_ == Codec::zstandard) {
        data = LKS_TRY(codec::decompress(codec::Compression::zstd, packed, block_bytes_max));
    }
    if (count < 0 || static_cast<std::uint64_t>(count) > data.size()) {
        return corrupt("Avro block of {} bytes claims {} records", data.size(), count);
    }
    left_in_block_ = count;
    // Each value takes a byte, but for nulls behind a union's byte and records without fields.
    constexpr std::uint64_t values_min = 1024;
    values_left_ = values_min + 3 * std::uint64_t{data.size()};
    block_ = codec::Reader(std::move(data));
    return {};
}

Result<std::optional<AvroRecord>> AvroReader::next() {
    while (left_in_block_ == 0) {
        if (block_.remaining() > 0) {
            return corrupt("Avro block has bytes after its last record");
        }
        if (file_.remaining() == 0) {
            LKS_TRY(file_.status("Avro file"));
            return std::optional<AvroRecord>();
        }
        LKS_TRY(next_block());
    }
    --left_in_block_;
    AvroValue value = LKS_TRY(Decoder(schema_, block_, values_left_).value(schema_.root, 0));
    LKS_TRY(block_.status("Avro record"));
    return std::optional(std::move(std::get<AvroRecord>(value.value)));
}

void put_avro_bytes(codec::Writer& to, std::string_view text) {
    to.varlong(static_cast<std::int64_t>(text.size()));
    to.raw(text);
}

AvroWriter::AvroWriter(
    std::string_view schema,
    const std::map<std::string, std::string>& metadata,
    std::array<std::byte, 16> sync
)
    : sync_(sync) {
    file_.raw(magic);
    file_.varlong(static_cast<std::int64_t>(metadata.size() + 2));
    put_avro_bytes(file_, "avro.schema");
    put_avro_bytes(file_, schema);
    put_avro_bytes(file_, "avro.codec");
    put_avro_bytes(file_, "deflate");
    for (const auto& [name, value] : metadata) {
        put_avro_bytes(file_, name);
        put_avro_bytes(file_, value);
    }
    file_.varlong(0);
    file_.raw(sync_);
}

codec::Writer& AvroWriter::next() {
    if (block_.size() >= block_bytes_target) {
        end_block();
    }
    ++records_in_block_;
    return block_;
}

void AvroWriter::end_block() {
    const Bytes packed = codec::deflate_raw(block_.finish().join());
    file_.varlong(std::exchange(records_in_block_, 0));
    put_avro_bytes(file_, packed.view());
    file_.raw(sync_);
}

Bytes AvroWriter::finish() {
    if (records_in_block_ > 0) {
        end_block();
    }
    return file_.finish().join();
}

}  // namespace lakestream::table::iceberg
