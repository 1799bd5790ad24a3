// SPDX-License-Identifier: Apache-2.0
// Committers race on one table over a store that fails, loses answers, applies late and hides; they
// crash anywhere. INV-TABLE-EXACT: every version of the table holds exactly the prefix of the
// stream that its position says, each record once. INV-TABLE-KEPT: a version that a committer was
// told it made stays what it made.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/log.h"
#include "objstore/memory_store.h"
#include "objstore/testing/faulty_store.h"
#include "rt/sim/testing.h"
#include "table/iceberg/file_table.h"

namespace lakestream::table::iceberg {
namespace {

using objstore::FaultyStore;
using objstore::IfExists;

constexpr int logs = 3;
constexpr std::int64_t stream_end = 60;  // of each log

const bool quiet = [] {
    log::set_sink(
        [](log::Level, std::string_view, std::string_view) noexcept {}, log::Level::error
    );
    return true;
}();

/// Each seed has faults of its own kinds and rates.
objstore::FaultOptions random_faults(rt::Rng& rng) {
    objstore::FaultOptions out;
    objstore::FaultRule rule;
    const auto ratio = [&] { return objstore::Ratio{rng.chance(1, 2) ? rng.below(15) : 0, 100}; };
    for (objstore::FaultRates& rates : rule.rates.values) {
        rates = {
            .fail_before = ratio(),
            .lose_answer = ratio(),
            .apply_late = ratio(),
            .throttle = {rng.below(2), 100},
            .slow = ratio(),
        };
    }
    out.rules.push_back(rule);
    out.late_max = std::chrono::seconds(rng.between(1, 60));
    out.slow_max = 5s;
    out.settle = rng.chance(1, 3) ? Duration(200ms) : Duration(0);
    return out;
}

/// One process that moves the stream into the table, until all of it is there.
class Committer {
  public:
    Committer(rt::SimLoop& loop, objstore::ObjectStore& store, std::uint64_t seed)
        : clock_(loop),
          executor_(loop, clock_, seed),
          scope_(std::make_unique<rt::TaskScope>(executor_)),
          offloader_(executor_, 5ms),
          store_(store),
          table_(
              store,
              offloader_,
              {.folder = "t", .location = "/t", .retention = {.age_ms_max = 60'000, .count_max = 5}}
          ) {
        scope_->spawn(run());
    }

    void crash() {
        executor_.kill();
        scope_->abandon();
    }

    bool done() const { return done_; }
    std::map<Verdict, int> verdicts;
    std::map<std::int64_t, Position> made;  // by version
    int unknown = 0;

  private:
    rt::Task<void> run() {
        while (!done_) {
            static_cast<void>(co_await step());
            co_await rt::sleep_until(executor_.now() + 100ms);
        }
    }

    rt::Task<Status> step() {
        const TableVersion now = LKS_CO_TRY(co_await table_.open_or_create({.stream = "s"}));
        const Position position = LKS_CO_TRY(position_of(now.metadata));
        std::vector<PreparedFile> files = cut(position);
        if (files.empty()) {
            done_ = true;
            co_return Status();
        }
        for (const PreparedFile& file : files) {
            if (file.file) {
                LKS_CO_TRY(co_await upload(file));
            }
        }
        // Some give up after an error and prepare anew, some insist.
        const auto tries = executor_.rng().between(1, 3);
        for (std::uint64_t i = 0; i < tries; ++i) {
            Source source{.table = now.metadata.uuid, .stream = "s"};
            const auto result = co_await table_.append(std::move(source), files);
            if (result.ok()) {
                ++verdicts[result->verdict];
                if (result->verdict == Verdict::append) {
                    made[result->version] = result->position;
                }
                co_return Status();
            }
            unknown += result.is(ErrorCode::outcome_unknown) ? 1 : 0;
        }
        co_return Status();
    }

    /// One or two files from the position on, each with parts of some logs.
    std::vector<PreparedFile> cut(const Position& position) {
        rt::Rng& rng = executor_.rng();
        std::vector<PreparedFile> out;
        std::map<LogId, Offset> next;
        for (std::int64_t log = 0; log < logs; ++log) {
            next[LogId(log)] = position.of(LogId(log));
        }
        for (std::uint64_t i = rng.between(1, 2); i > 0; --i) {
            PreparedFile file;
            std::int64_t rows = 0;
            for (auto& [log, from] : next) {
                const std::int64_t most = std::min<std::int64_t>(4, stream_end - from.v);
                const auto count =
                    static_cast<std::int64_t>(rng.between(0, static_cast<std::uint64_t>(most)));
                if (count > 0) {
                    file.ranges[log] = {from, from + count};
                    from = from + count;
                    rows += count;
                }
            }
            if (!file.ranges.empty()) {
                file.file = TableFile{
                    .path = fmt::format("data/{:016x}", rng.next()), .records = rows, .bytes = 1
                };
                out.push_back(std::move(file));
            }
        }
        bool all = true;
        for (const auto& [log, from] : next) {
            all = all && position.of(log).v == stream_end;
        }
        if (out.empty() && !all) {
            return cut(position);
        }
        return out;
    }

    /// The "rows" of a data file are the ranges they come from.
    rt::Task<Status> upload(const PreparedFile& file) {
        std::string text;
        for (const auto& [log, range] : file.ranges) {
            text += fmt::format("{} {} {}\n", log.v, range.begin.v, range.end.v);
        }
        const std::string name = table_.object_name(file.file->path);
        Slices body(Bytes::own(std::move(text)));
        co_return co_await store_.put(name, std::move(body), IfExists::overwrite);
    }

    rt::SimClock clock_;
    rt::SimExecutor executor_;
    std::unique_ptr<rt::TaskScope> scope_;
    rt::SimOffloader offloader_;
    objstore::ObjectStore& store_;
    FileTable table_;
    bool done_ = false;
};

struct Outcome {
    std::map<Verdict, int> verdicts;
    int unknown = 0;
    std::int64_t versions = 0;
    std::uint64_t trace = 0;
};

class World {
  public:
    explicit World(std::uint64_t seed)
        : loop_(seed),
          clock_(loop_),
          executor_(loop_, clock_, seed),
          bucket_(clock_),
          memory_(bucket_),
          faulty_(memory_, executor_, random_faults(loop_.rng()), seed) {}

    Outcome run() {
        rt::Rng& rng = loop_.rng();
        std::vector<std::size_t> alive;
        const std::uint64_t at_once = rng.between(1, 3);
        const MonoTime storm_end = loop_.now() + 120s;
        while (loop_.now() < storm_end) {
            while (alive.size() < at_once) {
                alive.push_back(committers_.size());
                committers_.push_back(std::make_unique<Committer>(loop_, faulty_, rng.next()));
            }
            loop_.run_for(std::chrono::milliseconds(rng.between(10, 20'000)));
            const std::size_t victim = rng.below(alive.size());
            committers_[alive[victim]]->crash();
            alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(victim));
        }
        faulty_.heal();
        committers_.push_back(std::make_unique<Committer>(loop_, faulty_, rng.next()));
        Committer& last = *committers_.back();
        EXPECT_TRUE(loop_.run_until([&] { return last.done(); }, loop_.now() + 600s))
            << "the table does not converge";
        for (const auto& committer : committers_) {
            committer->crash();
        }
        finish(faulty_.close());
        return outcome();
    }

    /// Every version, by what is stored: INV-TABLE-EXACT.
    void check(std::int64_t versions) {
        rt::SimOffloader offloader(executor_, 1ms);
        FileTable table(memory_, offloader, {.folder = "t"});
        for (std::int64_t version = 1; version <= versions; ++version) {
            const Bytes text =
                *bucket_.get(fmt::format("t/metadata/v{}.metadata.json", version), std::nullopt);
            const TableMetadata metadata = *parse_metadata(text.view());
            const Snapshot& snapshot = metadata.snapshots.back();
            std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> rows;
            const auto files = finish(table.load_files(metadata, snapshot));
            ASSERT_TRUE(files.ok()) << files.error().message;
            for (const TableFile& file : *files) {
                std::istringstream ranges(read_data(file.path));
                std::int64_t log = 0;
                std::int64_t begin = 0;
                std::int64_t end = 0;
                while (ranges >> log >> begin >> end) {
                    EXPECT_TRUE(rows[log].emplace(begin, end).second) << "doubled in " << version;
                }
            }
            std::int64_t total = 0;
            const Position position = *position_of(metadata);
            for (std::int64_t log = 0; log < logs; ++log) {
                std::int64_t at = 0;
                for (const auto& [begin, end] : rows[log]) {
                    EXPECT_EQ(begin, at) << "version " << version << " log " << log;
                    at = end;
                }
                EXPECT_EQ(at, position.of(LogId(log)).v) << "version " << version;
                total += at;
            }
            EXPECT_EQ(snapshot.summary.at("total-records"), std::to_string(total));
            for (const auto& committer : committers_) {
                const auto made = committer->made.find(version);
                EXPECT_TRUE(made == committer->made.end() || made->second == position) << version;
            }
        }
    }

  private:
    std::string read_data(const std::string& location) {
        return std::string(bucket_.get(location.substr(1), std::nullopt)->view());
    }

    template <class T>
    T finish(rt::Task<T> task) {
        std::optional<T> result;
        const auto keep = [](rt::Task<T> inner, std::optional<T>& out) -> rt::Task<bool> {
            out.emplace(co_await std::move(inner));
            co_return true;
        };
        static_cast<void>(rt::submit(executor_, keep(std::move(task), result)));
        EXPECT_TRUE(loop_.run_until([&] { return result.has_value(); }));
        return *std::move(result);
    }

    void finish(rt::Task<void> task) {
        finish([](rt::Task<void> inner) -> rt::Task<bool> {
            co_await std::move(inner);
            co_return true;
        }(std::move(task)));
    }

    Outcome outcome() {
        Outcome out;
        for (const auto& committer : committers_) {
            out.unknown += committer->unknown;
            for (const auto& [verdict, count] : committer->verdicts) {
                out.verdicts[verdict] += count;
            }
        }
        rt::SimOffloader offloader(executor_, 1ms);
        FileTable table(memory_, offloader, {.folder = "t"});
        const auto now = finish(table.load());
        EXPECT_TRUE(now.ok());
        out.versions = now->version;
        for (std::int64_t log = 0; log < logs; ++log) {
            EXPECT_EQ(position_of(now->metadata)->of(LogId(log)).v, stream_end);
        }
        out.trace = loop_.trace();
        return out;
    }

    rt::SimLoop loop_;
    rt::SimClock clock_;
    rt::SimExecutor executor_;
    objstore::MemoryBucket bucket_;
    objstore::MemoryStore memory_;
    FaultyStore faulty_;
    std::vector<std::unique_ptr<Committer>> committers_;
};

TEST(FileTableSim, EveryVersionIsAPrefixOfTheStream) {
    Outcome all;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        World world(seed);
        const Outcome outcome = world.run();
        world.check(outcome.versions);
        all.unknown += outcome.unknown;
        for (const auto& [verdict, count] : outcome.verdicts) {
            all.verdicts[verdict] += count;
        }
        if (HasFailure()) {
            return;
        }
    }
    // What makes it hard has happened.
    EXPECT_GT(all.verdicts[Verdict::append], 250);
    EXPECT_GT(all.verdicts[Verdict::nothing_new], 5);
    EXPECT_GT(all.verdicts[Verdict::misaligned], 10);
    EXPECT_EQ(all.verdicts[Verdict::suspended], 0);
    EXPECT_GT(all.unknown, 5);
}

TEST(FileTableSim, ASeedReplays) {
    EXPECT_EQ(World(77).run().trace, World(77).run().trace);
}

}  // namespace
}  // namespace lakestream::table::iceberg
