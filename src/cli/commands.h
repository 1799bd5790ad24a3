// SPDX-License-Identifier: Apache-2.0
// The commands of the binary, as functions over plain options; main.cc reads the options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "server/settings.h"

namespace lakestream::cli {

/// How a command ended, as the process says it.
enum class Exit : int { ok = 0, failed = 1, usage = 2 };

struct TopicCreate {
    std::string name;
    std::int32_t partitions = -1;      // -1: as the broker likes
    std::vector<std::string> configs;  // NAME=VALUE
};

enum class RecordFormat : std::uint8_t { text, json };

struct Produce {
    std::string topic;
    bool keyed = false;  // lines are KEY<TAB>VALUE
    std::optional<std::int32_t> partition;
};

struct Consume {
    std::string topic;
    std::string from = "beginning";  // beginning, end, an offset, @MILLISECONDS or @RFC3339
    std::optional<std::uint64_t> count;
    std::optional<std::int32_t> partition;
    RecordFormat format = RecordFormat::text;
    bool keyed = false;   // text: KEY<TAB>VALUE
    bool follow = false;  // wait for further records at the end
};

/// Commands that talk to a broker at `bootstrap`. They print data to stdout.
Status topic_create(const std::string& bootstrap, const TopicCreate& options);
Status topic_list(const std::string& bootstrap, RecordFormat format);
Status topic_describe(const std::string& bootstrap, const std::string& name, RecordFormat format);
Status topic_delete(const std::string& bootstrap, const std::string& name);
/// Lines of stdin, until it ends. Each is acknowledged before the next chunk is read.
Status topic_produce(const std::string& bootstrap, const Produce& options);
Status topic_consume(const std::string& bootstrap, const Consume& options);

enum class BenchOperation : std::uint8_t { produce, fetch };

struct Bench {
    BenchOperation operation = BenchOperation::produce;
    std::string topic = "bench";
    std::int32_t partitions = 12;  // when it makes the topic
    std::uint32_t connections = 4;
    std::uint32_t in_flight = 5;  // requests of each connection
    std::uint32_t record_bytes = 1024;
    std::uint32_t batch_bytes = 1'000'000;
    std::uint32_t fetch_bytes = 1 << 20;  // of each partition and answer
    Duration duration = 10s;              // at most
    std::uint64_t bytes = 0;              // at most, when not 0
    double rate = 0;                      // MB/s, 0: as fast as it goes
    std::optional<int> server_pid;        // whose CPU time and memory to report
    bool json = false;
};

Status bench(const std::string& bootstrap, const Bench& options);

struct Scan {
    std::string topic;  // TOPIC or NAMESPACE/TOPIC
    std::optional<std::uint64_t> limit;
    std::optional<std::int32_t> partition;
    std::optional<std::int64_t> offset;  // the first
    RecordFormat format = RecordFormat::text;
};

/// Commands that read the Iceberg tables of a data folder; a node may run over it.
/// A damaged table is listed as such, and the others are listed all the same.
Result<Exit> table_list(const std::string& data_dir, RecordFormat format);
Status table_describe(const std::string& data_dir, const std::string& topic, RecordFormat format);
Status table_scan(const std::string& data_dir, const Scan& options);
/// Compares a table with its topic: one line for each difference. Errors: it could not be done.
Result<Exit> table_verify(const server::Settings& settings, const std::string& topic);

/// JSON lines about stored things.
Status inspect_wal(const std::string& file);
/// `file` is one of the pair; the other lies beside it.
Status inspect_compacted(const std::string& file);
Status inspect_index(const server::Settings& settings, const std::string& log);
Status inspect_meta(const server::Settings& settings, const std::string& key);

/// Prints one line for each problem, and notes. Errors: it could not be checked.
Result<Exit> check(const server::Settings& settings);

}  // namespace lakestream::cli
