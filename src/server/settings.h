// SPDX-License-Identifier: Apache-2.0
// Settings of a process: one table per module, from which the file parser, the environment, the
// flags, the checks, `--help` and docs/config.md are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "clean/settings.h"
#include "compact/compactor.h"
#include "kafka/broker_configs.h"
#include "kafka/options.h"
#include "log/settings.h"

namespace lakestream::server {

/// What a node is and does, whatever its leaves are.
struct NodeSettings {
    std::vector<std::string> roles = {"broker", "compactor", "catalog"};
    std::string zone;
    std::string compat = "none";
    std::string kafka_listen = "127.0.0.1:9092";
    std::string kafka_advertise;
    std::int32_t broker_id = 0;
    std::string http_listen = "127.0.0.1:9644";
    log::EngineSettings log;
    std::uint64_t compacted_cache_bytes_max = 128 << 20;  // for reading compacted objects
    kafka::ServerOptions kafka;
    compact::CompactorSettings compact;
    clean::CleanSettings clean;

    bool has_role(std::string_view role) const;
};

/// The same and what the production leaves need.
struct Settings {
    std::string storage;
    std::string metadata;
    std::uint64_t shards = 0;
    std::uint64_t io_threads = 4;
    std::uint64_t read_threads = 4;
    Duration drain_max = 30s;
    std::string log_level = "info";
    NodeSettings node;
};

/// Storage and metadata below one folder, as `lakestream dev` has them. Errors: `invalid_argument`
/// (empty), `not_found` (relative to a current folder that is gone).
Status use_data_dir(Settings& settings, const std::string& folder);

/// Where a setting's value lives; its type follows from it.
using Place = std::variant<
    std::string*,
    bool*,
    std::uint64_t*,
    std::uint32_t*,
    std::int32_t*,
    std::int64_t*,
    Duration*,
    std::vector<std::string>*>;

/// What a text or a number means.
enum class Unit : std::uint8_t {
    none,
    address,  // HOST:PORT
    url,      // SCHEME://...
    bytes,    // 1048576 or 1MiB
    time,     // 20ms
};

/// What Kafka calls a setting of ours that means the same.
struct KafkaName {
    std::string_view name;  // empty: nothing. Times are in minutes if its end says so, else in ms
    kafka::ConfigType type = kafka::ConfigType::text;
};

/// One row of a module's table. The default is what a default-made Settings holds.
struct Setting {
    std::string_view name;  // `kafka.listen`: module and key, as in the file
    Place (*place)(Settings&);
    Unit unit = Unit::none;
    std::int64_t min = 0;  // of numbers, bytes and times (ns), both included
    std::int64_t max = std::numeric_limits<std::int64_t>::max();
    std::string_view choices = {};  // of texts and lists, separated by spaces; empty: any
    KafkaName kafka = {};
    std::string_view doc;  // one sentence
};

/// The settings of one module.
struct SettingTable {
    std::string_view module;  // empty: the node itself
    std::string_view doc;
    std::span<const Setting> settings;
};

std::span<const SettingTable> setting_tables();
/// Null when there is none of this name.
const Setting* find_setting(std::string_view name);

/// `LAKESTREAM_KAFKA_LISTEN` of `kafka.listen`.
std::string environment_name(const Setting& setting);
/// `--kafka-listen` of `kafka.listen`.
std::string flag_name(const Setting& setting);
/// "bytes, 1KiB to 1GiB": the type, unit and range, for people.
std::string describe_type(const Setting& setting);
/// The value as a file or flag would give it.
std::string show_value(const Setting& setting, const Settings& settings);
/// Set from text. Errors: `invalid_argument`, naming what is allowed.
Status assign(const Setting& setting, Settings& settings, std::string_view text);

/// One value from somewhere.
struct Assignment {
    const Setting* setting;
    std::string text;
    std::string origin;  // for errors: "lakestream.toml", "--kafka-listen"
};

/// All settings with a page of comment for each are less.
inline constexpr std::size_t toml_bytes_max = 64 << 10;

/// The values in a TOML text. Errors: `invalid_argument`: the line that cannot be parsed or nests
/// too deep, the unknown key and a known one near to it, or more than `toml_bytes_max`.
Result<std::vector<Assignment>> read_toml(const std::string& text, const std::string& origin);
/// The values among `NAME=VALUE` that start with LAKESTREAM_. Errors: `invalid_argument` (unknown).
Result<std::vector<Assignment>> read_environment(std::span<const std::string> environment);
/// A value by its setting's name. Errors: `invalid_argument` (unknown; names one that is near).
Result<Assignment> read_value(std::string_view name, std::string text, std::string origin);
/// The folder of `file:///DIR` or `embedded:///DIR`. Errors: `invalid_argument`, naming the setting
/// and what it can be.
Result<std::string> folder_of(
    std::string_view setting, std::string_view url, std::string_view scheme
);
/// Whether settings fit each other and this version serves them. Errors: `invalid_argument`: what
/// to set instead.
Status check_settings(const Settings& settings);
/// Whether a process of these roles serves anybody; an engine inside a program need not.
Status check_process_roles(const NodeSettings& node);
/// Assign in order, later ones win; then `check_settings`.
Status apply_settings(std::span<const Assignment> assignments, Settings& settings);

/// `name=value` of every setting that differs from its default.
std::vector<std::string> changed_settings(const Settings& settings);
/// Every setting, by name, with the value that it has; under Kafka's name too if it has one.
std::vector<kafka::BrokerConfig> describe_settings(const Settings& settings);
/// docs/config.md.
std::string settings_markdown();

/// The candidate that `word` may have meant: the one with the smallest edit distance, if that is at
/// most a third of the word.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace lakestream::server
