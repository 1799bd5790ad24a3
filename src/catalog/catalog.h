// SPDX-License-Identifier: Apache-2.0
// Catalog: streams by name: their logs, properties and life cycle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lakestream/types.h"
#include "rt/task.h"

namespace lakestream::catalog {

/// `namespace/name`. A Kafka topic is the stream of that name in the namespace `default`.
struct StreamName {
    std::string ns;
    std::string name;

    friend auto operator<=>(const StreamName&, const StreamName&) = default;
};

using Properties = std::map<std::string, std::string>;

/// An active stream. Immutable; holders of an older one see an older truth.
struct StreamInfo {
    StreamName name;
    std::array<std::byte, 16> incarnation{};  // UUID of this stream; a re-created one has another
    std::vector<LogId> logs;                  // by partition
    Properties properties;                    // Kafka configurations and `lakestream.*`
};

using StreamPtr = std::shared_ptr<const StreamInfo>;  // shared by the cache and all requests

struct StreamSpec {
    StreamName name;
    std::uint32_t partitions = 1;  // 1 to 100,000
    Properties properties;
};

/// What a stream's properties become. Pure: it may be called again with others. Its error is the
/// caller's.
using PropertiesChange = std::function<Result<Properties>(const Properties&)>;

/// Distinctions below the error code (Error::reason).
enum class CatalogReason : std::uint16_t {
    none = 0,
    writers_remain,  // unavailable: writers of another engine hold logs of a stream to be dropped
};

/// Safe to call from any executor; a task ends on the caller's. Reads come from a cache that
/// follows the metadata store's notifications. Errors of every call: `unavailable`,
/// `deadline_exceeded`; of mutations also `outcome_unknown` resolved by reading back before it is
/// returned.
class Catalog {
  public:
    virtual ~Catalog() = default;

    /// Errors: `already_exists`, `invalid_argument` (name, partitions). Cost: a few writes per log.
    virtual rt::Task<Result<StreamPtr>> create(StreamSpec spec) = 0;
    /// Errors: `not_found`. Cost: none when cached.
    virtual rt::Task<Result<StreamPtr>> load(StreamName name) = 0;
    /// By incarnation (Kafka's topic id). Errors: `not_found`, after a look at the store that is at
    /// most 1 s old. Cost: none when cached.
    virtual rt::Task<Result<StreamPtr>> load_by_id(std::array<std::byte, 16> incarnation) = 0;
    /// All active streams of a namespace, by name. Cost: none when cached; a listing is read again
    /// when it is 30 s old, for it may have come from a store that lagged behind.
    virtual rt::Task<Result<std::vector<StreamPtr>>> list(std::string ns) = 0;
    /// Replace the properties of this stream by what `change` makes of them; of several changes at
    /// once none is lost. Errors: `not_found`, of `change`. Cost: one read, one write, one load.
    virtual rt::Task<Result<StreamPtr>> change_properties(
        StreamName name, std::array<std::byte, 16> incarnation, PropertiesChange change
    ) = 0;
    /// Give this stream at least so many partitions: new logs behind those it has, which stay as
    /// they are. Others may have asked for more. Errors: `not_found`, `invalid_argument` (more than
    /// 100,000), `unsupported` (a stream of the oldest form). Cost: a few writes per new log.
    virtual rt::Task<Result<StreamPtr>> grow(
        StreamName name, std::array<std::byte, 16> incarnation, std::uint32_t partitions
    ) = 0;
    /// Fence its logs, purge their index records, drop the name. A stream created again under the
    /// name has new logs. What a crash leaves half done is finished by the next create, drop or
    /// start. With an incarnation only that stream is meant, and another one of the name stays.
    /// Errors: `not_found`, CatalogReason.
    virtual rt::Task<Status> drop(
        StreamName name, std::optional<std::array<std::byte, 16>> incarnation
    ) = 0;
    /// A block of producer ids never given before: [first, first + count).
    virtual rt::Task<Result<std::int64_t>> allocate_producer_ids(std::int64_t count) = 0;
};

}  // namespace lakestream::catalog
