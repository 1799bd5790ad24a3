// SPDX-License-Identifier: Apache-2.0
// Takes the records out, and puts them in again.
#include "codec/recompress.h"

#include <utility>
#include <vector>

#include "base/endian.h"
#include "base/result.h"
#include "codec/crc32c.h"
#include "codec/record_reader.h"

namespace lakestream::codec {

namespace {

constexpr std::size_t length_at = 8;
constexpr std::size_t crc_at = 17;
constexpr std::size_t attributes_at = 21;  // where the CRC's cover begins
constexpr std::uint16_t codec_bits = 7;

/// A batch with the header of another, but for what follows from its records.
Bytes assemble(const Bytes& header, const Bytes& records, Compression codec) {
    std::vector<std::byte> batch;
    batch.reserve(batch_header_bytes + records.size());
    batch.insert(batch.end(), header.begin(), header.begin() + batch_header_bytes);
    batch.insert(batch.end(), records.begin(), records.end());
    std::byte* const bytes = batch.data();
    store_be(bytes + length_at, static_cast<std::int32_t>(batch.size() - batch_prefix_bytes));
    const auto attributes = load_be<std::uint16_t>(bytes + attributes_at);
    store_be(
        bytes + attributes_at,
        static_cast<std::uint16_t>((attributes & ~codec_bits) | static_cast<unsigned>(codec))
    );
    store_be(bytes + crc_at, crc32c(std::span(batch).subspan(attributes_at)));
    return Bytes::own(std::move(batch));
}

}  // namespace

Result<Bytes> recompress_batch(const Bytes& batch, Compression to, std::size_t records_bytes_max) {
    const BatchHeader header = LKS_TRY(read_batch_header(batch.span()));
    const Bytes packed = batch.slice(batch_header_bytes, header.size() - batch_header_bytes);
    const Bytes records = LKS_TRY(decompress(header.codec(), packed, records_bytes_max));
    if (records.size() > records_bytes_max) {
        return exhausted("batch: records of {} bytes", records.size());
    }
    const Bytes plain = assemble(batch, records, Compression::none);
    LKS_TRY(check_plain_records(plain));
    return to == Compression::none ? plain : assemble(batch, compress(to, records), to);
}

}  // namespace lakestream::codec
