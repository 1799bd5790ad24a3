// SPDX-License-Identifier: Apache-2.0
// Comparing keys, and encoding them so that bytes compare alike.
#include "meta/key_order.h"

#include "base/result.h"

namespace lakestream::meta {

namespace {

constexpr char last_segment = '\x00';
constexpr char more_segments = '\x01';
constexpr char escape = '\x02';

// Whether it stands for itself: `char` is signed.
constexpr bool is_plain(char c) {
    return static_cast<unsigned char>(c) > static_cast<unsigned char>(escape);
}

}  // namespace

std::strong_ordering compare_keys(KeyOrder order, std::string_view a, std::string_view b) {
    while (order == KeyOrder::hierarchical) {
        const std::size_t slash_a = a.find('/');
        const std::size_t slash_b = b.find('/');
        const bool ends_a = slash_a == std::string_view::npos;
        const bool ends_b = slash_b == std::string_view::npos;
        if (ends_a != ends_b) {
            return ends_a ? std::strong_ordering::less : std::strong_ordering::greater;
        }
        const auto segments = a.substr(0, slash_a) <=> b.substr(0, slash_b);
        if (ends_a || segments != std::strong_ordering::equal) {
            return segments;
        }
        a.remove_prefix(slash_a + 1);
        b.remove_prefix(slash_b + 1);
    }
    return a <=> b;
}

std::string encode_key(KeyOrder order, std::string_view key) {
    if (order == KeyOrder::natural) {
        return std::string(key);
    }
    std::string encoded;
    encoded.reserve(key.size() + 1);
    const std::size_t last_slash = key.rfind('/');
    encoded.push_back(last_slash == std::string_view::npos ? last_segment : more_segments);
    for (std::size_t i = 0; i < key.size(); ++i) {
        if (key[i] == '/') {
            encoded.push_back(i == last_slash ? last_segment : more_segments);
            continue;
        }
        if (!is_plain(key[i])) {
            encoded.push_back(escape);
        }
        encoded.push_back(key[i]);
    }
    return encoded;
}

Result<std::string> decode_key(KeyOrder order, std::string_view encoded) {
    if (order == KeyOrder::natural) {
        return std::string(encoded);
    }
    if (encoded.empty() || (encoded[0] != last_segment && encoded[0] != more_segments)) {
        return corrupt("encoded key without a segment");
    }
    bool ended = encoded[0] == last_segment;
    std::string key;
    key.reserve(encoded.size() - 1);
    for (std::size_t i = 1; i < encoded.size(); ++i) {
        if (encoded[i] == '/') {
            return corrupt("encoded key with a raw '/'");
        }
        if (is_plain(encoded[i])) {
            key.push_back(encoded[i]);
        } else if (encoded[i] == escape) {
            ++i;
            if (i == encoded.size() || is_plain(encoded[i])) {
                return corrupt("encoded key with a broken escape");
            }
            key.push_back(encoded[i]);
        } else {
            if (ended) {
                return corrupt("encoded key with a segment after the last one");
            }
            ended = encoded[i] == last_segment;
            key.push_back('/');
        }
    }
    if (!ended) {
        return corrupt("encoded key without its last segment");
    }
    return key;
}

}  // namespace lakestream::meta
