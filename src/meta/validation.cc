// SPDX-License-Identifier: Apache-2.0
// Checks of requests.
#include "meta/validation.h"

#include <cstdint>
#include <cstring>

#include "base/result.h"

namespace lakestream::meta {

namespace {

constexpr std::uint64_t high_bits = 0x8080808080808080;

// Length of the sequence that `lead` begins, and the bounds of its second byte; 0 if none.
struct Lead {
    std::size_t length;
    unsigned char second_min;
    unsigned char second_max;
};

constexpr Lead lead_of(unsigned char lead) noexcept {
    if (lead < 0x80) {
        return {.length = 1, .second_min = 0, .second_max = 0};
    }
    if (lead >= 0xc2 && lead <= 0xdf) {
        return {.length = 2, .second_min = 0x80, .second_max = 0xbf};
    }
    if (lead >= 0xe0 && lead <= 0xef) {
        const bool overlong = lead == 0xe0;
        const bool surrogate = lead == 0xed;
        return {
            .length = 3,
            .second_min = static_cast<unsigned char>(overlong ? 0xa0 : 0x80),
            .second_max = static_cast<unsigned char>(surrogate ? 0x9f : 0xbf),
        };
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        return {
            .length = 4,
            .second_min = static_cast<unsigned char>(lead == 0xf0 ? 0x90 : 0x80),
            .second_max = static_cast<unsigned char>(lead == 0xf4 ? 0x8f : 0xbf),
        };
    }
    return {.length = 0, .second_min = 0, .second_max = 0};
}

// The bytes of the sequence that begins `text`; 0 if it is none.
std::size_t sequence_length(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const Lead lead = lead_of(byte(0));
    if (lead.length == 0 || lead.length > text.size()) {
        return 0;
    }
    if (lead.length > 1 && (byte(1) < lead.second_min || byte(1) > lead.second_max)) {
        return 0;
    }
    for (std::size_t i = 2; i < lead.length; ++i) {
        if (byte(i) < 0x80 || byte(i) > 0xbf) {
            return 0;
        }
    }
    return lead.length;
}

Status validate_key(std::string_view key) {
    if (!is_utf8(key)) {
        return invalid_argument("a key must be UTF-8");
    }
    if (key.starts_with(internal_prefix)) {
        return invalid_argument("key '{}' is the metadata server's own", key);
    }
    return {};
}

Status validate_partition_key(const std::optional<std::string>& key) {
    if (key.has_value() && !is_utf8(*key)) {
        return invalid_argument("a partition key must be UTF-8");
    }
    return {};
}

Status validate_size(const ShardBatch& batch) {
    const std::size_t operations = batch.puts.size() + batch.deletes.size() + batch.ranges.size();
    if (operations > batch_operations_max) {
        return invalid_argument(
            "a batch of {} operations, at most {}", operations, batch_operations_max
        );
    }
    if (const std::size_t bytes = batch_bytes(batch); bytes > batch_bytes_max) {
        return invalid_argument("a batch of {} bytes, at most {}", bytes, batch_bytes_max);
    }
    return {};
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        std::uint64_t word = 0;
        if (text.size() >= sizeof(word)) {
            std::memcpy(&word, text.data(), sizeof(word));
            if ((word & high_bits) == 0) {
                text.remove_prefix(sizeof(word));
                continue;
            }
        }
        const std::size_t length = sequence_length(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

std::size_t operations(const ShardBatch& batch) noexcept {
    return batch.puts.size() + batch.deletes.size() + batch.ranges.size();
}

std::size_t batch_bytes(const ShardBatch& batch) noexcept {
    const auto size = [](const std::optional<std::string>& text) {
        return text.has_value() ? text->size() : 0;
    };
    std::size_t bytes = 0;
    for (const Put& put : batch.puts) {
        bytes += put.key.size() + put.value.size() + size(put.partition_key) + size(put.identity);
    }
    for (const Delete& request : batch.deletes) {
        bytes += request.key.size();
    }
    for (const DeleteRange& range : batch.ranges) {
        bytes += range.begin.size() + range.end.size();
    }
    return bytes;
}

Status validate(const ShardBatch& batch) {
    LKS_TRY(validate_size(batch));
    for (const Put& put : batch.puts) {
        LKS_TRY(validate_key(put.key));
        LKS_TRY(validate_partition_key(put.partition_key));
    }
    for (const Delete& request : batch.deletes) {
        LKS_TRY(validate_key(request.key));
    }
    for (const DeleteRange& range : batch.ranges) {
        LKS_TRY(validate_key(range.begin));
        LKS_TRY(validate_key(range.end));
        if (range.end.empty()) {
            return invalid_argument("a range of keys to delete needs an end");
        }
    }
    return {};
}

Status validate(const Get& request) {
    LKS_TRY(validate_key(request.key));
    return validate_partition_key(request.partition_key);
}

Status validate(const Range& range) {
    LKS_TRY(validate_key(range.begin));
    LKS_TRY(validate_key(range.end));
    return validate_partition_key(range.partition_key);
}

Status validate_session_timeout(Duration timeout) {
    if (timeout < session_timeout_min || timeout > session_timeout_max) {
        return invalid_argument("a session's timeout is from 2 s to 5 min");
    }
    return {};
}

}  // namespace lakestream::meta
