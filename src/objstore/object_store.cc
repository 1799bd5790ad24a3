// SPDX-License-Identifier: Apache-2.0
// What every store checks about its arguments in the same way.
#include "objstore/object_store.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace lakestream::objstore {

namespace {

constexpr std::size_t name_bytes_max = 900;
constexpr std::size_t segment_bytes_max = 255;  // NAME_MAX of Linux

/// Size of the UTF-8 sequence at the front (RFC 3629); 0 when it is broken or a control character.
std::size_t character_size(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) {
        return lead < 0x20 || lead == 0x7f ? 0 : 1;
    }
    const std::size_t size = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size == 0 || lead > 0xf4 || text.size() < size) {
        return 0;
    }
    unsigned value = lead & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) {
            return 0;
        }
        value = (value << 6) | (byte(i) & 0x3fU);
    }
    const unsigned least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
    const bool surrogate = value >= 0xd800 && value < 0xe000;
    return value < least || value > 0x10ffff || surrogate ? 0 : size;
}

Status check_segment(std::string_view segment) {
    if (segment.empty() || segment == "." || segment == "..") {
        return invalid_argument("it has the segment '{}'", segment);
    }
    if (segment.size() > segment_bytes_max) {
        return invalid_argument(
            "a segment has {} bytes, at most {}", segment.size(), segment_bytes_max
        );
    }
    return {};
}

Status check_name_parts(std::string_view name) {
    if (name.empty() || name.size() > name_bytes_max) {
        return invalid_argument("it has {} bytes, not 1 to {}", name.size(), name_bytes_max);
    }
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t size = character_size(name.substr(at));
        if (size == 0) {
            return invalid_argument("byte {} is not printable UTF-8", at);
        }
        at += size;
    }
    if (name.substr(0, name.find('/')) == reserved_folder) {
        return invalid_argument("'{}' is reserved", reserved_folder);
    }
    std::string_view rest = name;
    for (std::size_t slash = rest.find('/'); slash != rest.npos; slash = rest.find('/')) {
        LKS_TRY(check_segment(rest.substr(0, slash)));
        rest.remove_prefix(slash + 1);
    }
    return check_segment(rest);
}

/// The whole file.
Result<Bytes> read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = in.tellg();
    std::string bytes;
    in.seekg(0);
    bytes.resize_and_overwrite(
        static_cast<std::size_t>(std::max<std::streamoff>(size, 0)),
        [&](char* to, std::size_t count) {
            in.read(to, static_cast<std::streamsize>(count));
            return static_cast<std::size_t>(in.gcount());
        }
    );
    if (!in || static_cast<std::streamoff>(bytes.size()) != size) {
        return unavailable("file {} cannot be read", path);
    }
    return Bytes::own(std::move(bytes));
}

}  // namespace

rt::Task<Status> ObjectStore::put_file(std::string name, std::string path, IfExists if_exists) {
    Slices body(LKS_CO_TRY(read_file(path)));
    co_return co_await put(std::move(name), std::move(body), if_exists);
}

Status check_name(std::string_view name) {
    Status checked = check_name_parts(name);
    if (!checked.ok()) {
        return std::move(checked).error().with_context(fmt::format("object name '{}'", name));
    }
    return checked;
}

Status check_range(const std::optional<ByteRange>& range) {
    if (range.has_value() && range->begin > range->end) {
        return invalid_argument("range [{}, {}) ends before it begins", range->begin, range->end);
    }
    return {};
}

Status check_limit(std::uint32_t limit) {
    if (limit == 0 || limit > list_limit_max) {
        return invalid_argument("list limit {} is not in 1 to {}", limit, list_limit_max);
    }
    return {};
}

Status check_remove(std::size_t names) {
    if (names > remove_names_max) {
        return invalid_argument("{} names to remove at once, at most {}", names, remove_names_max);
    }
    return {};
}

}  // namespace lakestream::objstore
