// SPDX-License-Identifier: Apache-2.0
// Byte 0 picks a record; what is read is written, and read again as the same.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "kafka/groups/record.h"

using namespace lakestream;
using namespace lakestream::kafka::groups;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const Bytes stored = Bytes::copy(std::as_bytes(std::span(data + 1, size - 1)));
    if (data[0] % 4 == 0) {
        const auto record = decode_group(stored);
        if (record.ok()) {
            const auto again = decode_group(encode(*record));
            LKS_ASSERT(again.ok() && *again == *record);
        }
    } else if (data[0] % 4 == 1) {
        const auto record = decode_offset(stored);
        if (record.ok()) {
            const auto again = decode_offset(encode(*record));
            LKS_ASSERT(again.ok() && *again == *record);
        }
    } else if (data[0] % 4 == 2) {
        const auto epochs = decode_epochs(stored);
        if (epochs.ok()) {
            const auto again = decode_epochs(encode(*epochs));
            LKS_ASSERT(again.ok() && *again == *epochs);
        }
    } else {
        const auto topics = subscribed_topics(stored);
        LKS_ASSERT(!topics.has_value() || topics->size() <= size);
    }
    return 0;
}
