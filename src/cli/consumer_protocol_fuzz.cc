// SPDX-License-Identifier: Apache-2.0
// No bytes of a group's members crash us; what we read we write so that it reads the same.
#include <cstdint>

#include "base/assert.h"
#include "cli/consumer_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream;  // NOLINT(google-build-using-namespace): no namespace of its own
    const Bytes bytes = Bytes::copy(std::span(reinterpret_cast<const std::byte*>(data), size));
    if (const auto topics = cli::decode_subscription(bytes); topics.ok()) {
        const auto again = cli::decode_subscription(cli::encode_subscription(*topics));
        LKS_ASSERT(again.ok() && *again == *topics);
    }
    if (const auto assignment = cli::decode_assignment(bytes); assignment.ok()) {
        const auto again = cli::decode_assignment(cli::encode_assignment(*assignment));
        LKS_ASSERT(again.ok() && *again == *assignment);
    }
    return 0;
}
