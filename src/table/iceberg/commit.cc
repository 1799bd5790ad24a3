// SPDX-License-Identifier: Apache-2.0
// The files of a commit.
#include "table/iceberg/commit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/assert.h"
#include "base/result.h"

namespace lakestream::table::iceberg {

namespace {

constexpr std::int64_t manifest_bytes_target = 8L << 20;
constexpr std::size_t small_manifests_max = 100;
constexpr std::int32_t data_manifests = 0;

/// What every file of the commit is named and numbered by.
struct Making {
    const TableMetadata& base;
    const CommitIds& ids;
    std::int64_t sequence_number;
    std::string location(const std::string& name) const { return base.location + "/" + name; }
};

ManifestHeader manifest_header(const Making& making) {
    const Numbered* const schema = making.base.find_schema(making.base.current_schema);
    LKS_ASSERT(schema != nullptr);
    return {
        .schema_json = schema->json,
        .schema = schema->id,
        .spec = making.base.default_spec,
        .sync = making.ids.sync
    };
}

/// One manifest with the live entries of several.
Result<ManifestWriter::Finished> merge_manifests(
    const Making& making,
    const std::vector<ManifestInfo>& infos,
    const std::vector<std::size_t>& places,
    std::vector<Bytes> files
) {
    ManifestWriter writer(manifest_header(making), making.ids.snapshot, making.sequence_number);
    for (std::size_t i = 0; i < places.size(); ++i) {
        const ManifestInfo& info = infos[places[i]];
        ManifestReader reader = LKS_TRY(ManifestReader::open(std::move(files[i]), info));
        while (auto entry = LKS_TRY(reader.next())) {
            if (entry->status == EntryStatus::deleted) {
                continue;
            }
            if (!entry->sequence_number || !entry->file_sequence_number) {
                return corrupt("'{}' has an entry without sequence number", info.path);
            }
            entry->status = EntryStatus::existing;
            writer.add(*entry);
        }
    }
    return writer.finish(making.location(fmt::format("metadata/{}-m1.avro", making.ids.commit)));
}

/// Replace many small manifests by one, if it is time.
Status merge_small(const Making& making, CommitBase& base, Commit& commit) {
    const auto places = manifests_to_merge(base.manifests, making.base.default_spec);
    LKS_ASSERT(places.size() == base.to_merge.size());
    if (places.empty()) {
        return {};
    }
    auto merged =
        LKS_TRY(merge_manifests(making, base.manifests, places, std::move(base.to_merge)));
    for (const std::size_t place : places) {
        base.manifests[place].path.clear();
    }
    std::erase_if(base.manifests, [](const ManifestInfo& info) { return info.path.empty(); });
    base.manifests.insert(base.manifests.begin(), merged.info);
    commit.files.push_back(
        {fmt::format("metadata/{}-m1.avro", making.ids.commit), std::move(merged.file)}
    );
    return {};
}

void add_manifest(
    const Making& making, std::span<const TableFile> added, CommitBase& base, Commit& commit
) {
    if (added.empty()) {
        return;
    }
    ManifestWriter writer(manifest_header(making), making.ids.snapshot, making.sequence_number);
    for (const TableFile& file : added) {
        ManifestEntry entry{.snapshot = making.ids.snapshot, .file = file};
        entry.file.path = making.location(file.path);
        writer.add(entry);
    }
    const std::string name = fmt::format("metadata/{}-m0.avro", making.ids.commit);
    auto manifest = writer.finish(making.location(name));
    base.manifests.push_back(std::move(manifest.info));
    commit.files.push_back({name, std::move(manifest.file)});
}

/// A running total of the summary: the parent's value plus `more`. One that the parent lacks stays
/// unknown.
void add_total(
    const Snapshot* parent, Properties& summary, const std::string& name, std::int64_t more
) {
    std::int64_t total = 0;
    if (parent != nullptr) {
        const auto before = parent->summary.find(name);
        if (before == parent->summary.end()) {
            return;
        }
        const std::string& text = before->second;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), total);
        constexpr std::int64_t plausible_max = std::int64_t{1} << 60;
        const bool number = error == std::errc() && end == text.data() + text.size();
        if (!number || total < 0 || total > plausible_max) {
            return;
        }
    }
    summary[name] = std::to_string(total + more);
}

Properties summarise(const Snapshot* parent, RowsBefore rows, std::span<const TableFile> added) {
    std::int64_t records = 0;
    std::int64_t bytes = 0;
    for (const TableFile& file : added) {
        records += file.records;
        bytes += file.bytes;
    }
    const auto files = static_cast<std::int64_t>(added.size());
    const bool dropped = rows == RowsBefore::dropped;
    parent = dropped ? nullptr : parent;  // totals begin again
    Properties summary{{"operation", dropped ? "delete" : "append"}};
    if (files > 0) {
        summary["added-data-files"] = std::to_string(files);
        summary["added-records"] = std::to_string(records);
        summary["added-files-size"] = std::to_string(bytes);
    }
    summary["changed-partition-count"] = files > 0 ? "1" : "0";
    add_total(parent, summary, "total-data-files", files);
    add_total(parent, summary, "total-records", records);
    add_total(parent, summary, "total-files-size", bytes);
    add_total(parent, summary, "total-delete-files", 0);
    add_total(parent, summary, "total-position-deletes", 0);
    add_total(parent, summary, "total-equality-deletes", 0);
    return summary;
}

}  // namespace

std::vector<std::size_t> manifests_to_merge(
    std::span<const ManifestInfo> manifests, std::int32_t spec
) {
    std::vector<std::size_t> small;
    for (std::size_t i = 0; i < manifests.size(); ++i) {
        const ManifestInfo& info = manifests[i];
        if (info.content == data_manifests && info.spec == spec && !info.key_metadata &&
            info.bytes < manifest_bytes_target) {
            small.push_back(i);
        }
    }
    if (small.size() < small_manifests_max) {
        return {};
    }
    std::ranges::sort(small, {}, [&](std::size_t i) {
        return std::pair(manifests[i].sequence_number, i);
    });
    std::int64_t bytes = 0;
    std::size_t taken = 0;
    while (taken < small.size() && bytes < manifest_bytes_target) {
        bytes += manifests[small[taken++]].bytes;
    }
    small.resize(taken);
    return small;
}

Result<Commit> build_commit(
    CommitBase base,
    const Position& position,
    std::span<const TableFile> added,
    const CommitIds& ids,
    std::int64_t now_ms
) {
    Commit commit{.metadata = base.metadata};
    const Making making{
        .base = base.metadata,
        .ids = ids,
        .sequence_number = base.metadata.last_sequence_number + 1,
    };
    LKS_TRY(merge_small(making, base, commit));
    add_manifest(making, added, base, commit);

    const std::optional<std::int64_t> parent = base.metadata.current_snapshot;
    const std::string list = fmt::format("metadata/snap-{}-1-{}.avro", ids.snapshot, ids.commit);
    const ManifestListHeader header{
        .snapshot = ids.snapshot,
        .parent = parent,
        .sequence_number = making.sequence_number,
        .sync = ids.sync,
    };
    commit.files.push_back({list, write_manifest_list(header, base.manifests)});

    Snapshot snapshot{
        .id = ids.snapshot,
        .parent = parent,
        .sequence_number = making.sequence_number,
        .timestamp_ms = std::max(now_ms, base.metadata.last_updated_ms),
        .manifest_list = making.location(list),
        .summary =
            summarise(parent ? base.metadata.find_snapshot(*parent) : nullptr, base.rows, added),
        .schema_id = base.metadata.current_schema,
    };
    snapshot.summary[std::string(position_key)] = to_json(position);
    snapshot.summary[std::string(commit_key)] = ids.commit;
    TableMetadata& next = commit.metadata;
    next.properties[std::string(position_key)] = to_json(position);
    next.properties[std::string(commit_key)] = ids.commit;
    SnapshotRef& tag = next.refs[std::string(position_tag)];
    tag.snapshot = ids.snapshot;
    tag.type = "tag";
    if (!base.metadata_file.empty()) {
        log_previous_version(next, std::move(base.metadata_file));
    }
    add_snapshot(next, std::move(snapshot));
    return commit;
}

}  // namespace lakestream::table::iceberg
