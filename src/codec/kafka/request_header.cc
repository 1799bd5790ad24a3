// SPDX-License-Identifier: Apache-2.0
// The header's version by API key and request version.
#include "codec/kafka/request_header.h"

#include "base/result.h"
#include "codec/kafka/gen/api_keys.h"

namespace lakestream::codec::kafka {

Result<RequestHeader> decode_request_header(Reader& reader) {
    Reader ahead = reader;
    const std::int16_t key = ahead.int16();
    const std::int16_t version = ahead.int16();
    LKS_TRY(ahead.status("Kafka request header"));
    const ApiInfo* const api = find_api(key);
    if (api == nullptr) {
        return unsupported("Kafka has no API with key {}", key);
    }
    return RequestHeader::decode(reader, request_header_version(*api, version));
}

}  // namespace lakestream::codec::kafka
