// SPDX-License-Identifier: Apache-2.0
// The public API as a program sees it: through its headers and the shared library only.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "lakestream/engine.h"

namespace lakestream {
namespace {

using namespace std::chrono_literals;

/// A folder of the test's own, gone afterwards.
class Folder {
  public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "lakestream-api-XXXXXX";
        path_ = ::mkdtemp(name.data());
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }

    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

EngineOptions options_in(const std::string& folder) {
    return {
        .data_dir = folder,
        .settings = {{"table.commit_interval", "100ms"}, {"log.damage_patience", "100ms"}}
    };
}

Record record(std::string_view key, std::string_view value) {
    return {.key = Bytes::copy(key), .value = Bytes::copy(value), .headers = {}, .timestamp = {}};
}

std::vector<Record> some_records(std::string_view name, int count) {
    std::vector<Record> records;
    for (int i = 0; i < count; ++i) {
        records.push_back(record(name, std::to_string(i)));
    }
    return records;
}

template <class T>
std::string message_of(const Result<T>& result) {
    return result.ok() ? "no error" : result.error().to_string();
}

template <class T>
::testing::AssertionResult fails(const Result<T>& result, ErrorCode code, std::string_view text) {
    const bool as_expected =
        result.is(code) && result.error().message.find(text) != std::string::npos;
    return (as_expected ? ::testing::AssertionSuccess() : ::testing::AssertionFailure())
           << message_of(result);
}

class ApiTest : public ::testing::Test {
  protected:
    void SetUp() override { open(); }

    void open() {
        engine_.reset();
        auto opened = Engine::open(options_in(folder_.path()));
        ASSERT_TRUE(opened.ok()) << message_of(opened);
        engine_.emplace(std::move(*opened));
    }

    Engine& engine() { return *engine_; }
    StreamCatalog catalog() { return engine().catalog(); }

    Log make_log(const std::string& name, Properties properties = {}) {
        const auto made =
            catalog()
                .create({.name = {name}, .logs = 1, .properties = std::move(properties)})
                .get();
        EXPECT_TRUE(made.ok()) << message_of(made);
        return *catalog().open_log({name}).get();
    }

    Folder folder_;
    std::optional<Engine> engine_;
};

TEST_F(ApiTest, StreamsAreMadeListedDescribedAndDropped) {
    const auto made =
        catalog().create({.name = {"b"}, .logs = 3, .properties = {{"retention.ms", "1000"}}}
        ).get();
    ASSERT_TRUE(made.ok()) << message_of(made);
    EXPECT_EQ(made->logs.size(), 3U);
    ASSERT_TRUE(catalog().create({.name = {"a"}}).get().ok());
    ASSERT_TRUE(catalog().create({.name = {"a", "other"}}).get().ok());

    const auto listed = catalog().list().get();
    ASSERT_TRUE(listed.ok());
    ASSERT_EQ(listed->size(), 2U);
    EXPECT_EQ(listed->at(0).name, StreamName{"a"});
    EXPECT_EQ(listed->at(1).id, made->id);
    EXPECT_EQ(listed->at(1).properties, made->properties);
    EXPECT_EQ(catalog().list("other").get()->size(), 1U);
    EXPECT_TRUE(catalog().list("nowhere").get()->empty());

    ASSERT_TRUE(catalog().drop({"b"}).get().ok());
    EXPECT_TRUE(fails(catalog().describe({"b"}).get(), ErrorCode::not_found, "b"));
    EXPECT_TRUE(fails(catalog().drop({"b"}).get(), ErrorCode::not_found, "b"));
    const auto again = catalog().create({.name = {"b"}}).get();
    ASSERT_TRUE(again.ok());
    EXPECT_NE(again->id, made->id);
}

TEST_F(ApiTest, WrongStreamsAreRefused) {
    ASSERT_TRUE(catalog().create({.name = {"a"}, .logs = 2}).get().ok());
    EXPECT_TRUE(
        fails(catalog().create({.name = {"a"}}).get(), ErrorCode::already_exists, "default/a")
    );
    EXPECT_TRUE(fails(
        catalog().create({.name = {"no/slash"}}).get(), ErrorCode::invalid_argument, "no/slash"
    ));
    EXPECT_TRUE(fails(
        catalog().create({.name = {"x"}, .logs = 0}).get(),
        ErrorCode::invalid_argument,
        "partitions"
    ));
    EXPECT_TRUE(fails(
        catalog().create({.name = {"x"}, .properties = {{"lakestream.table", "maybe"}}}).get(),
        ErrorCode::invalid_argument,
        "true or false"
    ));
    EXPECT_TRUE(
        fails(catalog().open_log({"a"}, 2).get(), ErrorCode::invalid_argument, "partitions 0 to 1")
    );
    EXPECT_TRUE(fails(catalog().open_log({"nothing"}).get(), ErrorCode::not_found, "nothing"));
}

TEST_F(ApiTest, RecordsComeBackAsTheyWere) {
    Log log = make_log("a");
    std::vector<Record> records{
        {.key = Bytes::copy("k"),
         .value = Bytes::copy("v"),
         .headers = {{"one", Bytes::copy("1")}, {"none", std::nullopt}},
         .timestamp = Timestamp(1'700'000'000'000ms)},
        {.key = std::nullopt,
         .value = Bytes::copy(""),
         .headers = {},
         .timestamp = Timestamp(1'700'000'000'001ms)},
        {.key = Bytes::copy(""),
         .value = std::nullopt,
         .headers = {},
         .timestamp = Timestamp(1'700'000'000'002ms)},
    };
    for (const Compression codec :
         {Compression::none,
          Compression::gzip,
          Compression::snappy,
          Compression::lz4,
          Compression::zstd}) {
        const auto appended = log.append(records, {.compression = codec}).get();
        ASSERT_TRUE(appended.ok()) << message_of(appended);
        EXPECT_EQ(appended->range.count(), 3);
        const auto read = log.read_records(appended->range.begin).get();
        ASSERT_TRUE(read.ok()) << message_of(read);
        ASSERT_EQ(read->size(), 3U);
        for (std::size_t i = 0; i < records.size(); ++i) {
            EXPECT_EQ(read->at(i).offset, appended->range.begin + static_cast<std::int64_t>(i));
            EXPECT_EQ(read->at(i).record, records[i]);
        }
    }
    EXPECT_EQ(*log.bounds().get(), (LogBounds{Offset(0), Offset(15)}));
}

TEST_F(ApiTest, ALogStartsWhereItWasTrimmed) {
    Log log = make_log("a");
    ASSERT_TRUE(log.append(some_records("x", 3)).get().ok());
    EXPECT_EQ(*log.trim(Offset(2)).get(), Offset(2));
    EXPECT_EQ(*log.bounds().get(), (LogBounds{Offset(2), Offset(3)}));
    EXPECT_EQ(log.read_records(Offset(2)).get()->size(), 1U);
    EXPECT_EQ(log.read(Offset(1)).get().error().code, ErrorCode::out_of_range);
    EXPECT_EQ(*log.trim(Offset(1)).get(), Offset(2));  // never earlier again
    EXPECT_EQ(log.trim(Offset(4)).get().error().code, ErrorCode::out_of_range);
}

TEST_F(ApiTest, CallsOfOneThreadKeepTheirOrder) {
    Log log = make_log("a");
    std::vector<Future<Appended>> appends;
    for (int i = 0; i < 50; ++i) {
        appends.push_back(log.append(some_records(std::to_string(i), 2)));
    }
    std::int64_t next = 0;
    for (Future<Appended>& append : appends) {
        const auto appended = append.get();
        ASSERT_TRUE(appended.ok()) << message_of(appended);
        EXPECT_EQ(appended->range, (OffsetRange{Offset(next), Offset(next + 2)}));
        next += 2;
    }
}

TEST_F(ApiTest, ReadsKeepTheirLimits) {
    Log log = make_log("a");
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(log.append(some_records("k", 10)).get().ok());
    }
    const auto some = log.read(Offset(5), {.records_max = 25}).get();
    ASSERT_TRUE(some.ok()) << message_of(some);
    ASSERT_EQ(some->entries.size(), 2U);
    EXPECT_EQ(some->entries[0].range.begin, Offset(0));
    EXPECT_EQ(some->next, Offset(20));
    EXPECT_EQ(some->bounds.high_watermark, Offset(40));
    // One entry at least, however small the limit.
    EXPECT_EQ(log.read(Offset(20), {.records_max = 1, .bytes_max = 1}).get()->next, Offset(30));
    EXPECT_EQ(log.read_records(Offset(35), {.records_max = 1}).get()->size(), 5U);

    const auto end = log.read(Offset(40)).get();
    ASSERT_TRUE(end.ok()) << message_of(end);
    EXPECT_TRUE(end->entries.empty());
    EXPECT_EQ(end->next, Offset(40));
    EXPECT_TRUE(fails(log.read(Offset(41)).get(), ErrorCode::out_of_range, "41"));
    EXPECT_TRUE(
        fails(log.read(Offset(0), {.records_max = 0}).get(), ErrorCode::invalid_argument, "0")
    );
}

TEST_F(ApiTest, RecordsAreFoundByTime) {
    Log log = make_log("a");
    EXPECT_FALSE(log.find_time(Timestamp(0ms)).get()->has_value());
    std::vector<Record> records = some_records("k", 5);
    for (std::size_t i = 0; i < records.size(); ++i) {
        records[i].timestamp = Timestamp(std::chrono::seconds(1000 + i));
    }
    ASSERT_TRUE(log.append(records).get().ok());
    const auto found = log.find_time(Timestamp(1'001'500ms)).get();
    ASSERT_TRUE(found.ok() && found->has_value()) << message_of(found);
    EXPECT_EQ((*found)->offset, Offset(2));
    EXPECT_EQ((*found)->timestamp, Timestamp(1002s));
    EXPECT_FALSE(log.find_time(Timestamp(2000s)).get()->has_value());
}

TEST_F(ApiTest, WaitsForAppends) {
    Log log = make_log("a");
    EXPECT_EQ(*log.wait_append(Offset(0), 20ms).get(), Waited::timed_out);
    auto waiting = log.wait_append(Offset(0), 1min);
    EXPECT_TRUE(fails(waiting.get(1ms), ErrorCode::outcome_unknown, "ask again"));
    ASSERT_TRUE(log.append(some_records("k", 1)).get().ok());
    EXPECT_EQ(*waiting.get(), Waited::appended);
}

TEST_F(ApiTest, WrongEntriesAreRefused) {
    Log log = make_log("a", {{"max.message.bytes", "1000"}});
    const std::vector<Record> large{record("k", std::string(1000, 'x'))};
    EXPECT_TRUE(
        fails(log.append(large).get(), ErrorCode::invalid_argument, "max.message.bytes is 1000")
    );
    EXPECT_TRUE(fails(log.append({}).get(), ErrorCode::invalid_argument, "at least one record"));
    EXPECT_TRUE(
        fails(log.append_entry(1, Bytes::copy("no batch")).get(), ErrorCode::invalid_argument, "")
    );
    const Bytes batch = *make_batch(some_records("k", 2));
    EXPECT_TRUE(fails(log.append_entry(3, batch).get(), ErrorCode::invalid_argument, "2 records"));
    std::vector<std::byte> damaged(batch.begin(), batch.end());
    damaged.back() ^= std::byte{1};
    EXPECT_TRUE(
        fails(log.append_entry(2, Bytes::own(damaged)).get(), ErrorCode::invalid_argument, "")
    );
    EXPECT_TRUE(fails(
        log.append(some_records("k", 1), {.timeout = 0ms}).get(), ErrorCode::invalid_argument, "ms"
    ));
    ASSERT_TRUE(log.append_entry(2, batch).get().ok());
    EXPECT_EQ(log.bounds().get()->high_watermark, Offset(2));
}

TEST_F(ApiTest, ADroppedStreamTakesNoMore) {
    Log log = make_log("a");
    ASSERT_TRUE(log.append(some_records("k", 1)).get().ok());
    ASSERT_TRUE(catalog().drop({"a"}).get().ok());
    EXPECT_TRUE(fails(log.append(some_records("k", 1)).get(), ErrorCode::fenced, ""));
    EXPECT_TRUE(fails(log.read(Offset(0)).get(), ErrorCode::not_found, ""));
}

TEST_F(ApiTest, TheTableHasWhatWasAppended) {
    Log log = make_log("a", {{"lakestream.table", "true"}});
    Table table = catalog().table({"a"});
    EXPECT_TRUE(fails(catalog().table({"nothing"}).scan().get(), ErrorCode::not_found, ""));
    const std::vector<Record> records{
        {.key = Bytes::copy("k"),
         .value = std::nullopt,
         .headers = {{"h", Bytes::copy("x")}},
         .timestamp = Timestamp(5ms)},
        {.key = std::nullopt, .value = Bytes::copy("v"), .headers = {}, .timestamp = Timestamp(7ms)
        },
    };
    for (std::int64_t i = 1; i <= 2; ++i) {  // so that there are two files
        ASSERT_TRUE(log.append(records).get().ok());
        const auto waited = table.wait_for({{log.id(), Offset(2 * i)}}, 1min).get();
        ASSERT_TRUE(waited.ok()) << message_of(waited);
    }
    EXPECT_EQ(table.positions().get()->at(log.id()), Offset(4));
    EXPECT_TRUE(fails(
        table.wait_for({{log.id(), Offset(5)}}, 10ms).get(),
        ErrorCode::deadline_exceeded,
        table.location()
    ));
    EXPECT_TRUE(std::filesystem::exists(table.location() + "/metadata/version-hint.text"));

    auto scan = table.scan().get();
    ASSERT_TRUE(scan.ok()) << message_of(scan);
    std::vector<TableRow> rows;
    while (true) {
        const auto some = scan->next(1).get();
        ASSERT_TRUE(some.ok()) << message_of(some);
        if (some->empty()) {
            break;
        }
        rows.insert(rows.end(), some->begin(), some->end());
    }
    ASSERT_EQ(rows.size(), 4U);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].partition, 0);
        EXPECT_EQ(rows[i].stored.offset, Offset(static_cast<std::int64_t>(i)));
        EXPECT_EQ(rows[i].stored.record, records[i % 2]);
    }
    EXPECT_TRUE(scan->next().get()->empty());
}

TEST_F(ApiTest, WhatWasAppendedIsThereAfterReopening) {
    make_log("a");
    ASSERT_TRUE(catalog().open_log({"a"}).get()->append(some_records("k", 3)).get().ok());
    open();
    Log log = *catalog().open_log({"a"}).get();
    EXPECT_EQ(log.bounds().get()->high_watermark, Offset(3));
    EXPECT_EQ(log.read_records(Offset(0)).get()->at(2).record.value, Bytes::copy("2"));
}

TEST_F(ApiTest, CallbacksGetAnswersAndMayNotWait) {
    Log log = make_log("a");
    std::promise<Result<Appended>> answered;
    std::promise<Result<LogBounds>> refused;
    std::promise<Status> not_closed;
    std::promise<Result<LogBounds>> chained;
    log.append(some_records("k", 1)).then([&](Result<Appended> appended) {
        refused.set_value(log.bounds().get());
        not_closed.set_value(engine().close());
        log.bounds().then([&](Result<LogBounds> bounds) { chained.set_value(std::move(bounds)); });
        answered.set_value(std::move(appended));
    });
    EXPECT_EQ(answered.get_future().get()->range.begin, Offset(0));
    EXPECT_TRUE(fails(refused.get_future().get(), ErrorCode::invalid_argument, "must not wait"));
    EXPECT_TRUE(fails(not_closed.get_future().get(), ErrorCode::invalid_argument, "must not close")
    );
    EXPECT_EQ(chained.get_future().get()->high_watermark, Offset(1));

    auto future = log.bounds();
    EXPECT_TRUE(future.get().ok());
    EXPECT_TRUE(fails(future.get(), ErrorCode::invalid_argument, "taken before"));
}

TEST_F(ApiTest, AClosedEngineSaysSo) {
    Log log = make_log("a", {{"lakestream.table", "true"}});
    StreamCatalog streams = catalog();
    Table table = streams.table({"a"});
    auto waiting = log.wait_append(Offset(0), 10min);
    auto hoping = table.wait_for({{log.id(), Offset(1)}}, 10min);
    ASSERT_TRUE(engine().close().ok());
    ASSERT_TRUE(engine().close().ok());
    EXPECT_TRUE(fails(waiting.get(), ErrorCode::cancelled, "closed"));
    EXPECT_TRUE(fails(hoping.get(), ErrorCode::cancelled, "closed"));
    EXPECT_TRUE(fails(log.append(some_records("k", 1)).get(), ErrorCode::cancelled, "closed"));
    EXPECT_TRUE(fails(log.read(Offset(0)).get(), ErrorCode::cancelled, "closed"));
    EXPECT_TRUE(fails(streams.list().get(), ErrorCode::cancelled, "closed"));
    EXPECT_TRUE(fails(table.scan().get(), ErrorCode::cancelled, "closed"));
    engine_.reset();
    EXPECT_TRUE(fails(log.bounds().get(), ErrorCode::cancelled, "closed"));
}

TEST_F(ApiTest, OneEngineHasAFolder) {
    const auto second = Engine::open(options_in(folder_.path()));
    EXPECT_TRUE(fails(second, ErrorCode::already_exists, std::to_string(::getpid())));
}

TEST(EngineOpen, AnotherProcessIsRefused) {
    const Folder folder;
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto engine = Engine::open(options_in(folder.path()));
        const char said = engine.ok() ? 'y' : 'n';
        const bool written = ::write(ready[1], &said, 1) == 1;
        ::pause();
        ::_exit(written ? 0 : 1);
    }
    char said = 0;
    ASSERT_EQ(::read(ready[0], &said, 1), 1);
    ASSERT_EQ(said, 'y');
    EXPECT_TRUE(fails(
        Engine::open(options_in(folder.path())), ErrorCode::already_exists, std::to_string(child)
    ));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(Engine::open(options_in(folder.path())).ok());
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST(EngineOpen, WrongOptionsAreRefused) {
    const Folder folder;
    EXPECT_TRUE(fails(Engine::open({}), ErrorCode::invalid_argument, "data_dir"));
    EXPECT_TRUE(fails(
        Engine::open({.data_dir = folder.path(), .storage = "file:///x"}),
        ErrorCode::invalid_argument,
        "either"
    ));
    EXPECT_TRUE(
        fails(Engine::open({.storage = "file:///x"}), ErrorCode::invalid_argument, "metadata")
    );
    EXPECT_TRUE(fails(
        Engine::open({.storage = "tape://x", .metadata = "embedded:///x"}),
        ErrorCode::invalid_argument,
        "tape"
    ));
    EXPECT_TRUE(fails(
        Engine::open({.data_dir = folder.path(), .settings = {{"table.comit_interval", "1s"}}}),
        ErrorCode::invalid_argument,
        "table.commit_interval"
    ));
    EXPECT_TRUE(fails(
        Engine::open({.data_dir = folder.path(), .settings = {{"table.commit_interval", "soon"}}}),
        ErrorCode::invalid_argument,
        "table.commit_interval"
    ));
    const std::string file = folder.path() + "/file";
    std::ofstream(file) << "not a folder";
    EXPECT_TRUE(fails(Engine::open({.data_dir = file}), ErrorCode::unsupported, file));
}

TEST(EngineOpen, TheBrokerRoleServesKafka) {
    const Folder folder;
    EngineOptions options = options_in(folder.path());
    options.roles = {Role::broker};
    options.settings["kafka.listen"] = "127.0.0.1:0";
    const auto engine = Engine::open(options);
    ASSERT_TRUE(engine.ok()) << message_of(engine);
    ASSERT_TRUE(engine->kafka_address().has_value());
    EXPECT_NE(*engine->kafka_address(), "127.0.0.1:0");
    EXPECT_FALSE(Engine::open(options_in(folder.path() + "/other"))->kafka_address().has_value());
}

TEST(Batches, OthersBytesAreErrors) {
    EXPECT_TRUE(fails(read_batch(Bytes::copy("short"), Offset(0)), ErrorCode::corrupt, ""));
    const Bytes batch = *make_batch(some_records("k", 2));
    EXPECT_TRUE(
        fails(read_batch(batch.slice(0, batch.size() - 1), Offset(0)), ErrorCode::corrupt, "")
    );
    EXPECT_TRUE(read_batch(Bytes(), Offset(0))->empty());
    EXPECT_EQ(read_batch(batch, Offset(7))->at(1).offset, Offset(8));
}

}  // namespace
}  // namespace lakestream
