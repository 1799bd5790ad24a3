// SPDX-License-Identifier: Apache-2.0
// The commands of the binary, as functions over plain options; main.cc reads the options.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "codec/compress.h"
#include "lakestream/types.h"
#include "server/settings.h"

namespace lakestream::cli {

/// How a command ended, as the process says it.
enum class Exit : int {
    ok = 0,
    failed = 1,  // or problems found
    usage = 2,
    unchecked = 2,  // nothing is known of what was to be checked
    cut_off = 141,  // nobody reads stdout any more; as a shell says that SIGPIPE ended a command
};

enum class RecordFormat : std::uint8_t { text, json };

using NameValue = std::pair<std::string, std::string>;

/// NAME=VALUE. Errors: `invalid_argument`.
Result<NameValue> parse_config(std::string_view text);

struct TopicCreate {
    std::vector<std::string> names;
    std::int32_t partitions = -1;          // -1: as the broker likes
    std::int16_t replication_factor = -1;  // the same; means nothing to ours
    std::vector<std::string> configs;      // NAME=VALUE, of all
    RecordFormat format = RecordFormat::text;
};

struct Produce {
    std::string topic;
    bool keyed = false;  // lines are KEY<TAB>VALUE
    std::optional<std::int32_t> partition;
    std::optional<std::string> key;    // of all records
    std::vector<std::string> headers;  // NAME=VALUE, of all records
    codec::Compression compression = codec::Compression::none;
    RecordFormat format = RecordFormat::text;  // json: lines as `consume` prints them
};

/// Special timestamps of ListOffsets.
inline constexpr std::int64_t end_timestamp = -1;
inline constexpr std::int64_t begin_timestamp = -2;

/// An offset, or that of the first record with this timestamp (ms since the epoch) or a later one.
using ConsumeFrom = std::variant<Offset, std::int64_t>;

/// `beginning`, `end`, an offset, `@MILLISECONDS` or `@RFC3339`. Errors: `invalid_argument`.
Result<ConsumeFrom> parse_from(std::string_view text);

struct Consume {
    std::string topic;
    std::optional<std::string> group;  // then offsets are the group's, and are committed
    ConsumeFrom from = begin_timestamp;
    std::optional<std::uint64_t> count;
    std::optional<std::int32_t> partition;
    RecordFormat format = RecordFormat::text;
    bool keyed = false;   // text: KEY<TAB>VALUE
    bool follow = false;  // wait for further records at the end
};

/// Commands that talk to a broker at `bootstrap`. They print data to stdout; those that change
/// something say as JSON what they changed, and as text nothing.
Status topic_create(const std::string& bootstrap, const TopicCreate& options);
Status topic_list(const std::string& bootstrap, RecordFormat format);
Status topic_describe(const std::string& bootstrap, const std::string& name, RecordFormat format);
Status topic_delete(
    const std::string& bootstrap, const std::vector<std::string>& names, RecordFormat format
);
/// As many more as `more` says.
Status topic_add_partitions(
    const std::string& bootstrap, const std::string& name, std::int32_t more, RecordFormat format
);

struct Trim {
    std::string topic;
    std::optional<std::int32_t> partition;
    ConsumeFrom to = end_timestamp;  // the first offset that stays
    bool dry_run = false;
    RecordFormat format = RecordFormat::text;
};

Status topic_trim(const std::string& bootstrap, const Trim& options);
/// Lines of stdin, until it ends, by an idempotent producer.
Status topic_produce(const std::string& bootstrap, const Produce& options);
/// Until the end, `count`, or a signal.
Status topic_consume(const std::string& bootstrap, const Consume& options);

/// Whose configuration.
struct ConfigOwner {
    std::string topic;                   // or, when empty:
    std::optional<std::int32_t> broker;  // nothing: all brokers
};

struct ConfigChange {
    std::vector<std::string> set;    // NAME=VALUE
    std::vector<std::string> unset;  // NAME
    bool dry_run = false;            // the broker says whether it would
    RecordFormat format = RecordFormat::text;
};

/// `names` empty: all.
Status config_list(
    const std::string& bootstrap,
    const ConfigOwner& owner,
    const std::vector<std::string>& names,
    RecordFormat format
);
Status config_change(
    const std::string& bootstrap, const ConfigOwner& owner, const ConfigChange& change
);

struct GroupSeek {
    std::string group;
    std::optional<std::string> topic;  // nothing: all that the group has offsets of
    std::optional<std::int32_t> partition;
    ConsumeFrom to = begin_timestamp;
    bool dry_run = false;
    RecordFormat format = RecordFormat::text;
};

Status group_list(const std::string& bootstrap, RecordFormat format);
Status group_describe(const std::string& bootstrap, const std::string& group, RecordFormat format);
Status group_members(const std::string& bootstrap, const std::string& group, RecordFormat format);
Status group_delete(
    const std::string& bootstrap, const std::vector<std::string>& groups, RecordFormat format
);
/// Prints the offsets before and after. The group must be empty.
Status group_seek(const std::string& bootstrap, const GroupSeek& options);
Status group_delete_offsets(
    const std::string& bootstrap,
    const std::string& group,
    const std::string& topic,
    std::optional<std::int32_t> partition,
    RecordFormat format
);

Status cluster_info(const std::string& bootstrap, RecordFormat format);
Status cluster_metadata(const std::string& bootstrap, RecordFormat format);
Status cluster_apis(const std::string& bootstrap, RecordFormat format);
/// Commands that ask a node's HTTP port. `health` is `failed` when the node is not ready.
Result<Exit> cluster_health(const std::string& http, RecordFormat format);
Status cluster_status(const std::string& http, RecordFormat format);

struct Doctor {
    std::string bootstrap;
    std::string http;
    std::string data_dir;
    RecordFormat format = RecordFormat::text;
};

/// Findings about the machine and the node; `failed` when one of them will hurt.
Result<Exit> doctor(const Doctor& options);

enum class CostOf : std::uint8_t { node, workload };

struct Cost {
    CostOf of = CostOf::node;
    std::string http;                  // of node
    std::chrono::seconds window{10};   // of node: 0: since it started
    double megabytes_in = 0;           // of workload, per second
    double megabytes_out = 0;          // of workload, per second
    double flushes = 0;                // of workload, WAL objects per second
    double retention_days = 7;         // what is stored
    double compression = 1;            // raw bytes of one stored byte
    std::optional<std::string> store;  // one price list; nothing: all
    RecordFormat format = RecordFormat::text;
};

Status cost(const Cost& options);

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

/// Commands over the Iceberg tables of a data folder; a node may run over it.
/// A damaged table is listed as such, and the others are listed all the same.
Result<Exit> table_list(const std::string& data_dir, RecordFormat format);
Status table_describe(const std::string& data_dir, const std::string& topic, RecordFormat format);
Status table_scan(const std::string& data_dir, const Scan& options);
/// Feeds the table from the beginning of the topic that has its name now, without the rows of the
/// one before; a node may run, and goes on with it by itself. Asks the broker which topic it is.
Status table_take_over(
    const std::string& data_dir, const std::string& bootstrap, const std::string& topic
);
/// Compares a table with its topic: one line for each difference. Errors: it could not be done.
Result<Exit> table_verify(
    const server::Settings& settings, const std::string& topic, RecordFormat format
);

/// JSON lines about stored things.
Status inspect_wal(const std::string& file);
/// `file` is one of the pair; the other lies beside it.
Status inspect_compacted(const std::string& file);
Status inspect_index(const server::Settings& settings, const std::string& log);
Status inspect_meta(const server::Settings& settings, const std::string& key);

/// Prints one line for each problem, and notes. Errors: it could not be checked.
Result<Exit> check(const server::Settings& settings, RecordFormat format);

}  // namespace lakestream::cli
