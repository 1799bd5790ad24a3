// SPDX-License-Identifier: Apache-2.0
// Finding the newest version, and making the next one.
#include "table/iceberg/file_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/result.h"
#include "base/uuid.h"

namespace lakestream::table::iceberg {

namespace {

using objstore::IfExists;

constexpr std::string_view hint_name = "metadata/version-hint.text";
constexpr std::int64_t version_max = 1'000'000'000'000;
constexpr int attempts_max = 10;
constexpr int puts_max = 5;
constexpr Duration backoff_min = 10ms;
constexpr Duration backoff_max = 1s;

std::string metadata_name(std::int64_t version) {
    return fmt::format("metadata/v{}.metadata.json", version);
}

/// A version number, or 0.
std::int64_t parse_version(std::string_view text) {
    std::int64_t version = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    const bool good = error == std::errc() && end == text.data() + text.size();
    return good && version > 0 && version <= version_max ? version : 0;
}

/// N of a path that ends in vN.metadata.json; else 0.
std::int64_t version_of(std::string_view name) {
    constexpr std::string_view ending = ".metadata.json";
    if (!name.ends_with(ending)) {
        return 0;
    }
    name.remove_suffix(ending.size());
    return parse_version(name.substr(name.rfind('v') + 1));
}

/// Local paths are written in three ways.
std::string_view without_file_scheme(std::string_view location) {
    for (const std::string_view scheme : {"file://", "file:"}) {
        if (location.starts_with(scheme)) {
            return location.substr(scheme.size());
        }
    }
    return location;
}

CommitIds make_ids(rt::Rng& rng, const TableMetadata& metadata) {
    CommitIds ids{.commit = uuid_text(make_uuid(rng.bytes16())), .sync = rng.bytes16()};
    while (ids.snapshot == 0 || metadata.find_snapshot(ids.snapshot) != nullptr) {
        constexpr auto largest = std::numeric_limits<std::int64_t>::max();
        ids.snapshot = static_cast<std::int64_t>(rng.next() & largest);
    }
    return ids;
}

rt::Task<void> back_off(int attempt) {
    rt::Executor& executor = co_await rt::this_executor();
    const Duration whole = std::min<Duration>(backoff_max, backoff_min * (1 << attempt));
    const auto half = static_cast<std::uint64_t>(whole.count()) / 2;
    const auto wait = half + executor.rng().below(half + 1);
    co_await rt::sleep_until(executor.now() + Duration(static_cast<std::int64_t>(wait)));
}

std::vector<TableFile> added_by(const AppendPlan& plan, std::span<const PreparedFile> files) {
    std::vector<TableFile> added;
    for (const std::size_t i : plan.files) {
        if (files[i].file) {
            added.push_back(*files[i].file);
        }
    }
    return added;
}

/// What to say when the last word on version `in_doubt` has not been heard; else the error.
Error honest(Error error, std::int64_t in_doubt) {
    if (in_doubt == 0) {
        return error;
    }
    return outcome_unknown(
        "version {} of the table may have been made; then: {}", in_doubt, error.message
    );
}

}  // namespace

std::string FileTable::object_name(std::string_view relative) const {
    return fmt::format("{}/{}", options_.folder, relative);
}

Result<std::string> FileTable::object_name(const TableMetadata& metadata, std::string_view location)
    const {
    const std::string_view root = without_file_scheme(metadata.location);
    const std::string_view path = without_file_scheme(location);
    if (!path.starts_with(root) || !path.substr(root.size()).starts_with('/')) {
        return unsupported("'{}' lies outside of the table's folder {}", location, root);
    }
    return object_name(path.substr(root.size() + 1));
}

rt::Task<std::int64_t> FileTable::read_hint() {
    const Result<Bytes> text = co_await store_.get(object_name(hint_name), std::nullopt);
    if (!text.ok()) {
        co_return 0;
    }
    std::string_view digits = text->view();
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    co_return parse_version(digits);
}

rt::Task<Result<bool>> FileTable::exists(std::int64_t version) {
    const auto head = co_await store_.head(object_name(metadata_name(version)));
    if (!head.ok() && !head.is(ErrorCode::not_found)) {
        co_return head.error();
    }
    co_return head.ok();
}

/// Versions have no gaps: doubling steps, then halving ones.
rt::Task<Result<std::int64_t>> FileTable::newest_from(std::int64_t known) {
    std::int64_t step = 1;
    while (LKS_CO_TRY(co_await exists(known + step))) {
        known += step;
        step *= 2;
    }
    std::int64_t missing = known + step;
    while (missing - known > 1) {
        const std::int64_t middle = known + (missing - known) / 2;
        if (LKS_CO_TRY(co_await exists(middle))) {
            known = middle;
        } else {
            missing = middle;
        }
    }
    co_return known;
}

rt::Task<Result<std::int64_t>> FileTable::newest_listed() {
    const std::string prefix = object_name("metadata/v");
    std::int64_t newest = 0;
    std::string after;
    bool more = true;
    while (more) {
        const objstore::ListPage page =
            LKS_CO_TRY(co_await store_.list(prefix, after, objstore::list_limit_max));
        for (const objstore::ObjectInfo& object : page.objects) {
            newest = std::max(newest, version_of(object.name));
            after = object.name;
        }
        more = page.more && !page.objects.empty();
    }
    co_return newest;
}

rt::Task<Result<TableVersion>> FileTable::read_version(std::int64_t version, std::int64_t hint) {
    const std::string name = object_name(metadata_name(version));
    const Bytes text = LKS_CO_TRY(co_await store_.get(name, std::nullopt));
    auto metadata =
        co_await rt::offload(offloader_, [text] { return parse_metadata(text.view()); });
    if (!metadata.ok()) {
        co_return std::move(metadata.error()).with_context(name);
    }
    co_return TableVersion{version, hint, *std::move(metadata)};
}

rt::Task<Result<TableVersion>> FileTable::load() {
    const std::int64_t hint = co_await read_hint();
    if (hint > 0) {
        const std::int64_t newest = LKS_CO_TRY(co_await newest_from(hint));
        auto found = co_await read_version(newest, hint);
        if (!found.is(ErrorCode::not_found)) {
            co_return found;
        }
    }
    const std::int64_t newest = LKS_CO_TRY(co_await newest_listed());
    if (newest == 0) {
        co_return not_found("no table in '{}'", options_.folder);
    }
    auto found = co_await read_version(newest, 0);
    if (found.is(ErrorCode::not_found)) {
        co_return unavailable("version {} of '{}' is listed only yet", newest, options_.folder);
    }
    co_return found;
}

rt::Task<Result<Bytes>> FileTable::read_file(const TableMetadata& metadata, std::string location) {
    const std::string name = LKS_CO_TRY(object_name(metadata, location));
    co_return co_await store_.get(name, std::nullopt);
}

/// Under a name used once: putting it again is putting the same.
rt::Task<Status> FileTable::put_new(std::string relative, Bytes body) {
    const std::string name = object_name(relative);
    for (int i = 0; i < puts_max; ++i) {
        Status done = co_await store_.put(name, Slices(body), IfExists::overwrite);
        if (!done.is(ErrorCode::outcome_unknown)) {
            co_return done;
        }
        co_await back_off(i);
    }
    // The table does not refer to it: nothing has been applied.
    co_return unavailable("'{}' was put {} times without an answer", name, puts_max);
}

rt::Task<Result<CommitBase>> FileTable::load_base(const TableVersion& from, RowsBefore rows) {
    CommitBase base{
        .metadata = from.metadata,
        .metadata_file = from.metadata.location + "/" + metadata_name(from.version),
        .rows = rows,
    };
    if (!from.metadata.current_snapshot || rows == RowsBefore::dropped) {
        co_return base;
    }
    const Snapshot* const main = from.metadata.find_snapshot(*from.metadata.current_snapshot);
    if (main == nullptr) {
        co_return corrupt("{}: its current snapshot is missing", base.metadata_file);
    }
    Bytes list = LKS_CO_TRY(co_await read_file(from.metadata, main->manifest_list));
    auto manifests = read_manifest_list(std::move(list));
    if (!manifests.ok()) {
        co_return std::move(manifests.error()).with_context(main->manifest_list);
    }
    base.manifests = *std::move(manifests);
    for (const std::size_t i : manifests_to_merge(base.manifests, from.metadata.default_spec)) {
        const std::string location = base.manifests[i].path;
        base.to_merge.push_back(LKS_CO_TRY(co_await read_file(from.metadata, location)));
    }
    co_return base;
}

rt::Task<Status> FileTable::put_next(
    CommitBase base, std::int64_t version, Position position, std::vector<TableFile> added
) {
    rt::Executor& executor = co_await rt::this_executor();
    const CommitIds ids = make_ids(executor.rng(), base.metadata);
    const std::int64_t now_ms = to_ms(executor.clock().wall_now());
    struct Made {
        Commit commit;
        std::string json;
    };
    Made made = LKS_CO_TRY(co_await rt::offload(
        offloader_,
        [base = std::move(base),
         position = std::move(position),
         added = std::move(added),
         ids,
         now_ms,
         retention = options_.retention]() mutable -> Result<Made> {
            Made out{LKS_TRY(build_commit(std::move(base), position, added, ids, now_ms)), {}};
            TableMetadata& metadata = out.commit.metadata;
            expire_snapshots(metadata, retention_of(metadata, retention));
            out.json = to_json(metadata);
            return out;
        }
    ));
    for (CommitFile& file : made.commit.files) {
        LKS_CO_TRY(co_await put_new(std::move(file.name), std::move(file.body)));
    }
    const std::string name = object_name(metadata_name(version));
    Slices body(Bytes::own(std::move(made.json)));
    co_return co_await store_.put(name, std::move(body), IfExists::fail);
}

rt::Task<Status> FileTable::write_hint(const TableVersion& version) {
    std::int64_t hint = version.hint;
    std::int64_t newest = version.version;
    while (hint < newest) {
        Slices body(Bytes::own(std::to_string(newest)));
        LKS_CO_TRY(co_await store_.put(object_name(hint_name), std::move(body), IfExists::overwrite)
        );
        // Who made a newer version may have written its hint before us: the last hint must be true.
        hint = newest;
        newest = LKS_CO_TRY(co_await newest_from(hint));
    }
    co_return Status();
}

/// Only a hint: without it readers find an older version, and the next commit writes it.
rt::Task<void> FileTable::point_to(const TableVersion& version) {
    const Status hint = co_await write_hint(version);
    if (!hint.ok()) {
        log::warn("table", "hint_not_written table={} {}", options_.folder, hint.error().message);
    }
}

rt::Task<Result<CommitResult>> FileTable::commit(Planner planner, std::vector<PreparedFile> files) {
    std::int64_t in_doubt = 0;  // a version that a put without answer may still make
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        if (attempt > 0) {
            co_await back_off(attempt);
        }
        auto from = co_await load();
        if (!from.ok()) {
            co_return honest(std::move(from.error()), in_doubt);
        }
        in_doubt = from->version >= in_doubt ? 0 : in_doubt;
        const AppendPlan plan = planner(from->metadata, files);
        Status done;
        if (plan.verdict == Verdict::append) {
            std::vector<TableFile> added = added_by(plan, files);
            auto base = co_await load_base(*from, plan.rows);
            done = base.ok()
                       ? co_await put_next(
                             *std::move(base), from->version + 1, plan.position, std::move(added)
                         )
                       : Status(std::move(base.error()));
            from->version += done.ok() ? 1 : 0;
        }
        if (done.ok()) {
            co_await point_to(*from);
            co_return CommitResult{plan.verdict, plan.reason, plan.position, from->version};
        }
        if (done.is(ErrorCode::outcome_unknown)) {
            in_doubt = from->version + 1;
        } else if (!done.is(ErrorCode::already_exists)) {
            co_return honest(std::move(done.error()), in_doubt);
        }
    }
    co_return honest(
        conflict("'{}': others were faster {} times", options_.folder, attempts_max), in_doubt
    );
}

rt::Task<Result<CommitResult>> FileTable::append(Source source, std::vector<PreparedFile> files) {
    Planner planner = [source = std::move(source)](
                          const TableMetadata& metadata, std::span<const PreparedFile> prepared
                      ) { return plan_append(metadata, source, prepared); };
    co_return co_await commit(std::move(planner), std::move(files));
}

rt::Task<Result<CommitResult>> FileTable::take_over(std::string stream) {
    Planner planner =
        [stream = std::move(stream)](const TableMetadata& metadata, std::span<const PreparedFile>) {
            return plan_take_over(metadata, stream);
        };
    co_return co_await commit(std::move(planner), {});
}

rt::Task<Result<TableVersion>> FileTable::open_or_create(Position start) {
    Status made = not_found("no attempt");
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        if (attempt > 0) {
            co_await back_off(attempt);
        }
        auto found = co_await load();
        if (found.ok()) {
            co_await point_to(*found);
        }
        if (!found.is(ErrorCode::not_found)) {
            co_return found;
        }
        rt::Executor& executor = co_await rt::this_executor();
        start.table = uuid_text(make_uuid(executor.rng().bytes16()));
        NewTable table{
            .uuid = start.table,
            .location = options_.location,
            .now_ms = to_ms(executor.clock().wall_now()),
        };
        CommitBase base{.metadata = new_topic_table(std::move(table))};
        made = co_await put_next(std::move(base), 1, start, {});
        if (!made.ok() && !made.is(ErrorCode::already_exists) &&
            !made.is(ErrorCode::outcome_unknown)) {
            co_return std::move(made.error());
        }
    }
    co_return outcome_unknown("a table in '{}' was made, but cannot be found", options_.folder);
}

namespace {

/// Append the live files of a manifest.
Status add_live(Bytes manifest, const ManifestInfo& info, std::vector<TableFile>& out) {
    ManifestReader reader = LKS_TRY(ManifestReader::open(std::move(manifest), info));
    while (auto entry = LKS_TRY(reader.next())) {
        if (entry->status != EntryStatus::deleted) {
            out.push_back(std::move(entry->file));
        }
    }
    return {};
}

}  // namespace

rt::Task<Result<std::vector<TableFile>>> FileTable::load_files(
    const TableMetadata& metadata, const Snapshot& snapshot
) {
    const Bytes list = LKS_CO_TRY(co_await read_file(metadata, snapshot.manifest_list));
    auto manifests = read_manifest_list(list);
    if (!manifests.ok()) {
        co_return std::move(manifests.error()).with_context(snapshot.manifest_list);
    }
    std::ranges::sort(*manifests, {}, [](const ManifestInfo& info) {
        return std::pair(info.content, info.sequence_number);
    });
    std::vector<TableFile> out;
    for (const ManifestInfo& info : *manifests) {
        const Status read =
            add_live(LKS_CO_TRY(co_await read_file(metadata, info.path)), info, out);
        if (!read.ok()) {
            co_return Error(read.error()).with_context(info.path);
        }
    }
    co_return out;
}

}  // namespace lakestream::table::iceberg
