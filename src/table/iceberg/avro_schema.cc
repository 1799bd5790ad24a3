// SPDX-License-Identifier: Apache-2.0
// Avro schemas from JSON.
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/result.h"
#include "table/iceberg/avro.h"
#include "table/iceberg/json_fields.h"

namespace lakestream::table::iceberg {

namespace {

constexpr int depth_max = 32;

class Parser {
  public:
    Result<AvroSchema> run(const Json& json) {
        schema_.root = LKS_TRY(type(json, 0));
        return std::move(schema_);
    }

  private:
    Result<std::size_t> type(const Json& json, int depth) {
        if (depth > depth_max) {
            return corrupt("Avro schema is nested more than {} deep", depth_max);
        }
        if (json.is_string()) {
            return named(json.get_ref<const std::string&>());
        }
        if (json.is_array()) {
            return choice(json, depth);
        }
        const std::string kind = LKS_TRY(text_field(json, "type"));
        if (kind == "record") {
            return record(json, depth);
        }
        if (kind == "array" || kind == "map") {
            const std::size_t element =
                LKS_TRY(type(field(json, kind == "array" ? "items" : "values"), depth + 1));
            return add({
                .kind = kind == "array" ? AvroKind::array : AvroKind::map,
                .options = {element},
            });
        }
        if (kind == "fixed") {
            const std::int64_t size = LKS_TRY(integer_field(json, "size"));
            if (size < 0) {
                return corrupt("Avro type fixed of {} bytes", size);
            }
            return declare(
                json, {.kind = AvroKind::fixed, .size = static_cast<std::uint64_t>(size)}
            );
        }
        if (kind == "enum") {
            return declare(
                json, {.kind = AvroKind::enumeration, .size = field(json, "symbols").size()}
            );
        }
        return named(kind);  // {"type": "long", "logicalType": …}
    }

    Result<std::size_t> choice(const Json& json, int depth) {
        AvroType type{.kind = AvroKind::choice};
        for (const Json& branch : json) {
            type.options.push_back(LKS_TRY(this->type(branch, depth + 1)));
        }
        return add(std::move(type));
    }

    Result<std::size_t> record(const Json& json, int depth) {
        const std::size_t place = LKS_TRY(declare(json, {.kind = AvroKind::record}));
        const Json& fields = field(json, "fields");
        if (!fields.is_array()) {
            return corrupt("Avro record without fields");
        }
        std::vector<AvroField> out;
        for (const Json& item : fields) {
            AvroField next{.name = LKS_TRY(text_field(item, "name"))};
            if (item.contains("field-id")) {
                next.id = LKS_TRY(int32_field(item, "field-id"));
            }
            next.type = LKS_TRY(type(field(item, "type"), depth + 1));
            out.push_back(std::move(next));
        }
        schema_.types[place].fields = std::move(out);
        return place;
    }

    /// Names are told apart by their last part only: manifests use no name spaces.
    static std::string last_part(const std::string& name) {
        return name.substr(name.rfind('.') + 1);
    }

    Result<std::size_t> declare(const Json& json, AvroType type) {
        const std::size_t place = add(std::move(type));
        names_[last_part(LKS_TRY(text_field(json, "name")))] = place;
        return place;
    }

    Result<std::size_t> named(const std::string& name) {
        static const std::map<std::string, AvroKind, std::less<>> primitives{
            {"null", AvroKind::null},
            {"boolean", AvroKind::boolean},
            {"int", AvroKind::integer},
            {"long", AvroKind::integer},
            {"float", AvroKind::real32},
            {"double", AvroKind::real64},
            {"bytes", AvroKind::bytes},
            {"string", AvroKind::bytes},
        };
        if (const auto primitive = primitives.find(name); primitive != primitives.end()) {
            return add({.kind = primitive->second});
        }
        const auto found = names_.find(last_part(name));
        if (found == names_.end()) {
            return corrupt("Avro schema names an unknown type '{}'", name);
        }
        return found->second;
    }

    std::size_t add(AvroType type) {
        schema_.types.push_back(std::move(type));
        return schema_.types.size() - 1;
    }

    AvroSchema schema_;
    std::map<std::string, std::size_t> names_;
};

}  // namespace

Result<AvroSchema> AvroSchema::parse(std::string_view json) {
    return Parser().run(LKS_TRY(parse_object(json, "Avro schema")));
}

}  // namespace lakestream::table::iceberg
