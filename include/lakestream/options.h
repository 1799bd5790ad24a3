// SPDX-License-Identifier: Apache-2.0
// EngineOptions: where an engine's data is, what it does, and its settings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lakestream {

/// What an engine does beside serving its program's calls.
enum class Role : std::uint8_t {
    broker,     // serve Kafka clients on `kafka.listen`
    compactor,  // compact logs and commit tables; without it tables do not grow
};

/// Either `data_dir`, or both `storage` and `metadata`.
struct EngineOptions {
    /// A folder for everything, made if it is missing: the same as `storage = "file://DIR"` and
    /// `metadata = "embedded://DIR/metadata"`, and what `lakestream dev --data-dir` uses.
    std::string data_dir;
    /// Where objects are: `file:///DIR`.
    std::string storage;
    /// Where metadata is: `embedded:///DIR`, for one engine at a time, of whatever process.
    std::string metadata;
    std::vector<Role> roles = {Role::compactor};
    /// Settings by name, as in docs/config.md and with the same values:
    /// `{"table.commit_interval", "1s"}`. Those above are not repeated here. `http.listen` is empty
    /// unless set: no HTTP.
    std::map<std::string, std::string> settings;
};

}  // namespace lakestream
