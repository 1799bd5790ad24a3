// SPDX-License-Identifier: Apache-2.0
// The last bytes of a Parquet file: footer, its length (int32, little-endian), magic word.
#include "table/parquet_footer.h"

#include <string_view>

#include "base/endian.h"
#include "base/result.h"

namespace lakestream::table {

Result<std::uint64_t> parquet_footer_bytes(const Bytes& tail, std::uint64_t file_bytes) {
    constexpr std::string_view magic = "PAR1";
    constexpr std::string_view magic_encrypted = "PARE";
    if (tail.size() < parquet_end_bytes) {
        return corrupt("{} bytes are no Parquet file", tail.size());
    }
    const Bytes end = tail.slice(tail.size() - parquet_end_bytes, parquet_end_bytes);
    const std::string_view word = end.view().substr(4);
    if (word == magic_encrypted) {
        return unsupported("a Parquet file with an encrypted footer");
    }
    if (word != magic) {
        return corrupt("it does not end as a Parquet file does");
    }
    const std::uint64_t footer = load_le<std::uint32_t>(end.data());
    if (footer > file_bytes - parquet_end_bytes) {
        return corrupt("a Parquet footer of {} bytes in a file of {}", footer, file_bytes);
    }
    return footer + parquet_end_bytes;
}

}  // namespace lakestream::table
