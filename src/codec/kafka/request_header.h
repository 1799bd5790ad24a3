// SPDX-License-Identifier: Apache-2.0
// Reads the header in front of a request, whose own version follows from what it says.
#pragma once

#include "codec/kafka/gen/headers.h"
#include "codec/reader.h"
#include "lakestream/result.h"

namespace lakestream::codec::kafka {

/// The header at the start of a request frame; the body follows in `reader`. A request version
/// newer than the known ones is read like the newest, so that it can be answered. Errors:
/// `unsupported` if Kafka has no such API (its header cannot be read), `corrupt` if the header is
/// malformed.
Result<RequestHeader> decode_request_header(Reader& reader);

}  // namespace lakestream::codec::kafka
