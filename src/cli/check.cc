// SPDX-License-Identifier: Apache-2.0
// check: does what is stored hold together? Reads everything; changes nothing.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/format.h"
#include "catalog/keys.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "codec/crc32c.h"
#include "index/key.h"
#include "index/record.h"
#include "log/fold.h"
#include "log/index_value.h"
#include "server/blocking.h"
#include "server/leaves.h"
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

/// A log on the walk through its index records.
struct Walk {
    LogId log;
    Offset end;
    std::int64_t cumulative = 0;
    log::FoldState state;
    bool foldable = true;
};

class Checker {
  public:
    Checker(meta::MetadataStore& metadata, objstore::ObjectStore& objects)
        : metadata_(metadata), objects_(objects) {}

    rt::Task<Result<Exit>> run() {
        LKS_CO_TRY(co_await load_snapshots());
        LKS_CO_TRY(co_await walk_index());
        for (const auto& [name, claims] : claims_) {
            LKS_CO_TRY(co_await check_object(name, claims));
        }
        LKS_CO_TRY(co_await find_orphans());
        say(fmt::format(
            "note: {} logs, {} index records, {} objects, {} fold snapshots, {} problems",
            logs_,
            records_,
            claims_.size(),
            snapshots_count_,
            problems_
        ));
        LKS_CO_TRY(output_);
        co_return problems_ == 0 ? Exit::ok : Exit::failed;
    }

  private:
    void say(const std::string& line) {
        if (output_.ok()) {
            output_ = put_line(line);
        }
    }

    template <class... Args>
    void problem(fmt::format_string<Args...> format, Args&&... args) {
        ++problems_;
        say(fmt::format(format, std::forward<Args>(args)...));
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

    /// All index records, log by log, each by ascending end.
    rt::Task<Status> walk_index() {
        const auto scan = metadata_.scan({.begin = "0", .end = ":", .partition_key = {}});
        std::optional<Walk> walk;
        while (true) {
            const auto page = LKS_CO_TRY(co_await scan->next());
            if (page.empty()) {
                break;
            }
            for (const meta::Record& record : page) {
                const auto key = index::parse_key(record.key);
                if (!key.ok()) {
                    problem("index {}: {}", record.key, key.error());
                    continue;
                }
                if (!walk.has_value() || walk->log != key->log) {
                    end_log(walk);
                    walk = Walk{.log = key->log};
                    ++logs_;
                    compare_snapshot(*walk);
                }
                ++records_;
                step(*walk, *key, record);
            }
        }
        end_log(walk);
        for (const auto& [log, state] : snapshots_) {
            if (state.end > Offset(0)) {
                problem(
                    "metadata /lks/fold/{}: ends at {}, where no index record ends", log, state.end
                );
            }
        }
        co_return Status();
    }

    void step(Walk& walk, const index::IndexKey& key, const meta::Record& record) {
        const auto value = index::IndexRecord::decode(record.value);
        if (!value.ok()) {
            problem("index {}: {}", record.key, value.error());
            walk.foldable = false;
            walk.end = key.end;
            walk.cumulative = key.cumulative;
            return;
        }
        const Offset begin = key.end - value->message_count;
        if (begin != walk.end) {
            problem(
                "index {}: begins at {}, the one before ends at {}", record.key, begin, walk.end
            );
            walk.foldable = false;
        }
        if (walk.cumulative + value->entry_size_bytes != key.cumulative) {
            problem(
                "index {}: {} bytes behind {} do not add up to its key",
                record.key,
                value->entry_size_bytes,
                walk.cumulative
            );
        }
        walk.end = key.end;
        walk.cumulative = key.cumulative;
        fold_record(walk, record, *value);
        note_claim(key, record.key, *value);
    }

    void fold_record(Walk& walk, const meta::Record& record, const index::IndexRecord& value) {
        const auto folded = log::to_fold_record(walk.log, record, value);
        if (!folded.ok()) {
            problem("index {}: {}", record.key, folded.error());
            walk.foldable = false;
        }
        if (walk.foldable) {
            log::fold(walk.state, *folded);
            compare_snapshot(walk);
        }
    }

    void compare_snapshot(const Walk& walk) {
        const auto found = snapshots_.find(walk.log);
        if (found == snapshots_.end() || found->second.end != walk.state.end) {
            return;
        }
        if (found->second != walk.state) {
            problem(
                "metadata /lks/fold/{}: differs from the fold of the first {} offsets",
                walk.log,
                walk.state.end
            );
        }
        snapshots_.erase(found);
    }

    void end_log(const std::optional<Walk>& walk) {
        if (walk.has_value() && !walk->foldable) {
            snapshots_.erase(walk->log);  // nothing to compare it with; reported already
        }
    }

    void note_claim(
        const index::IndexKey& key, const std::string& text, const index::IndexRecord& value
    ) {
        auto records = value.entry_records();
        if (value.file_type != index::FileType::raw || !records.ok()) {
            return;
        }
        claims_[value.location].push_back({
            .key = text,
            .log = key.log,
            .entry_bytes = value.entry_size_bytes,
            .object_bytes = value.file_size,
            .entry_records = std::move(*records),
            .crc32c =
                value.extension.has_value() ? std::optional(value.extension->crc32c) : std::nullopt,
        });
    }

    rt::Task<Status> check_object(std::string name, const std::vector<Claim>& claims) {
        const auto body = co_await objects_.get(name, std::nullopt);
        if (!body.ok()) {
            if (!body.is(ErrorCode::not_found) && !body.is(ErrorCode::corrupt)) {
                co_return body.error();
            }
            problem("object {}: {}; index {} needs it", name, body.error(), claims.front().key);
            co_return Status();
        }
        const auto header = wal::ObjectHeader::parse(body->span());
        if (!header.ok()) {
            problem("object {}: {}", name, header.error());
            co_return Status();
        }
        const std::uint64_t payload = body->size() - header->payload_begin();
        for (const Claim& claim : claims) {
            if (claim.object_bytes != static_cast<std::int64_t>(payload)) {
                problem(
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
            problem("object {}: has no section of log {}, index {}", name, claim.log, claim.key);
            return;
        }
        std::vector<std::int32_t> records;
        std::uint32_t crc = 0;
        std::int64_t bytes = 0;
        for (const wal::EntryPlace& place : section->entries) {
            const std::uint64_t begin = header.payload_begin() + place.offset;
            if (begin + place.length > body.size()) {
                problem("object {}: an entry of log {} ends behind it", name, claim.log);
                return;
            }
            crc = codec::crc32c(body.span().subspan(begin, place.length), crc);
            bytes += place.length;
            records.push_back(place.records);
        }
        if (records != claim.entry_records) {
            problem(
                "object {}: log {} has other entries than index {}", name, claim.log, claim.key
            );
        }
        if (bytes != claim.entry_bytes) {
            problem(
                "object {}: log {} has {} bytes, index {} says {}",
                name,
                claim.log,
                bytes,
                claim.key,
                claim.entry_bytes
            );
        }
        if (claim.crc32c.has_value() && crc != *claim.crc32c) {
            problem("object {}: wrong CRC of log {}, index {}", name, claim.log, claim.key);
        }
    }

    /// An object nobody refers to is what a crash leaves behind: no harm.
    rt::Task<Status> find_orphans() {
        std::string after;
        for (bool more = true; more;) {
            const auto page = LKS_CO_TRY(co_await objects_.list("", after, list_page));
            for (const objstore::ObjectInfo& object : page.objects) {
                if (wal::object_date(object.name).has_value() && !claims_.contains(object.name)) {
                    say(fmt::format("note: orphan object {} of {} bytes", object.name, object.size)
                    );
                }
                after = object.name;
            }
            more = page.more && !page.objects.empty();
        }
        co_return Status();
    }

    meta::MetadataStore& metadata_;
    objstore::ObjectStore& objects_;
    std::map<LogId, log::FoldState> snapshots_;         // not yet compared
    std::map<std::string, std::vector<Claim>> claims_;  // by object
    std::uint64_t snapshots_count_ = 0;
    std::uint64_t logs_ = 0;
    std::uint64_t records_ = 0;
    std::uint64_t problems_ = 0;
    Status output_;
};

}  // namespace

Result<Exit> check(const server::Settings& settings) {
    const auto leaves = LKS_TRY(server::Leaves::open(settings, server::Open::existing));
    Checker checker(leaves->metadata(), leaves->objects());
    return server::run_blocking(leaves->loops()[0], checker.run());
}

}  // namespace lakestream::cli
