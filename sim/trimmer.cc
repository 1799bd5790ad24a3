// SPDX-License-Identifier: Apache-2.0
// DeleteRecords, and what its answers promise.
#include "sim/trimmer.h"

#include <limits>

#include "base/format.h"
#include "codec/kafka/gen/delete_records.h"
#include "codec/kafka/gen/list_offsets.h"

namespace lakestream::sim {

using kafka_api::ErrorCode;

rt::Task<Result<Offset>> load_start(
    Connection& connection, rt::SimExecutor& executor, Ledger& ledger, Partition partition
) {
    constexpr std::int64_t earliest = -2;
    kafka_api::ListOffsetsRequest request;
    request.topics.push_back(
        {.name = partition.topic,
         .partitions = {{.partition_index = partition.number, .timestamp = earliest}}}
    );
    const Offset floor = ledger.start_floor(connection.life(), partition);
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::ListOffsetsResponse>(
        request, draw_version<kafka_api::ListOffsetsRequest>(executor.rng()), executor.now() + 30s
    ));
    const auto& answer = response.topics.at(0).partitions.at(0);
    if (answer.error_code != ErrorCode::none) {
        co_return unavailable("{}", to_string(answer.error_code));
    }
    ledger.check_start(connection.life(), partition, floor, Offset(answer.offset));
    co_return Offset(answer.offset);
}

rt::Task<void> Trimmer::run() {
    while (chaos()) {
        const Partition partition = ledger_.partitions[rng().below(ledger_.partitions.size())];
        static_cast<void>((co_await trim(partition)).ok());
        co_await nap(4 * world_.knobs.workload.think_max + 500ms);
    }
}

rt::Task<Status> Trimmer::trim(Partition partition) {
    Connection& connection = *LKS_CO_TRY(co_await connections_.any());
    const Offset end = ledger_.acknowledged_end(partition);
    std::int64_t to = -1;
    if (rng().chance(9, 10)) {
        to = static_cast<std::int64_t>(rng().below(static_cast<std::uint64_t>(end.v) + 1));
        ledger_.ask_trim(partition, Offset(to));
    } else {
        ledger_.ask_trim(partition, Offset(std::numeric_limits<std::int64_t>::max()));
    }
    kafka_api::DeleteRecordsRequest request{.topics = {}, .timeout_ms = 10'000};
    request.topics.push_back({.name = partition.topic, .partitions = {{partition.number, to}}});
    const Offset floor = ledger_.start_floor(connection.life(), partition);
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::DeleteRecordsResponse>(
        request, draw_version<kafka_api::DeleteRecordsRequest>(rng()), executor_.now() + 20s
    ));
    const auto& answer = response.topics.at(0).partitions.at(0);
    if (answer.error_code != ErrorCode::none) {
        // Up to what was acknowledged anywhere is never too far.
        if (!is_transient(answer.error_code) && answer.error_code != ErrorCode::corrupt_message) {
            world_.violated(
                "INV-NO-LOSS",
                fmt::format(
                    "{}: DeleteRecords to {}: {}",
                    partition.to_string(),
                    to,
                    to_string(answer.error_code)
                )
            );
        }
        co_return unavailable("{}", to_string(answer.error_code));
    }
    if (answer.low_watermark < to) {
        world_.violated(
            "INV-START",
            fmt::format(
                "{}: deleted to {}, and starts at {}",
                partition.to_string(),
                to,
                answer.low_watermark
            )
        );
    }
    ledger_.check_start(connection.life(), partition, floor, Offset(answer.low_watermark));
    co_return Status();
}

}  // namespace lakestream::sim
