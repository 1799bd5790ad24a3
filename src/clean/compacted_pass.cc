// SPDX-License-Identifier: Apache-2.0
// Which compacted pairs are free, and deleting them.
#include "clean/compacted_pass.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "catalog/json_records.h"
#include "catalog/keys.h"
#include "catalog/stored_stream.h"
#include "compact/replace.h"
#include "index/key.h"
#include "log/index_scan.h"

namespace lakestream::clean {

namespace {

constexpr std::string_view parquet_suffix = ".parquet";
constexpr std::string_view index_suffix = ".index";
constexpr std::string_view pair_prefix = "ursa-";
constexpr std::int32_t partitions_max = 100'000;

bool is_pair_file(std::string_view name) {
    return name.starts_with(pair_prefix) &&
           (name.ends_with(parquet_suffix) || name.ends_with(index_suffix));
}

/// The Parquet file that a file belongs to.
std::string parquet_of(const std::string& name) {
    return name.ends_with(parquet_suffix)
               ? name
               : fmt::format(
                     "{}{}",
                     std::string_view(name).substr(0, name.size() - index_suffix.size()),
                     parquet_suffix
                 );
}

}  // namespace

rt::Task<Status> CompactedCleaner::pass(References& references, PassTime time) {
    const auto folders = LKS_CO_TRY(co_await list_stretch());
    Status done;
    room_.begin_pass();
    for (const auto& [folder, files] : folders) {
        Status cleaned = co_await clean_folder(folder, files, references, time);
        if (!cleaned.ok()) {
            log::warn("clean", "folder_kept folder={} error={}", folder, cleaned.error());
            done = std::move(cleaned);
        }
    }
    if (at_begin()) {
        room_.end_round();
    }
    co_return done;
}

/// After an error the next pass lists the same again.
rt::Task<Result<std::map<std::string, CompactedCleaner::Files>>> CompactedCleaner::list_stretch() {
    std::map<std::string, Files> folders;
    std::size_t listed = 0;
    std::string after = after_;
    std::string last;  // the pair that the last file belongs to
    while (true) {
        const auto page =
            LKS_CO_TRY(co_await seams_.objects.list("", after, objstore::list_limit_max));
        for (const objstore::ObjectInfo& object : page.objects) {
            const std::size_t slash = object.name.rfind('/');
            const std::string file = object.name.substr(slash + 1);
            if (slash != std::string::npos && is_pair_file(file)) {
                std::string pair = parquet_of(object.name);
                if (listed >= settings_.objects_per_pass && pair != last) {
                    after_ = std::move(after);
                    co_return folders;
                }
                ++listed;
                last = std::move(pair);
                folders[object.name.substr(0, slash)][file] = object.size;
            }
            after = object.name;
        }
        if (!page.more || page.objects.empty()) {
            after_.clear();
            co_return folders;
        }
    }
}

rt::Task<Status> CompactedCleaner::clean_folder(
    const std::string& folder, const Files& files, References& references, PassTime time
) {
    const std::size_t slash = folder.rfind('/');  // a namespace may contain slashes
    if (slash == std::string::npos) {
        co_return Status();
    }
    const catalog::StreamName name{folder.substr(0, slash), folder.substr(slash + 1)};
    const auto logs = LKS_CO_TRY(co_await logs_of(name));
    const auto needed = LKS_CO_TRY(co_await needed_by(logs, files, references));
    std::vector<std::string> ripe;
    for (const auto& [file, size] : files) {
        const std::string full = fmt::format("{}/{}", folder, file);
        if (needed.contains(parquet_of(file))) {
            room_.forget(full);
        } else if (room_.found_free(full, time.now)) {
            ripe.push_back(file);
        }
    }
    if (ripe.empty()) {
        co_return Status();
    }
    for (const LogId log : logs) {
        LKS_CO_TRY(co_await pass_generation(log));
    }
    References fresh(seams_.metadata);
    const auto still = LKS_CO_TRY(co_await needed_by(logs, files, fresh));
    std::erase_if(ripe, [&](const std::string& file) { return still.contains(parquet_of(file)); });
    co_return co_await remove(folder, files, ripe);
}

rt::Task<Result<std::vector<LogId>>> CompactedCleaner::logs_of(catalog::StreamName name) {
    std::vector<LogId> logs;
    const auto config =
        LKS_CO_TRY(co_await catalog::read_config(seams_.metadata, catalog::keys::config(name)));
    if (!config.has_value()) {
        co_return logs;  // dropped; of one that is created now, the files were not listed yet
    }
    std::int32_t count = config->record.partitions;
    if (config->record.pending_expansion.has_value()) {
        count = std::max(count, config->record.pending_expansion->target);
    }
    if (count > partitions_max) {
        co_return corrupt("stream {}/{} has {} partitions", name.ns, name.name, count);
    }
    // One by one: a scan may end early, and what it does not show would lose its files.
    for (std::int32_t i = 0; i < count; ++i) {
        const auto key = catalog::keys::mapping_key(name, static_cast<std::size_t>(i));
        const auto found = LKS_CO_TRY(co_await log::find_record(
            seams_.metadata,
            catalog::keys::mapping(key),
            std::string(catalog::keys::log_id_generator)
        ));
        if (found.has_value()) {
            const auto mapping = LKS_CO_TRY(catalog::parse_log_mapping(found->value.view()));
            if (mapping.log_id >= 0) {
                logs.emplace_back(mapping.log_id);
            }
        }
    }
    co_return logs;
}

rt::Task<Result<std::set<std::string>>> CompactedCleaner::needed_by(
    const std::vector<LogId>& logs, const Files& files, References& references
) {
    std::set<std::string> asked;
    for (const auto& [file, size] : files) {
        asked.insert(parquet_of(file));
    }
    std::set<std::string> needed;
    for (const LogId log : logs) {
        // First the intent: once it is finished, the index says the same.
        const auto state = LKS_CO_TRY(co_await compact::load_state(seams_.metadata, log));
        if (state.state.intent.has_value()) {
            needed.insert(state.state.intent->location);
        }
        const auto known = co_await references.once(log);
        if (known == nullptr) {
            co_return unavailable("what log {} refers to is not known", log);
        }
        std::ranges::set_intersection(asked, known->compacted, std::inserter(needed, needed.end()));
    }
    co_return needed;
}

rt::Task<Status> CompactedCleaner::pass_generation(LogId log) {
    const auto state = LKS_CO_TRY(co_await compact::load_state(seams_.metadata, log));
    const auto put = co_await meta::put(
        seams_.metadata,
        {.key = compact::state_key(log),
         .value = compact::encode_state(state.state),
         .expect =
             state.version.has_value() ? meta::Expect::at(*state.version) : meta::Expect::absent(),
         .partition_key = index::partition_key(log)}
    );
    co_return put.ok() ? Status() : Status(put.error());
}

rt::Task<Status> CompactedCleaner::remove(
    const std::string& folder, const Files& files, const std::vector<std::string>& ripe
) {
    Status done;
    // The Parquet files first: an index alone is a leftover, a Parquet file alone would be damage.
    std::set<std::string> stuck;  // Parquet files that could not be deleted
    for (const std::string_view suffix : {parquet_suffix, index_suffix}) {
        std::vector<std::string> names;
        for (const std::string& file : ripe) {
            if (file.ends_with(suffix) && !stuck.contains(parquet_of(file))) {
                names.push_back(file);
            }
        }
        for (std::size_t at = 0; at < names.size(); at += objstore::remove_names_max) {
            const std::size_t end = std::min(names.size(), at + objstore::remove_names_max);
            std::vector<std::string> batch;
            for (std::size_t i = at; i < end; ++i) {
                batch.push_back(fmt::format("{}/{}", folder, names[i]));
            }
            const auto removed = co_await seams_.objects.remove(batch);
            for (std::size_t i = at; i < end; ++i) {
                if (!removed[i - at].ok()) {
                    done = removed[i - at];
                    stuck.insert(parquet_of(names[i]));
                    continue;
                }
                metrics_.compacted_objects.add();
                metrics_.compacted_bytes.add(files.at(names[i]));
                room_.forget(batch[i - at]);
            }
        }
    }
    co_return done;
}

}  // namespace lakestream::clean
