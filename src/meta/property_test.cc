// SPDX-License-Identifier: Apache-2.0
// Random batches: the memory store and the embedded one, restarts included, give the same answers.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meta/testing/store_under_test.h"
#include "rt/rng.h"

namespace lakestream::meta {
namespace {

using testing::StoreKind;
using testing::StoreUnderTest;

/// One store, and its answers as text. Sessions are named by the order they were opened in: a
/// restarted store may use a log offset again that nothing lasting was written at.
class Subject {
  public:
    explicit Subject(StoreKind kind) : test(kind) {}

    std::string show(const Version& version) const {
        std::string text = fmt::format("v{} m{}", version.id.v, version.modifications);
        text += version.created == version.modified ? "" : " later";
        for (std::size_t i = 0; version.session.has_value() && i < sessions.size(); ++i) {
            text += sessions[i] == *version.session ? fmt::format(" s{}", i) : "";
        }
        return text + version.identity.value_or("");
    }

    std::string show(const Result<ShardBatchDone>& done) const {
        if (!done.ok()) {
            return std::string(to_string(done.code()));
        }
        std::string text;
        for (const auto& put : done->puts) {
            text +=
                put.ok() ? put->key + " " + show(put->version) : std::string(to_string(put.code()));
            text += "\n";
        }
        for (const auto& removed : done->deletes) {
            text += removed.ok() ? "deleted\n" : std::string(to_string(removed.code())) + "\n";
        }
        return text;
    }

    std::string dump() {
        std::string text;
        for (const Record& record : test.run(read_all(test.store(), {}, 100'000)).value()) {
            text += record.key + "=" + std::string(record.value.view()) + " " +
                    show(record.version) + "\n";
        }
        return text;
    }

    std::string near(const Get& get) {
        const auto found = test.wait(test.store().get(get));
        return found.ok() ? found->key + " " + show(found->version) : found.error().to_string();
    }

    StoreUnderTest test;
    std::vector<SessionId> sessions;
};

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : rng(seed) {}

    // Few keys, so that they meet; among them those that stand where sequences do.
    std::string key() {
        static const std::vector<std::string> parts{"a", "b", "/", "-1", "a-", "~", "/a"};
        if (rng.chance(1, 4)) {
            return fmt::format("a-{:020}", rng.below(12));
        }
        std::string key;
        for (std::uint64_t n = rng.below(4); n > 0; --n) {
            key += parts[rng.below(parts.size())];
        }
        return key;
    }

    Expect expect() {
        switch (rng.below(6)) {
            case 0: return Expect::absent();
            case 1: return Expect::at(VersionId(static_cast<std::int64_t>(rng.below(60))));
            default: return Expect::any();
        }
    }

    ShardBatch batch(const std::vector<SessionId>& sessions, std::uint64_t session) {
        ShardBatch batch;
        for (std::uint64_t n = rng.below(6); n > 0; --n) {
            Put put{.key = key(), .value = Bytes::own(std::to_string(rng.below(100)))};
            if (rng.chance(1, 3)) {
                put.key = std::vector<std::string>{"a", "/a", "a-1"}[rng.below(3)];
                put.sequence_deltas.assign(1 + rng.below(2), rng.below(3));
                put.partition_key =
                    rng.chance(19, 20) ? std::optional<std::string>("p") : std::nullopt;
            } else {
                put.expect = expect();
            }
            if (session < sessions.size()) {
                put.session = sessions[session];
                put.identity = " id";
            }
            batch.puts.push_back(std::move(put));
        }
        for (std::uint64_t n = rng.below(4); n > 0; --n) {
            batch.deletes.push_back({.key = key(), .expect = expect()});
        }
        if (rng.chance(1, 8)) {
            batch.ranges.push_back({.begin = key(), .end = key() + "z"});
        }
        return batch;
    }

    rt::Rng rng;
};

class Property : public ::testing::TestWithParam<std::uint64_t> {
  protected:
    // Several batches at once, so that the embedded store commits them as one group.
    void write_some() {
        const std::uint64_t seed = generator.rng.next();
        const std::uint64_t session = generator.rng.below(8);
        std::vector<std::string> shown;
        for (Subject* subject : {&memory, &embedded}) {
            Generator same(seed);
            std::vector<rt::Future<Result<ShardBatchDone>>> pending;
            for (std::uint64_t n = same.rng.between(1, 5); n > 0; --n) {
                pending.push_back(
                    subject->test.store().write(ShardId(0), same.batch(subject->sessions, session))
                );
            }
            std::string text;
            for (auto& future : pending) {
                text += subject->show(subject->test.wait(std::move(future)));
            }
            shown.push_back(text);
            subject->test.sim.loop.run_for(2ms);
        }
        ASSERT_EQ(shown[0], shown[1]);
    }

    void open_or_close_session() {
        const bool open = generator.rng.chance(1, 2) || memory.sessions.empty();
        const std::uint64_t which = generator.rng.below(memory.sessions.size() + 1);
        for (Subject* subject : {&memory, &embedded}) {
            MetadataStore& store = subject->test.store();
            if (open) {
                subject->sessions.push_back(
                    subject->test.wait(store.open_session(5min, "me", nullptr)).value()
                );
            } else if (which < subject->sessions.size()) {
                static_cast<void>(
                    subject->test.wait(store.close_session(subject->sessions[which])).ok()
                );
            }
        }
    }

    void compare() {
        ASSERT_EQ(memory.dump(), embedded.dump());
        for (const Comparison comparison :
             {Comparison::equal,
              Comparison::floor,
              Comparison::ceiling,
              Comparison::lower,
              Comparison::higher}) {
            const Get get{.key = generator.key(), .comparison = comparison};
            ASSERT_EQ(memory.near(get), embedded.near(get));
        }
        const Range range{.begin = generator.key(), .end = generator.key()};
        ASSERT_EQ(
            memory.test.wait(memory.test.store().list(range)).value(),
            embedded.test.wait(embedded.test.store().list(range)).value()
        );
    }

    Generator generator{GetParam()};
    Subject memory{StoreKind::memory};
    Subject embedded{StoreKind::embedded};
};

INSTANTIATE_TEST_SUITE_P(Seeds, Property, ::testing::Range<std::uint64_t>(1, 9));

TEST_P(Property, BothStoresAnswerAlike) {
    for (int round = 0; round < 80 && !HasFatalFailure(); ++round) {
        write_some();
        if (generator.rng.chance(1, 4)) {
            open_or_close_session();
        }
        if (generator.rng.chance(1, 20)) {
            embedded.test.reopen();
        }
        compare();
    }
}

}  // namespace
}  // namespace lakestream::meta
