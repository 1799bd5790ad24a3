// SPDX-License-Identifier: Apache-2.0
// BatchBuilder: Kafka record batches of format 2, as a producer makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codec/record_batch.h"
#include "codec/record_reader.h"
#include "codec/writer.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"

namespace lakestream::codec {

/// What a batch says about itself beside its records.
struct BatchOptions {
    Compression codec = Compression::none;
    Offset base_offset;
    std::int32_t leader_epoch = -1;
    std::int64_t producer_id = -1;
    std::int16_t producer_epoch = -1;
    std::int32_t base_sequence = -1;
    std::uint16_t flags = 0;  // attribute bits 4 to 6: transactional, control, delete horizon
    std::optional<std::int64_t> append_time;  // ms; if given, the records' timestamp type and time
};

/// Collects records and makes one batch of them. The first record's timestamp is the base.
class BatchBuilder {
  public:
    explicit BatchBuilder(const BatchOptions& options = {}) : options_(options) {}

    /// Add a record; its offset follows the one before. `timestamp` is in ms since 1970, -1 = none.
    void add(
        std::int64_t timestamp,
        NullableBytes key,
        NullableBytes value,
        std::span<const RecordHeader> headers = {}
    );

    std::int32_t record_count() const noexcept { return count_; }
    /// Bytes the batch would have now, were it not compressed.
    std::size_t size() const noexcept { return batch_header_bytes + records_.size(); }

    /// The batch. The builder may not be used afterwards. Precondition: at least one record.
    Bytes finish();

  private:
    BatchOptions options_;
    Writer records_;
    std::int32_t count_ = 0;
    std::int64_t base_timestamp_ = -1;
    std::int64_t max_timestamp_ = -1;
};

/// A batch without records that holds the offsets [base_offset, last_offset], both inclusive, as
/// Kafka's log cleaner leaves it: consumers step over it. Range: fewer than 2^31 offsets.
Bytes empty_batch(Offset base_offset, Offset last_offset, std::int64_t timestamp = -1);

}  // namespace lakestream::codec
