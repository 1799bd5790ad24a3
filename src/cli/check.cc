// SPDX-License-Identifier: Apache-2.0
// check: does what is stored hold together? Reads everything; changes nothing.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "base/format.h"
#include "catalog/keys.h"
#include "catalog/log_owner.h"
#include "cli/check_parts.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "codec/crc32c.h"
#include "compact/compacted_objects.h"
#include "index/key.h"
#include "index/record.h"
#include "log/fold.h"
#include "log/index_value.h"
#include "log/start.h"
#include "server/blocking.h"
#include "server/leaves.h"
#include "table/compacted_file_index.h"
#include "wal/object_format.h"
#include "wal/object_name.h"

namespace lakestream::cli {

namespace {

constexpr std::uint32_t list_page = 1000;

/// What an index record says about a section of an object.
struct Claim {
    std::string key;
    LogId log;
    std::int64_t entry_bytes = 0;
    std::int64_t object_bytes = 0;  // payload of all sections
    std::vector<std::int32_t> entry_records;
    std::optional<std::uint32_t> crc32c;
};

/// An index record that decodes.
struct Row {
    index::IndexKey key;
    meta::Record record;
    index::IndexRecord value;

    Offset begin() const { return key.end - value.message_count; }
    bool compacted() const { return value.file_type == index::FileType::parquet; }
};

class Checker {
  public:
    Checker(meta::MetadataStore& metadata, objstore::ObjectStore& objects, Report& report)
        : metadata_(metadata), objects_(objects), report_(report) {}

    rt::Task<Status> run() {
        LKS_CO_TRY(co_await load_snapshots());
        LKS_CO_TRY(co_await load_starts());
        LKS_CO_TRY(co_await walk_index());
        Progress progress("WAL objects", claims_.size());
        std::uint64_t checked = 0;
        for (const auto& [name, claims] : claims_) {
            progress.show(checked++);
            LKS_CO_TRY(co_await check_object(name, claims));
        }
        LKS_CO_TRY(co_await find_orphans());
        co_return report_.output();
    }

    /// What is compacted, to be read after `run`.
    const std::vector<CompactedClaim>& compacted() const { return compacted_; }

    /// What was looked at.
    std::string counts() const {
        return fmt::format(
            "{} logs, {} index records, {} WAL objects, {} compacted objects, {} fold snapshots",
            logs_,
            records_,
            claims_.size(),
            compacted_.size(),
            snapshots_count_
        );
    }

  private:
    /// In the metadata store.
    template <class... Args>
    void problem(fmt::format_string<Args...> format, Args&&... args) {
        report_.problem(
            "{}; restore the metadata from a copy", fmt::format(format, std::forward<Args>(args)...)
        );
    }

    /// In a WAL object.
    template <class... Args>
    void object_problem(fmt::format_string<Args...> format, Args&&... args) {
        report_.problem(
            "{}; restore the object from a copy, what it lacks cannot be read until then",
            fmt::format(format, std::forward<Args>(args)...)
        );
    }

    rt::Task<Status> load_snapshots() {
        const auto range = catalog::keys::children(metadata_.key_order(), "/lks/fold");
        const auto scan = metadata_.scan(range);
        while (true) {
            const auto page = LKS_CO_TRY(co_await scan->next());
            if (page.empty()) {
                co_return Status();
            }
            for (const meta::Record& record : page) {
                const auto log = catalog::keys::number_after("/lks/fold/", record.key);
                auto state = log::decode_fold(record.value);
                if (!log.has_value() || !state.ok()) {
                    problem(
                        "metadata {}: {}",
                        record.key,
                        state.ok() ? "is not a log's" : state.error().to_string()
                    );
                    continue;
                }
                ++snapshots_count_;
                snapshots_.emplace(LogId(static_cast<std::int64_t>(*log)), std::move(*state));
            }
        }
    }

    /// Where trimmed logs start: ours, and other engines' marks.
    rt::Task<Status> load_starts() {
        for (const std::string_view parent : {"/lks/start", "/mark-deleted-offsets"}) {
            const auto scan =
                metadata_.scan(catalog::keys::children(metadata_.key_order(), parent));
            while (true) {
                const auto page = LKS_CO_TRY(co_await scan->next());
                if (page.empty()) {
                    break;
                }
                for (const meta::Record& record : page) {
                    const auto log = log::trimmed_log(record.key);
                    const auto start = index::parse_mark(record.value);
                    if (!log.has_value() || !start.ok()) {
                        problem("metadata {}: is no log's start", record.key);
                        continue;
                    }
                    starts_[*log] = std::max(starts_[*log], *start);
                }
            }
        }
        co_return Status();
    }

    Offset start_of(LogId log) const {
        const auto found = starts_.find(log);
        return found == starts_.end() ? Offset(0) : found->second;
    }

    /// All index records, log by log, each by ascending end.
    rt::Task<Status> walk_index() {
        const auto scan = metadata_.scan({.begin = "0", .end = ":", .partition_key = {}});
        std::vector<Row> rows;  // of one log
        while (true) {
            auto page = LKS_CO_TRY(co_await scan->next());
            if (page.empty()) {
                break;
            }
            for (meta::Record& record : page) {
                auto row = decode(std::move(record));
                if (!row.has_value()) {
                    continue;
                }
                if (!rows.empty() && rows.front().key.log != row->key.log) {
                    LKS_CO_TRY(co_await check_log(std::exchange(rows, {})));
                }
                rows.push_back(std::move(*row));
            }
        }
        LKS_CO_TRY(co_await check_log(std::move(rows)));
        for (const auto& [log, state] : snapshots_) {
            // A drop deletes registration and index of a log, and leaves its snapshot.
            const auto owner = co_await catalog::find_log_owner(metadata_, log);
            if (state.end > Offset(0) && !owner.is(ErrorCode::not_found)) {
                problem(
                    "metadata /lks/fold/{}: ends at {}, where no index record ends", log, state.end
                );
            }
        }
        co_return Status();
    }

    std::optional<Row> decode(meta::Record record) {
        ++records_;
        const auto key = index::parse_key(record.key);
        if (!key.ok()) {
            problem("index {}: {}", record.key, key.error());
            return std::nullopt;
        }
        auto value = index::IndexRecord::decode(record.value);
        if (!value.ok()) {
            problem("index {}: {}", record.key, value.error());
            snapshots_.erase(key->log);  // nothing to compare it with
            return std::nullopt;
        }
        return Row{.key = *key, .record = std::move(record), .value = std::move(*value)};
    }

    rt::Task<Status> check_log(std::vector<Row> rows) {
        if (rows.empty()) {
            co_return Status();
        }
        ++logs_;
        drop_replaced(rows);
        check_chain(rows);
        const std::optional<log::FoldState> folded = check_fold(rows);
        const Offset start = start_of(rows.front().key.log);
        for (const Row& row : rows) {
            if (row.key.end <= start) {
                continue;  // trimmed: its object may be gone
            }
            if (row.compacted()) {
                LKS_CO_TRY(co_await note_compacted(row, folded));
            } else if (!is_void(row, folded)) {
                note_claim(row);
            }
        }
        co_return Status();
    }

    /// What a compactor that was killed has replaced and not yet deleted.
    void drop_replaced(std::vector<Row>& rows) {
        std::vector<Row> kept;
        auto covered = Offset(std::numeric_limits<std::int64_t>::max());
        for (Row& row : std::views::reverse(rows)) {
            if (row.begin() >= covered) {
                report_.note("index {} is replaced and not yet deleted", row.record.key);
                continue;
            }
            if (row.compacted()) {
                covered = row.begin();
            }
            kept.push_back(std::move(row));
        }
        std::ranges::reverse(kept);
        rows = std::move(kept);
    }

    void check_chain(const std::vector<Row>& rows) {
        const Row& first = rows.front();
        const Offset start = start_of(first.key.log);
        // What was trimmed may be gone.
        Offset end = std::min(first.begin(), start);
        std::int64_t cumulative =
            first.begin() == Offset(0) ? 0 : first.key.cumulative - first.value.entry_size_bytes;
        if (start > rows.back().key.end) {
            problem(
                "metadata {}: the log ends at {}",
                log::start_key(first.key.log),
                rows.back().key.end
            );
        }
        for (const Row& row : rows) {
            if (row.begin() != end) {
                problem(
                    "index {}: begins at {}, the one before ends at {}",
                    row.record.key,
                    row.begin(),
                    end
                );
            }
            if (!row.compacted() && cumulative + row.value.entry_size_bytes != row.key.cumulative) {
                problem(
                    "index {}: {} bytes behind {} do not add up to its key",
                    row.record.key,
                    row.value.entry_size_bytes,
                    cumulative
                );
            }
            end = row.key.end;
            cumulative = row.key.cumulative;
        }
    }

    /// Published too late: its object may have gone before.
    static bool is_void(const Row& row, const std::optional<log::FoldState>& folded) {
        const OffsetRange range{row.begin(), row.key.end};
        const bool known = folded.has_value() && folded->end >= range.end;
        return known && folded->voids_in(range) == std::vector{range};
    }

    /// The fold, as far as it is known. The stored one equals the fold from the beginning. Where
    /// that is compacted, the stored one is taken for true; then it must reach as far as what was
    /// compacted (INV-SNAPSHOT).
    std::optional<log::FoldState> check_fold(const std::vector<Row>& rows) {
        const LogId log = rows.front().key.log;
        const auto stored = snapshots_.find(log);
        const bool is_stored = stored != snapshots_.end();
        log::FoldState saved;
        if (is_stored) {
            saved = std::move(stored->second);
            snapshots_.erase(stored);
        }
        std::optional<log::FoldState> state = log::FoldState();
        bool reached = saved.end == Offset(0);
        const Offset begin = rows.front().begin();
        if (!is_stored && begin > Offset(0)) {
            return std::nullopt;
        }
        if (begin > Offset(0)) {  // what was trimmed is in the stored one only
            state.reset();
            if (saved.end <= begin) {
                state = saved;
                reached = saved.end == begin;
            }
        }
        for (const Row& row : rows) {
            if (is_stored && row.compacted() && row.key.end > saved.end) {
                problem(
                    "index {}: is compacted beyond the fold's end {}", row.record.key, saved.end
                );
            }
            if (row.compacted()) {
                state.reset();
            } else if (state.has_value() && !fold_row(*state, row)) {
                return saved;
            }
            if (row.key.end != saved.end) {
                continue;
            }
            reached = true;
            if (state.has_value() && *state != saved) {
                problem("metadata /lks/fold/{}: differs from the fold up to {}", log, saved.end);
            }
            state = saved;
        }
        if (!reached) {
            problem(
                "metadata /lks/fold/{}: ends at {}, where no index record ends", log, saved.end
            );
        }
        return state.has_value() || !is_stored ? state : saved;
    }

    /// False when the rest of the log cannot be folded.
    bool fold_row(log::FoldState& state, const Row& row) {
        const auto folded = log::to_fold_record(row.key.log, row.record, row.value);
        if (!folded.ok()) {
            problem("index {}: {}", row.record.key, folded.error());
        }
        if (!folded.ok() || folded->range.begin != state.end) {
            return false;
        }
        log::fold(state, *folded);
        return true;
    }

    rt::Task<Status> note_compacted(const Row& row, const std::optional<log::FoldState>& saved) {
        const auto owner = co_await catalog::find_log_owner(metadata_, row.key.log);
        if (!owner.ok()) {
            problem(
                "index {}: nobody knows where its compacted object is: {}",
                row.record.key,
                owner.error()
            );
            co_return Status();
        }
        const OffsetRange range{row.begin(), row.key.end};
        compacted_.push_back({
            .key = row.record.key,
            .log = row.key.log,
            .range = range,
            .name = fmt::format(
                "{}/{}",
                compact::compacted_folder(owner->stream.ns, owner->stream.name),
                row.value.location
            ),
            .payload_bytes = row.value.entry_size_bytes,
            .cumulative = row.key.cumulative,
            .voids =
                saved.has_value() && saved->end >= range.end && saved->voids_from <= range.begin
                    ? std::optional(saved->voids_in(range))
                    : std::nullopt,
            .voids_checksum = row.value.extension.has_value() ? row.value.extension->crc32c : 0,
        });
        check_file_index(row);
        co_return Status();
    }

    /// The text that other engines look the object up in says the same.
    void check_file_index(const Row& row) {
        const auto text = std::ranges::find(
            row.value.extra, table::file_index_key, &std::pair<std::string, std::string>::first
        );
        if (text == row.value.extra.end()) {
            return;
        }
        const auto files = table::CompactedFileIndex::decode(text->second);
        const auto file = files.ok() ? files->find(row.key.end - 1) : files.error();
        if (!file.ok() || *file != row.value.location) {
            problem(
                "index {}: its file index says {}, its location {}",
                row.record.key,
                file.ok() ? *file : file.error().to_string(),
                row.value.location
            );
        }
    }

    void note_claim(const Row& row) {
        auto records = row.value.entry_records();
        if (!records.ok()) {
            problem("index {}: {}", row.record.key, records.error());
            return;
        }
        claims_[row.value.location].push_back({
            .key = row.record.key,
            .log = row.key.log,
            .entry_bytes = row.value.entry_size_bytes,
            .object_bytes = row.value.file_size,
            .entry_records = std::move(*records),
            .crc32c = row.value.extension.has_value() ? std::optional(row.value.extension->crc32c)
                                                      : std::nullopt,
        });
    }

    rt::Task<Status> check_object(std::string name, const std::vector<Claim>& claims) {
        const auto body = co_await objects_.get(name, std::nullopt);
        if (!body.ok()) {
            if (!body.is(ErrorCode::not_found) && !body.is(ErrorCode::corrupt)) {
                co_return body.error();
            }
            object_problem(
                "object {}: {}; index {} needs it", name, body.error(), claims.front().key
            );
            co_return Status();
        }
        const auto header = wal::ObjectHeader::parse(body->span());
        if (!header.ok()) {
            object_problem("object {}: {}", name, header.error());
            co_return Status();
        }
        const std::uint64_t payload = body->size() - header->payload_begin();
        for (const Claim& claim : claims) {
            if (claim.object_bytes != static_cast<std::int64_t>(payload)) {
                object_problem(
                    "object {}: {} bytes of payload, index {} says {}",
                    name,
                    payload,
                    claim.key,
                    claim.object_bytes
                );
            }
            check_section(name, *body, *header, claim);
        }
        co_return Status();
    }

    void check_section(
        const std::string& name,
        const Bytes& body,
        const wal::ObjectHeader& header,
        const Claim& claim
    ) {
        const wal::Section* section = header.find(claim.log);
        if (section == nullptr) {
            object_problem(
                "object {}: has no section of log {}, index {}", name, claim.log, claim.key
            );
            return;
        }
        std::vector<std::int32_t> records;
        std::uint32_t crc = 0;
        std::int64_t bytes = 0;
        for (const wal::EntryPlace& place : section->entries) {
            const std::uint64_t begin = header.payload_begin() + place.offset;
            if (begin + place.length > body.size()) {
                object_problem("object {}: an entry of log {} ends behind it", name, claim.log);
                return;
            }
            crc = codec::crc32c(body.span().subspan(begin, place.length), crc);
            bytes += place.length;
            records.push_back(place.records);
        }
        if (records != claim.entry_records) {
            object_problem(
                "object {}: log {} has other entries than index {}", name, claim.log, claim.key
            );
        }
        if (bytes != claim.entry_bytes) {
            object_problem(
                "object {}: log {} has {} bytes, index {} says {}",
                name,
                claim.log,
                bytes,
                claim.key,
                claim.entry_bytes
            );
        }
        if (claim.crc32c.has_value() && crc != *claim.crc32c) {
            object_problem("object {}: wrong CRC of log {}, index {}", name, claim.log, claim.key);
        }
    }

    /// An object nobody refers to is what a crash leaves behind: no harm.
    rt::Task<Status> find_orphans() {
        std::string after;
        for (bool more = true; more;) {
            const auto page = LKS_CO_TRY(co_await objects_.list("", after, list_page));
            for (const objstore::ObjectInfo& object : page.objects) {
                if (wal::object_date(object.name).has_value() && !claims_.contains(object.name)) {
                    report_.note("orphan object {} of {} bytes", object.name, object.size);
                }
                after = object.name;
            }
            more = page.more && !page.objects.empty();
        }
        co_return Status();
    }

    meta::MetadataStore& metadata_;
    objstore::ObjectStore& objects_;
    Report& report_;
    std::map<LogId, log::FoldState> snapshots_;         // not yet compared
    std::map<LogId, Offset> starts_;                    // of trimmed logs
    std::map<std::string, std::vector<Claim>> claims_;  // by object
    std::vector<CompactedClaim> compacted_;
    std::uint64_t snapshots_count_ = 0;
    std::uint64_t logs_ = 0;
    std::uint64_t records_ = 0;
};

}  // namespace

Result<Exit> check(const server::Settings& settings, RecordFormat format) {
    const auto leaves = LKS_TRY(server::Leaves::open(settings, server::Open::existing));
    Report report(format);
    Checker checker(leaves->metadata(), leaves->objects(), report);
    LKS_TRY(server::run_blocking(leaves->loops()[0], checker.run()));
    compact::TableFilesLoader loader;
    Progress progress("compacted objects", checker.compacted().size());
    std::uint64_t checked = 0;
    for (const CompactedClaim& claim : checker.compacted()) {
        progress.show(checked++);
        LKS_TRY(check_compacted(*leaves, loader, claim, report));
    }
    const std::size_t tables = LKS_TRY(check_tables(*leaves, loader, report));
    report.note("{}, {} tables, {} problems", checker.counts(), tables, report.problems());
    LKS_TRY(report.output());
    return report.problems() == 0 ? Exit::ok : Exit::failed;
}

}  // namespace lakestream::cli
