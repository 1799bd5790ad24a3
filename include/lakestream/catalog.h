// SPDX-License-Identifier: Apache-2.0
// StreamCatalog: streams by name (Level 2 of the Lakestream specification).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lakestream/future.h"
#include "lakestream/log.h"
#include "lakestream/table.h"
#include "lakestream/types.h"

namespace lakestream {

namespace api {
class Core;
}

/// A namespace and a name: each 1 to 249 letters, digits, `.`, `-` and `_`. A Kafka topic is the
/// stream of its name in the namespace `default`.
struct StreamName {
    std::string name;
    std::string ns = "default";

    friend auto operator<=>(const StreamName&, const StreamName&) = default;
};

using Properties = std::map<std::string, std::string>;

struct StreamSpec {
    StreamName name;
    std::uint32_t logs = 1;  // 1 to 100,000
    /// Kafka's topic configurations and `lakestream.table` (`true`: the stream has a table).
    Properties properties;
};

/// A stream as it was when asked for.
struct StreamInfo {
    StreamName name;
    std::string id;           // UUID; a stream made again under the name has another
    std::vector<LogId> logs;  // by partition
    Properties properties;
};

/// Of one Engine. A value: copies mean the same catalog. Any thread may call. A namespace exists
/// once a stream was made in it. Tables are made of streams in the namespace `default`.
///
/// Errors of every call: `cancelled` (the engine is closed), `unavailable`. A change whose answer
/// was lost is looked up before it is answered.
class StreamCatalog {
  public:
    explicit StreamCatalog(std::shared_ptr<api::Core> core) : core_(std::move(core)) {}

    /// Errors: `already_exists`, `invalid_argument` (name, logs, a property and what it can be).
    /// Cost: a few metadata writes for each log.
    Future<StreamInfo> create(StreamSpec spec);
    /// Errors: `not_found`. Cost: none when cached.
    Future<StreamInfo> describe(StreamName name);
    /// The streams of a namespace, by name; none for a namespace that does not exist.
    Future<std::vector<StreamInfo>> list(std::string ns = "default");
    /// Refuse further appends, remove the stream's logs and free its name. Its table stays as it
    /// is. Errors: `not_found`.
    Future<void> drop(StreamName name);

    /// Log number `partition` of a stream. Errors: `not_found`, `invalid_argument` (no such
    /// partition). Cost: none when cached.
    Future<Log> open_log(StreamName name, std::uint32_t partition = 0);
    /// The stream's table, which need not exist yet, and may outlive the stream. Cost: none.
    Table table(const StreamName& name);

  private:
    std::shared_ptr<api::Core> core_;
};

}  // namespace lakestream
