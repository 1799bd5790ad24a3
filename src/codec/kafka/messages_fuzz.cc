// SPDX-License-Identifier: Apache-2.0
// Byte 0 picks a message, byte 1 a version, the rest is decoded: what reads must write and read
// back the same.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "codec/kafka/gen/all_messages.h"
#include "codec/kafka/request_header.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::codec::kafka {
namespace {

template <class Message>
void check(const Bytes& input, unsigned choice) {
    const int versions = Message::versions.last - Message::versions.first + 1;
    const int version = Message::versions.first + static_cast<int>(choice) % versions;
    Reader reader(input);
    const auto message = Message::decode(reader, version);
    if (!message.ok()) {
        return;
    }
    Writer writer;
    LKS_ASSERT(message->encode(writer, version).ok());
    Reader again(writer.finish().join());
    const auto back = Message::decode(again, version);
    LKS_ASSERT(back.ok() && again.remaining() == 0 && *back == *message);
}

template <class... Messages>
void check_one(MessageList<Messages...>, const Bytes& input, unsigned message, unsigned version) {
    constexpr std::array checks{check<Messages>...};
    checks[message % checks.size()](input, version);
}

}  // namespace
}  // namespace lakestream::codec::kafka

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream;
    if (size < 2) {
        return 0;
    }
    const Bytes input = Bytes::copy(std::as_bytes(std::span(data + 2, size - 2)));
    codec::kafka::check_one(codec::kafka::AllMessages{}, input, data[0], data[1]);
    codec::Reader reader(input);
    static_cast<void>(codec::kafka::decode_request_header(reader));
    return 0;
}
