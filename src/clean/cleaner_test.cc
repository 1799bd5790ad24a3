// SPDX-License-Identifier: Apache-2.0
// Passes over a real engine and catalog: what goes, what stays, and crashes in between.
#include "clean/cleaner.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/log.h"
#include "catalog/metadata_catalog.h"
#include "clean/hard_trim.h"
#include "compact/replace.h"
#include "index/key.h"
#include "log/start.h"
#include "log/testing/cluster.h"
#include "log/testing/memory_compacted.h"
#include "meta/testing/dying_store.h"
#include "objstore/testing/forwarding_store.h"
#include "wal/object_format.h"
#include "wal/object_name.h"

namespace lakestream::clean {
namespace {

using log::MemoryCompacted;
using log::TestCluster;

const bool quiet = [] {
    log::set_sink(
        [](log::Level, std::string_view, std::string_view) noexcept {}, log::Level::error
    );
    return true;
}();

class Fencer final : public catalog::LogFencer {
  public:
    explicit Fencer(log::Engine& engine) : engine_(engine) {}
    rt::Task<void> fence(LogId log) override { co_await engine_.fence(log); }

  private:
    log::Engine& engine_;
};

rt::Task<Result<Offset>> append(log::Engine& engine, LogId log, std::string text, std::int64_t ts) {
    rt::Executor& executor = co_await rt::this_executor();
    std::vector<log::AppendRequest> requests(1);
    requests[0] = {
        .log = log, .payload = Bytes::own(std::move(text)), .records = 1, .max_timestamp = ts
    };
    auto results = co_await engine.append(std::move(requests), executor.now() + 30s);
    co_return LKS_CO_TRY(std::move(results.front())).offset;
}

rt::Task<std::string> read_all(log::Engine& engine, LogId log, Offset from) {
    std::string texts;
    while (true) {
        std::vector<log::ReadRequest> requests{{.log = log, .from = from, .bytes_max = 1 << 20}};
        auto results = co_await engine.read(std::move(requests));
        if (!results.front().ok()) {
            co_return results.front().error().to_string();
        }
        const log::ReadBatch batch = *std::move(results.front());
        if (batch.entries.empty()) {
            co_return texts;
        }
        for (const log::ReadEntry& entry : batch.entries) {
            from = entry.range.end;
            texts += entry.payload.view();
        }
    }
}

/// Some objects are somebody else's.
class RefusingStore final : public objstore::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;

    rt::Task<Result<Bytes>> get(std::string name, std::optional<objstore::ByteRange> range)
        override {
        if (unreadable.contains(name)) {
            co_return unsupported("not permitted: {}", name);
        }
        co_return co_await ForwardingStore::get(std::move(name), range);
    }
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override {
        std::vector<Status> done;
        for (const std::string& name : names) {
            done.push_back(
                undeletable.contains(name) ? Status(unsupported("not permitted: {}", name))
                                           : (co_await ForwardingStore::remove({name})).front()
            );
        }
        co_return done;
    }

    std::set<std::string> unreadable;
    std::set<std::string> undeletable;
};

/// Of all objects, in order.
std::vector<std::string> names(const objstore::MemoryBucket& bucket) {
    std::vector<std::string> all;
    for (const objstore::ObjectInfo& object : bucket.list("", "", 1000)->objects) {
        all.push_back(object.name);
    }
    return all;
}

class CleanerTest : public testing::Test {
  protected:
    explicit CleanerTest(bool shared_metadata = true)
        : cluster_(1),
          pairs_(cluster_.server_clock),
          pair_store_(pairs_),
          pair_objects_(pair_store_) {
        cluster_.compacted = &source_;
        cluster_.settings.shared_metadata = shared_metadata;
        cluster_.settings.tail_cache_bytes_max = 0;
        cluster_.settings.section_cache_bytes_max = 0;
        node_ = &cluster_.add_node(1);
        wal_objects_ = std::make_unique<RefusingStore>(node_->flaky_objects);
        fencer_ = std::make_unique<Fencer>(*node_->engine);
        auto opened =
            run(catalog::MetadataCatalog::open(node_->flaky_metadata, *fencer_, node_->home()));
        catalog_ = std::move(*opened);
        settings_.unreferenced_age = 24h;
        settings_.readers_grace = 30s;
        restart_cleaner();
    }

    void TearDown() override { cleaner_->abandon(); }

    /// All it remembers is lost.
    void restart_cleaner() { restart_cleaner(node_->flaky_metadata); }

    void restart_cleaner(meta::MetadataStore& metadata) {
        if (cleaner_ != nullptr) {
            cleaner_->abandon();
            cleaner_.reset();
        }
        registry_ = std::make_unique<metrics::Registry>();
        cleaner_ = std::make_unique<Cleaner>(
            settings_,
            Cleaner::Seams{
                .executor = node_->home(),
                .engine = *node_->engine,
                .view = *node_->engine,
                .catalog = *catalog_,
                .metadata = metadata,
                .wal = *wal_objects_,
                .compacted = pair_objects_,
                .metrics = *registry_,
            }
        );
    }

    template <class T>
    T run(rt::Task<T> task) {
        return cluster_.run(node_->home(), std::move(task));
    }

    LogId create(const std::string& name, catalog::Properties properties = {}) {
        const auto stream = run(catalog_->create(
            {.name = {"default", name}, .partitions = 1, .properties = std::move(properties)}
        ));
        return stream.value()->logs.at(0);
    }

    /// One entry, in an object of its own.
    Offset write(LogId log, const std::string& text, std::int64_t timestamp = 1000) {
        return run(append(*node_->engine, log, text, timestamp)).value();
    }

    std::string read(LogId log, Offset from = Offset(0)) {
        return run(read_all(*node_->engine, log, from));
    }

    /// A pair in the bucket, and its intent; what compactors do before step 0.
    compact::Intent store_pair(const std::string& topic, LogId log, OffsetRange range) {
        const std::string name = fmt::format("ursa-{}", ++pairs_made_);
        compact::Intent intent{.range = range, .location = name + ".parquet"};
        Offset at = range.begin;
        const std::string texts = read(log, range.begin);
        for (; at < range.end; at = at + 1) {
            const auto place = static_cast<std::size_t>(at - range.begin);
            source_.files[intent.location].push_back(
                {{at, at + 1}, WallTime(), Bytes::copy(texts.substr(place, 1))}
            );
            ++intent.entries;
        }
        for (const char* const suffix : {".parquet", ".index"}) {
            const std::string full = fmt::format("default/{}/{}{}", topic, name, suffix);
            EXPECT_TRUE(pairs_.put(full, Slices(Bytes::copy("pair")), objstore::IfExists::fail).ok()
            );
        }
        return intent;
    }

    void compact(const std::string& topic, LogId log, Offset end) {
        auto state = run(compact::load_finished(node_->flaky_metadata, log)).value();
        const auto intent = store_pair(topic, log, {state.state.cursor, end});
        EXPECT_GE(run(node_->engine->checkpoint(log, {state.state.cursor, end})).value().end, end);
        state = run(compact::begin_replace(node_->flaky_metadata, log, state, intent)).value();
        EXPECT_TRUE(run(compact::finish_replace(node_->flaky_metadata, log, state)).ok());
    }

    Status pass() { return run(cleaner_->pass()); }

    /// As many as it takes for everything that is free to go.
    void clean() {
        EXPECT_TRUE(pass().ok());
        cluster_.loop.run_for(1min);
        EXPECT_TRUE(pass().ok());
    }

    std::size_t index_records(LogId log) {
        const auto all = cluster_.metadata.scan({
            .begin = index::bound_first(log),
            .end = index::bound_last(log),
            .partition_key = index::partition_key(log),
        });
        return all->size();
    }

    TestCluster cluster_;
    MemoryCompacted source_;
    objstore::MemoryBucket pairs_;
    objstore::MemoryStore pair_store_;
    RefusingStore pair_objects_;
    int pairs_made_ = 0;
    TestCluster::Node* node_ = nullptr;
    std::unique_ptr<RefusingStore> wal_objects_;
    std::unique_ptr<Fencer> fencer_;
    std::unique_ptr<catalog::MetadataCatalog> catalog_;
    CleanSettings settings_;
    std::unique_ptr<metrics::Registry> registry_;
    std::unique_ptr<Cleaner> cleaner_;
};

TEST_F(CleanerTest, what_is_compacted_goes_once_later_records_prove_that_nothing_comes) {
    const LogId log = create("events");
    for (const char* const text : {"a", "b", "c"}) {
        write(log, text);
    }
    compact("events", log, Offset(3));
    clean();
    EXPECT_EQ(cluster_.bucket.size(), 3U);  // a late record may still count
    cluster_.loop.run_for(31min);
    write(log, "d");
    EXPECT_TRUE(pass().ok());
    EXPECT_EQ(cluster_.bucket.size(), 4U);  // not in the pass that finds it
    EXPECT_TRUE(pass().ok());
    EXPECT_EQ(cluster_.bucket.size(), 4U);  // nor within the readers' grace
    cluster_.loop.run_for(31s);
    EXPECT_TRUE(pass().ok());
    EXPECT_EQ(cluster_.bucket.size(), 1U);
    EXPECT_EQ(read(log), "abcd");
    EXPECT_EQ(cleaner_->metrics().wal_objects.value(), 3U);
}

TEST_F(CleanerTest, an_idle_log_gives_its_last_objects_back_when_they_are_old) {
    const LogId log = create("events");
    write(log, "a");
    compact("events", log, Offset(1));
    cluster_.loop.run_for(23h);
    clean();
    EXPECT_EQ(cluster_.bucket.size(), 1U);
    cluster_.loop.run_for(1h);
    clean();
    EXPECT_EQ(cluster_.bucket.size(), 0U);
    EXPECT_EQ(read(log), "a");
}

/// The store is this node's alone: what it has settled is settled.
class CleanerAlone : public CleanerTest {
  protected:
    CleanerAlone() : CleanerTest(false) {}
};

TEST_F(CleanerAlone, an_object_goes_as_soon_as_nobody_refers_to_it) {
    const LogId log = create("events");
    write(log, "a");
    write(log, "b");
    compact("events", log, Offset(1));
    EXPECT_TRUE(pass().ok());  // sees them for the first time
    clean();
    EXPECT_EQ(cluster_.bucket.size(), 1U);
    EXPECT_EQ(read(log), "ab");
    compact("events", log, Offset(2));
    clean();
    EXPECT_EQ(cluster_.bucket.size(), 0U);
    EXPECT_EQ(read(log), "ab");
}

TEST_F(CleanerAlone, deletion_keeps_pace_with_any_number_of_objects) {
    settings_.objects_per_pass = 2;
    restart_cleaner();
    const LogId log = create("events");
    for (int i = 0; i < 9; ++i) {
        write(log, "a");
        cluster_.loop.run_for(1min);  // names are in the order of time
    }
    compact("events", log, Offset(8));  // the last stretch of a round sees what is needed only
    cleaner_->start();
    cluster_.loop.run_for(4 * settings_.interval);
    EXPECT_EQ(cluster_.bucket.size(), 1U);
    EXPECT_EQ(cleaner_->metrics().pinned_log.value(), log.v);
}

TEST_F(CleanerAlone, an_object_that_can_never_be_deleted_keeps_no_other) {
    const LogId log = create("events");
    for (int i = 0; i < 4; ++i) {
        write(log, "a");
    }
    store_pair("events", log, {Offset(0), Offset(1)});
    store_pair("events", log, {Offset(0), Offset(1)});
    compact("events", log, Offset(4));
    const std::string stuck = names(cluster_.bucket).front();
    const std::string stuck_pair = "default/events/ursa-1";
    wal_objects_->undeletable = {stuck};
    pair_objects_.undeletable = {stuck_pair + ".parquet"};
    cleaner_->start();
    cluster_.loop.run_for(4 * settings_.interval);
    EXPECT_EQ(names(cluster_.bucket), std::vector{stuck});
    EXPECT_EQ(pairs_.size(), 4U);  // it, its index, and the one that is needed
    EXPECT_TRUE(pairs_.head(stuck_pair + ".index").ok());
    EXPECT_EQ(cleaner_->metrics().wal_objects.value(), 3U);
    EXPECT_GT(cleaner_->metrics().failures.value(), 0U);
    wal_objects_->undeletable.clear();
    pair_objects_.undeletable.clear();
    cluster_.loop.run_for(2 * settings_.interval);
    EXPECT_EQ(cluster_.bucket.size(), 0U);
    EXPECT_EQ(pairs_.size(), 2U);
}

TEST_F(CleanerAlone, an_object_that_can_never_be_read_keeps_no_other) {
    const LogId log = create("events");
    for (int i = 0; i < 4; ++i) {
        write(log, "a");
    }
    compact("events", log, Offset(4));
    const std::string stuck = names(cluster_.bucket).at(2);
    wal_objects_->unreadable = {stuck};
    cleaner_->start();
    cluster_.loop.run_for(8 * settings_.interval);
    EXPECT_EQ(names(cluster_.bucket), std::vector{stuck});
    wal_objects_->unreadable.clear();
    cluster_.loop.run_for(4 * settings_.interval);
    EXPECT_EQ(cluster_.bucket.size(), 0U);
}

TEST_F(CleanerTest, pairs_go_in_stretches_and_none_is_torn) {
    settings_.objects_per_pass = 3;
    restart_cleaner();
    for (const char* const topic : {"events", "other"}) {
        const LogId log = create(topic);
        write(log, "a");
        for (int i = 0; i < 3; ++i) {
            store_pair(topic, log, {Offset(0), Offset(1)});
        }
        compact(topic, log, Offset(1));
    }
    ASSERT_EQ(pairs_.size(), 16U);
    EXPECT_TRUE(pass().ok());
    EXPECT_EQ(cleaner_->metrics().waiting.value(), 4);  // the stretch that was looked at
    for (int i = 0; i < 8; ++i) {
        cluster_.loop.run_for(10s);
        EXPECT_TRUE(pass().ok());
        for (const std::string& name : names(pairs_)) {
            const std::string stem = name.substr(0, name.rfind('.'));
            EXPECT_TRUE(pairs_.head(stem + ".index").ok()) << name;
        }
    }
    cleaner_->start();
    cluster_.loop.run_for(4 * settings_.interval);
    EXPECT_EQ(
        names(pairs_),
        (std::vector<std::string>{
            "default/events/ursa-4.index",
            "default/events/ursa-4.parquet",
            "default/other/ursa-8.index",
            "default/other/ursa-8.parquet"
        })
    );
}

TEST_F(CleanerAlone, an_object_that_waits_to_be_published_stays) {
    const LogId log = create("events");
    write(log, "a");
    compact("events", log, Offset(1));
    node_->flaky_metadata.refusing = unavailable("no connection");
    auto waiting = rt::submit(node_->home(), append(*node_->engine, log, "b", 1000));
    cluster_.loop.run_for(1s);
    ASSERT_EQ(cluster_.bucket.size(), 2U);
    restart_cleaner(node_->client);  // its own way there works
    EXPECT_TRUE(pass().ok());
    clean();
    EXPECT_EQ(cluster_.bucket.size(), 2U);
    node_->flaky_metadata.refusing.reset();
    cluster_.loop.run_for(10s);
    EXPECT_TRUE(pass().ok());  // sees them for the first time
    clean();
    EXPECT_EQ(cluster_.bucket.size(), 1U);
    EXPECT_EQ(read(log), "ab");
}

TEST_F(CleanerTest, a_log_that_is_not_compacted_keeps_its_own_objects_only) {
    const LogId paused = create("paused");
    const LogId log = create("events");
    write(paused, "p");
    write(log, "a");
    compact("events", log, Offset(1));
    cluster_.loop.run_for(25h);
    clean();
    EXPECT_EQ(cluster_.bucket.size(), 1U);
    EXPECT_EQ(cleaner_->metrics().pinned_log.value(), paused.v);
    EXPECT_GT(cleaner_->metrics().pinned_bytes.value(), 0);
    EXPECT_EQ(read(paused), "p");
    EXPECT_EQ(read(log), "a");
}

TEST_F(CleanerTest, what_was_stored_and_never_published_goes_when_it_is_old) {
    const LogId log = create("events");
    write(log, "a");
    wal::ObjectBuilder builder;
    builder.add(log, Bytes::copy("x"), 1);
    const std::string orphan = wal::make_object_name(cluster_.server_clock.wall_now(), {});
    ASSERT_TRUE(cluster_.bucket.put(orphan, builder.finish().body, objstore::IfExists::fail).ok());
    ASSERT_TRUE(
        cluster_.bucket.put("notes.txt", Slices(Bytes::copy("x")), objstore::IfExists::fail).ok()
    );
    clean();
    EXPECT_TRUE(cluster_.bucket.head(orphan).ok());
    cluster_.loop.run_for(25h);
    clean();
    EXPECT_FALSE(cluster_.bucket.head(orphan).ok());
    EXPECT_TRUE(cluster_.bucket.head("notes.txt").ok());
    EXPECT_EQ(read(log), "a");
}

TEST_F(CleanerTest, a_log_trimmed_to_its_end_keeps_its_last_record_and_no_object) {
    const LogId log = create("events");
    for (const char* const text : {"a", "b", "c"}) {
        write(log, text);
    }
    ASSERT_TRUE(run(node_->engine->trim(log, std::nullopt)).ok());
    cluster_.loop.run_for(25h);
    clean();
    EXPECT_EQ(cluster_.bucket.size(), 0U);
    EXPECT_EQ(index_records(log), 1U);
    EXPECT_EQ(write(log, "d"), Offset(3));
    EXPECT_EQ(read(log, Offset(3)), "d");
    clean();
    EXPECT_EQ(index_records(log), 1U);  // now the one before goes
    cluster_.stop(*node_);
    node_ = &cluster_.add_node(1);
    EXPECT_EQ(read(log, Offset(3)), "d");
    EXPECT_NE(read(log).find("out_of_range"), std::string::npos);
}

TEST_F(CleanerTest, a_start_between_records_keeps_what_ends_behind_it) {
    const LogId log = create("events");
    for (const char* const text : {"a", "b", "c", "d"}) {
        write(log, text);
    }
    compact("events", log, Offset(3));
    ASSERT_TRUE(run(node_->engine->trim(log, Offset(2))).ok());
    cluster_.loop.run_for(25h);
    clean();
    EXPECT_EQ(index_records(log), 2U);
    EXPECT_EQ(pairs_.size(), 2U);
    EXPECT_EQ(read(log, Offset(2)), "cd");
    ASSERT_TRUE(run(node_->engine->trim(log, Offset(3))).ok());
    clean();
    EXPECT_EQ(index_records(log), 1U);
    EXPECT_EQ(pairs_.size(), 0U);
    EXPECT_EQ(read(log, Offset(3)), "d");
}

TEST_F(CleanerTest, compaction_goes_on_behind_what_was_trimmed) {
    const LogId log = create("events");
    for (const char* const text : {"a", "b", "c", "d"}) {
        write(log, text);
    }
    ASSERT_TRUE(run(node_->engine->trim(log, Offset(2))).ok());
    clean();
    EXPECT_EQ(index_records(log), 2U);
    const auto state = run(compact::load_finished(node_->flaky_metadata, log)).value();
    EXPECT_EQ(state.state.cursor, Offset(2));
    source_.files.clear();
    compact("events", log, Offset(4));
    EXPECT_EQ(read(log, Offset(2)), "cd");
}

TEST_F(CleanerTest, an_intent_is_finished_before_its_records_go) {
    const LogId log = create("events");
    for (const char* const text : {"a", "b", "c"}) {
        write(log, text);
    }
    const auto intent = store_pair("events", log, {Offset(0), Offset(2)});
    ASSERT_TRUE(run(node_->engine->checkpoint(log, intent.range)).ok());
    const auto state = run(compact::begin_replace(node_->flaky_metadata, log, {}, intent)).value();
    ASSERT_TRUE(run(node_->engine->trim(log, Offset(2))).ok());
    EXPECT_EQ(run(hard_trim(node_->flaky_metadata, *node_->engine, log))->records, 1U);
    EXPECT_EQ(index_records(log), 1U);
    // The compactor that slept goes on: nothing of it is left to do.
    const Status finished = run(compact::finish_replace(node_->flaky_metadata, log, state));
    EXPECT_TRUE(finished.is(ErrorCode::conflict)) << finished.error().to_string();
    EXPECT_EQ(read(log, Offset(2)), "c");
}

TEST_F(CleanerTest, a_hard_trim_that_is_killed_at_any_step_is_finished_by_the_next) {
    const LogId log = create("events");
    std::string texts;
    for (int life = 0; life < 6; ++life) {
        SCOPED_TRACE(life);
        for (const char text : std::string("abc")) {
            write(log, std::string(1, text));
            texts += text;
        }
        const auto end = static_cast<std::int64_t>(texts.size());
        // An intent stands: four writes and two of the trim's own follow.
        const auto found = run(compact::load_finished(node_->flaky_metadata, log)).value();
        const auto intent = store_pair("events", log, {found.state.cursor, Offset(end - 1)});
        ASSERT_TRUE(run(node_->engine->checkpoint(log, intent.range)).ok());
        ASSERT_TRUE(run(compact::begin_replace(node_->flaky_metadata, log, found, intent)).ok());
        ASSERT_TRUE(run(node_->engine->trim(log, Offset(end - 1))).ok());
        meta::testing::DyingStore dying(node_->flaky_metadata, life);
        static_cast<void>(run(hard_trim(dying, *node_->engine, log)).ok());
        EXPECT_EQ(read(log, Offset(end - 1)), "c");
        ASSERT_TRUE(run(hard_trim(node_->flaky_metadata, *node_->engine, log)).ok());
        EXPECT_EQ(index_records(log), 1U);
        EXPECT_EQ(read(log, Offset(end - 1)), "c");
    }
}

TEST_F(CleanerTest, pairs_that_nobody_names_go_and_their_compactor_is_stopped) {
    const LogId log = create("events");
    write(log, "a");
    const auto paused = run(compact::load_state(node_->flaky_metadata, log)).value();
    const auto intent = store_pair("events", log, {Offset(0), Offset(1)});
    ASSERT_TRUE(run(node_->engine->checkpoint(log, intent.range)).ok());
    clean();
    EXPECT_EQ(pairs_.size(), 0U);
    EXPECT_TRUE(run(compact::begin_replace(node_->flaky_metadata, log, paused, intent))
                    .is(ErrorCode::conflict));
    compact("events", log, Offset(1));
    clean();
    EXPECT_EQ(pairs_.size(), 2U);
    EXPECT_EQ(read(log), "a");
}

TEST_F(CleanerTest, a_pair_whose_intent_stands_stays) {
    const LogId log = create("events");
    write(log, "a");
    const auto intent = store_pair("events", log, {Offset(0), Offset(1)});
    ASSERT_TRUE(run(node_->engine->checkpoint(log, intent.range)).ok());
    ASSERT_TRUE(run(compact::begin_replace(node_->flaky_metadata, log, {}, intent)).ok());
    clean();
    EXPECT_EQ(pairs_.size(), 2U);
}

TEST_F(CleanerTest, a_topic_made_again_under_a_name_shows_and_loses_nothing_of_another) {
    const LogId old = create("events");
    write(old, "a");
    write(old, "b");
    compact("events", old, Offset(1));
    ASSERT_TRUE(run(catalog_->drop({"default", "events"}, std::nullopt)).ok());
    const LogId log = create("events");
    write(log, "c");
    write(log, "d");
    compact("events", log, Offset(1));
    cluster_.loop.run_for(31min);
    clean();
    EXPECT_EQ(pairs_.size(), 2U);
    EXPECT_EQ(cluster_.bucket.size(), 2U);
    EXPECT_EQ(read(log), "cd");
    EXPECT_NE(read(old).find("deleted"), std::string::npos);
    ASSERT_TRUE(run(catalog_->drop({"default", "events"}, std::nullopt)).ok());
    clean();
    EXPECT_EQ(pairs_.size(), 0U);
    EXPECT_EQ(cluster_.bucket.size(), 0U);
}

TEST_F(CleanerTest, a_cleaner_that_begins_anew_waits_again_and_does_the_same) {
    const LogId log = create("events");
    write(log, "a");
    write(log, "b");
    compact("events", log, Offset(2));
    cluster_.loop.run_for(25h);
    EXPECT_TRUE(pass().ok());
    restart_cleaner();
    cluster_.loop.run_for(1min);
    EXPECT_TRUE(pass().ok());
    EXPECT_EQ(cluster_.bucket.size(), 2U);
    cluster_.loop.run_for(1min);
    EXPECT_TRUE(pass().ok());
    EXPECT_EQ(cluster_.bucket.size(), 0U);
    EXPECT_EQ(read(log), "ab");
}

TEST_F(CleanerTest, retention_trims_whole_records_and_leaves_other_topics_alone) {
    const LogId log = create("short", {{"retention.ms", "60000"}});
    const LogId sized = create("sized", {{"retention.bytes", "2"}});
    const LogId kept = create("kept", {{"retention.ms", "-1"}});
    const std::int64_t now = to_ms(node_->home().clock().wall_now());
    write(log, "a", now - 61'000);
    write(log, "b", now + 3'600'000);  // in the future: it keeps what follows
    write(log, "c", now - 61'000);
    for (const char* const text : {"d", "e", "f", "g"}) {
        write(sized, text, now);
    }
    write(kept, "h", 1000);
    const auto writes = node_->flaky_metadata.writes;
    ASSERT_TRUE(run(cleaner_->apply_retention()).ok());
    EXPECT_GT(node_->flaky_metadata.writes, writes);
    EXPECT_EQ(read(log, Offset(1)), "bc");
    EXPECT_NE(read(log).find("out_of_range"), std::string::npos);
    EXPECT_EQ(read(sized, Offset(2)), "fg");
    EXPECT_NE(read(sized, Offset(1)).find("out_of_range"), std::string::npos);
    EXPECT_EQ(read(kept), "h");
    const auto settled = node_->flaky_metadata.writes;
    ASSERT_TRUE(run(cleaner_->apply_retention()).ok());
    EXPECT_EQ(node_->flaky_metadata.writes, settled);
}

TEST_F(CleanerTest, when_all_is_done_it_sends_nothing) {
    const LogId log = create("events");
    write(log, "a");
    compact("events", log, Offset(1));
    cleaner_->start();
    cluster_.loop.run_for(26h);
    EXPECT_EQ(cluster_.bucket.size(), 0U);
    const auto writes = node_->flaky_metadata.writes;
    const auto passes = cleaner_->metrics().passes.value();
    cluster_.loop.run_for(2h);
    EXPECT_EQ(node_->flaky_metadata.writes, writes);
    EXPECT_EQ(cleaner_->metrics().passes.value(), passes);
    write(log, "b");
    cluster_.loop.run_for(10min);
    EXPECT_GT(cleaner_->metrics().passes.value(), passes);
}

}  // namespace
}  // namespace lakestream::clean
