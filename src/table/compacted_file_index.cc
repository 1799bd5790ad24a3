// SPDX-License-Identifier: Apache-2.0
// The file index of a compacted range (docs/formats/compacted-object.md).
#include "table/compacted_file_index.h"

#include <utility>

#include "base/format.h"
#include "codec/base64.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::table {

Result<std::string> CompactedFileIndex::find(Offset offset) const {
    const auto found = files_.lower_bound(offset);
    if (offset.v < 0 || found == files_.end()) {
        return out_of_range("no compacted file of {} holds offset {}", files_.size(), offset);
    }
    return found->second;
}

std::string CompactedFileIndex::encode() const {
    codec::Writer out;
    for (const auto& [last, name] : files_) {
        out.int64(last.v);
        out.int32(static_cast<std::int32_t>(name.size()));
        out.raw(name);
    }
    return codec::base64_encode(out.finish().join().span());
}

Result<CompactedFileIndex> CompactedFileIndex::decode(std::string_view text) {
    const Bytes stored = LKS_TRY(codec::base64_decode(text));
    codec::Reader in(stored.span());
    CompactedFileIndex index;
    while (in.remaining() > 0) {
        const Offset last(in.int64());
        const std::int32_t length = in.int32();
        const std::string_view name = in.view(static_cast<std::uint32_t>(length));
        if (!in.ok()) {
            break;
        }
        index.add(last, std::string(name));
    }
    return index;
}

}  // namespace lakestream::table
