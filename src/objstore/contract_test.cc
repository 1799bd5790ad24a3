// SPDX-License-Identifier: Apache-2.0
// What ObjectStore promises, asked of every store and of every decorator.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "objstore/budget_store.h"
#include "objstore/cache_store.h"
#include "objstore/local/local_store.h"
#include "objstore/memory_store.h"
#include "objstore/metrics_store.h"
#include "objstore/retry_store.h"
#include "objstore/testing/faulty_store.h"
#include "objstore/testing/temp_folder.h"
#include "rt/sim/testing.h"

namespace lakestream::objstore {
namespace {

/// A store and all that it stands on.
struct World {
    rt::SimTest sim;
    rt::SimOffloader offloader{sim.executor, 2ms};
    TempFolder folder;
    MemoryBucket bucket{sim.clock};
    rt::MemoryAccount account{"cache", 1 << 20};
    metrics::Registry registry;
    std::vector<std::unique_ptr<ObjectStore>> stores;  // each on the one before

    ObjectStore& top() { return *stores.back(); }

    template <class Store, class... Args>
    void put_on_top(Args&&... args) {
        ObjectStore& inner = top();
        stores.push_back(std::make_unique<Store>(inner, std::forward<Args>(args)...));
    }

    ~World() {
        while (!stores.empty()) {
            stores.pop_back();
        }
    }
};

void memory(World& world) {
    world.stores.push_back(std::make_unique<MemoryStore>(world.bucket));
}

void local(World& world) {
    auto store = LocalStore::open(
        world.folder.path(),
        {.gets = world.offloader, .others = world.offloader},
        world.sim.clock,
        1
    );
    ASSERT_TRUE(store.ok()) << store.error().to_string();
    world.stores.push_back(std::move(*store));
}

void cached(World& world) {
    memory(world);
    world.put_on_top<CacheStore>(world.account);
}

void decorated(World& world) {
    local(world);
    BudgetOptions budget{.concurrent_max = 2};
    budget.rates[Operation::put] = {.per_second = 100, .burst = 3};
    world.put_on_top<BudgetStore>(budget);
    world.put_on_top<RetryStore>(RetryOptions());
    world.put_on_top<MetricsStore>(world.registry, "contract");
    world.put_on_top<CacheStore>(world.account);
}

/// Faults that a retry hides.
void retried(World& world) {
    memory(world);
    FaultRates rates{
        .fail_before = {1, 5}, .throttle = {1, 50}, .short_body = {1, 10}, .slow = {1, 20}
    };
    FaultOptions options;
    options.slow_max = 2s;
    options.throttle_burst = 500ms;
    options.rules.push_back({.prefix = "", .rates = {{rates, rates, rates, rates, rates}}});
    world.put_on_top<FaultyStore>(world.sim.executor, options, 7);
    world.put_on_top<RetryStore>(RetryOptions{.patience = 1h, .attempts_max = 100});
}

struct Variant {
    const char* name;
    void (*build)(World&);
};

class Contract : public testing::TestWithParam<Variant> {
  protected:
    void SetUp() override { GetParam().build(world_); }

    Status put(std::string name, std::string_view body, IfExists if_exists = IfExists::fail) {
        return world_.sim.run(
            world_.top().put(std::move(name), Slices(Bytes::copy(body)), if_exists)
        );
    }

    Result<std::string> get(std::string name, std::optional<ByteRange> range = {}) {
        Result<Bytes> bytes = world_.sim.run(world_.top().get(std::move(name), range));
        return bytes.ok() ? Result<std::string>(std::string(bytes->view()))
                          : Result<std::string>(bytes.error());
    }

    Result<ObjectInfo> head(std::string name) {
        return world_.sim.run(world_.top().head(std::move(name)));
    }

    std::vector<Status> remove(std::vector<std::string> names) {
        return world_.sim.run(world_.top().remove(std::move(names)));
    }

    /// Names of one page, `more` as "+".
    std::vector<std::string> list(
        std::string prefix, std::string after = "", std::uint32_t limit = 1000
    ) {
        auto page = world_.sim.run(world_.top().list(std::move(prefix), std::move(after), limit));
        EXPECT_TRUE(page.ok()) << page.error().to_string();
        std::vector<std::string> names;
        for (const ObjectInfo& object : page->objects) {
            names.push_back(object.name);
        }
        if (page->more) {
            names.emplace_back("+");
        }
        return names;
    }

    World world_;
};

using Names = std::vector<std::string>;

TEST_P(Contract, WhatWasPutIsReadBack) {
    ASSERT_TRUE(put("2026/07/01/a", "hello").ok());
    EXPECT_EQ(get("2026/07/01/a"), "hello");
    EXPECT_EQ(get("2026/07/01/a"), "hello");
    const auto info = head("2026/07/01/a");
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info->name, "2026/07/01/a");
    EXPECT_EQ(info->size, 5U);
    EXPECT_GT(to_ms(info->modified), 1'500'000'000'000);
}

TEST_P(Contract, EmptyObjectsAreObjects) {
    ASSERT_TRUE(put("empty", "").ok());
    EXPECT_EQ(get("empty"), "");
    EXPECT_EQ(get("empty", ByteRange{0, 0}), "");
    EXPECT_EQ(list(""), Names{"empty"});
}

TEST_P(Contract, ManySlicesAreOneObject) {
    Slices body;
    std::string expected;
    for (int i = 0; i < 3000; ++i) {  // more than one writev takes
        const std::string part = std::to_string(i);
        body.append(Bytes::copy(part));
        expected += part;
    }
    ASSERT_TRUE(world_.sim.run(world_.top().put("slices", body, IfExists::fail)).ok());
    EXPECT_EQ(get("slices", ByteRange{5, 9000}), expected.substr(5, 8995));
    EXPECT_EQ(get("slices"), expected);
}

TEST_P(Contract, AFileIsPutAsItsBytes) {
    const std::string path = world_.folder.path() + ".body";
    for (const std::size_t size : {0U, 1U, 4096U, 1U << 20, (2U << 20) + 4097U}) {
        std::string expected;
        while (expected.size() < size) {
            expected += std::to_string(expected.size());
        }
        expected.resize(size);
        std::ofstream(path, std::ios::binary) << expected;
        const std::string name = "file-" + std::to_string(size);
        ASSERT_TRUE(world_.sim.run(world_.top().put_file(name, path, IfExists::fail)).ok());
        const Result<std::string> read = get(name);
        EXPECT_TRUE(read.ok() && *read == expected) << size;
        EXPECT_TRUE(std::filesystem::exists(path));  // it stays
        EXPECT_TRUE(world_.sim.run(world_.top().put_file(name, path, IfExists::fail))
                        .is(ErrorCode::already_exists));
        EXPECT_TRUE(world_.sim.run(world_.top().put_file(name, path, IfExists::overwrite)).ok());
    }
    std::filesystem::remove(path);
    const Status missing = world_.sim.run(world_.top().put_file("no", path, IfExists::fail));
    EXPECT_TRUE(missing.is(ErrorCode::unavailable)) << missing.error().to_string();
    EXPECT_TRUE(head("no").is(ErrorCode::not_found));
}

TEST_P(Contract, CreateOnlyKeepsTheFirst) {
    ASSERT_TRUE(put("a/b", "first").ok());
    EXPECT_TRUE(put("a/b", "second").is(ErrorCode::already_exists));
    EXPECT_EQ(get("a/b"), "first");
}

TEST_P(Contract, OfManyCreatorsOneWins) {
    std::vector<rt::Future<Status>> answers;
    for (int i = 0; i < 8; ++i) {
        answers.push_back(rt::submit(
            world_.sim.executor,
            world_.top().put("d/one", Slices(Bytes::copy(std::to_string(i))), IfExists::fail)
        ));
    }
    std::string winner;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const Status answer = world_.sim.run([](rt::Future<Status> future) -> rt::Task<Status> {
            co_return co_await future;
        }(std::move(answers[i])));
        if (answer.ok()) {
            EXPECT_EQ(winner, "");
            winner = std::to_string(i);
        } else {
            EXPECT_TRUE(answer.is(ErrorCode::already_exists)) << answer.error().to_string();
        }
    }
    EXPECT_EQ(get("d/one"), winner);
}

TEST_P(Contract, OverwriteRepeatsAPut) {
    ASSERT_TRUE(put("a/b", "bytes", IfExists::overwrite).ok());
    EXPECT_EQ(get("a/b"), "bytes");
    ASSERT_TRUE(put("a/b", "bytes", IfExists::overwrite).ok());
    EXPECT_EQ(get("a/b"), "bytes");
    EXPECT_EQ(list(""), Names{"a/b"});
}

TEST_P(Contract, ReadsSeeWhatWasOverwrittenHere) {
    ASSERT_TRUE(put("hint", "1", IfExists::overwrite).ok());
    EXPECT_EQ(get("hint"), "1");
    ASSERT_TRUE(put("hint", "22", IfExists::overwrite).ok());
    EXPECT_EQ(get("hint"), "22");
}

TEST_P(Contract, RangesAreHalfOpenAndBounded) {
    ASSERT_TRUE(put("r", "0123456789").ok());
    for (int pass = 0; pass < 2; ++pass) {
        EXPECT_EQ(get("r", ByteRange{2, 5}), "234");
        EXPECT_EQ(get("r", ByteRange{3, 5}), "34");
        EXPECT_EQ(get("r", ByteRange{0, 10}), "0123456789");
        EXPECT_EQ(get("r", ByteRange{10, 10}), "");
        EXPECT_TRUE(get("r", ByteRange{0, 11}).is(ErrorCode::out_of_range));
        EXPECT_TRUE(get("r", ByteRange{11, 11}).is(ErrorCode::out_of_range));
        EXPECT_TRUE(get("r", ByteRange{5, 4}).is(ErrorCode::invalid_argument));
        EXPECT_EQ(get("r"), "0123456789");
    }
}

TEST_P(Contract, MissingIsNotFound) {
    ASSERT_TRUE(put("a/b/c", "x").ok());
    for (const char* name : {"none", "a", "a/b", "a/b/c/d", "a/none"}) {
        EXPECT_TRUE(get(name).is(ErrorCode::not_found)) << name;
        EXPECT_TRUE(get(name, ByteRange{0, 1}).is(ErrorCode::not_found)) << name;
        EXPECT_TRUE(head(name).is(ErrorCode::not_found)) << name;
    }
}

TEST_P(Contract, ANameIsAnObjectOrAFolder) {
    ASSERT_TRUE(put("a/b/c", "x").ok());
    for (const IfExists if_exists : {IfExists::fail, IfExists::overwrite}) {
        EXPECT_TRUE(put("a/b", "y", if_exists).is(ErrorCode::invalid_argument));
        EXPECT_TRUE(put("a/b/c/d", "y", if_exists).is(ErrorCode::invalid_argument));
    }
    EXPECT_EQ(list(""), Names{"a/b/c"});
}

TEST_P(Contract, RemoveForgetsAndIsRepeatable) {
    ASSERT_TRUE(put("a/b/c", "x").ok());
    ASSERT_TRUE(put("a/b/d", "y").ok());
    EXPECT_EQ(get("a/b/c"), "x");
    const auto removed = remove({"a/b/c", "never", "a/b", "../x"});
    ASSERT_EQ(removed.size(), 4U);
    EXPECT_TRUE(removed[0].ok());
    EXPECT_TRUE(removed[1].ok());
    EXPECT_TRUE(removed[2].ok());
    EXPECT_TRUE(removed[3].is(ErrorCode::invalid_argument));
    EXPECT_TRUE(get("a/b/c").is(ErrorCode::not_found));
    EXPECT_EQ(list(""), Names{"a/b/d"});
    EXPECT_TRUE(remove({"a/b/d"})[0].ok());
    EXPECT_EQ(list(""), Names{});
    // All of it is free for another shape now.
    ASSERT_TRUE(put("a", "z").ok());
    EXPECT_EQ(get("a"), "z");
    EXPECT_TRUE(remove({}).empty());
    const auto many = remove(Names(1001, "x"));
    ASSERT_EQ(many.size(), 1001U);
    EXPECT_TRUE(many[0].is(ErrorCode::invalid_argument));
}

TEST_P(Contract, ListsInOrderByPages) {
    // `-` sorts before `/`, `0` after it: folders must not be walked before their neighbours.
    const Names names{"a-b", "a/b", "a/c/d", "a/c/e", "a/c0", "a0", "b"};
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
        ASSERT_TRUE(put(*name, "x").ok());
    }
    EXPECT_EQ(list(""), names);
    EXPECT_EQ(list("a/"), (Names{"a/b", "a/c/d", "a/c/e", "a/c0"}));
    EXPECT_EQ(list("a/c"), (Names{"a/c/d", "a/c/e", "a/c0"}));
    EXPECT_EQ(list("a/c/"), (Names{"a/c/d", "a/c/e"}));
    EXPECT_EQ(list("a", "a/c/d"), (Names{"a/c/e", "a/c0", "a0"}));
    EXPECT_EQ(list("a/", "a/c"), (Names{"a/c/d", "a/c/e", "a/c0"}));
    EXPECT_EQ(list("a/", "a/c/"), (Names{"a/c/d", "a/c/e", "a/c0"}));
    EXPECT_EQ(list("", "a/", 2), (Names{"a/b", "a/c/d", "+"}));
    EXPECT_EQ(list("", "a0", 1), (Names{"b"}));
    EXPECT_EQ(list("", "b"), Names{});
    for (const char* none : {"none", "a/c/d/", "/", "/a", "..", "../", "a//", "a/./", "b/c/d"}) {
        EXPECT_EQ(list(none), Names{}) << none;
    }
    for (std::uint32_t limit = 1; limit < 9; ++limit) {
        Names all;
        for (bool more = true; more;) {
            Names page = list("", all.empty() ? "" : all.back(), limit);
            more = !page.empty() && page.back() == "+";
            ASSERT_LE(page.size(), limit + (more ? 1 : 0));
            all.insert(all.end(), page.begin(), page.end() - (more ? 1 : 0));
        }
        EXPECT_EQ(all, names) << limit;
    }
    for (const std::uint32_t limit : {0U, 1001U}) {
        EXPECT_TRUE(world_.sim.run(world_.top().list("", "", limit)).is(ErrorCode::invalid_argument)
        );
    }
}

TEST_P(Contract, BadNamesAreRefused) {
    const std::string long_segment(256, 'x');
    for (const std::string& name :
         {std::string(""),
          std::string("/a"),
          std::string("a/"),
          std::string("a//b"),
          std::string("."),
          std::string("a/../b"),
          std::string("a\nb"),
          std::string("a\0b", 3),
          std::string("\xff"),
          std::string("\xc0\xaf"),
          std::string("\xed\xa0\x80"),
          std::string(".lks-tmp/a"),
          std::string(901, 'x'),
          long_segment}) {
        EXPECT_TRUE(put(name, "x").is(ErrorCode::invalid_argument)) << name;
        EXPECT_TRUE(get(name).is(ErrorCode::invalid_argument)) << name;
        EXPECT_TRUE(head(name).is(ErrorCode::invalid_argument)) << name;
    }
    for (const std::string& name :
         {std::string("a b+%&?*"),
          std::string("\xc3\xa4/\xe2\x82\xac/\xf0\x9f\x8c\x8a"),
          std::string(255, 'x'),
          std::string(255, 'y') + "/z",
          std::string(".hidden"),
          std::string("x/.lks-tmp/y"),
          std::string("...")}) {
        EXPECT_TRUE(put(name, "x").ok()) << name;
        EXPECT_EQ(get(name), "x") << name;
        EXPECT_EQ(list(name), Names{name});
    }
}

INSTANTIATE_TEST_SUITE_P(
    Stores,
    Contract,
    testing::Values(
        Variant{"memory", memory},
        Variant{"local", local},
        Variant{"cached", cached},
        Variant{"decorated", decorated},
        Variant{"retried", retried}
    ),
    [](const auto& info) { return std::string(info.param.name); }
);

}  // namespace
}  // namespace lakestream::objstore
