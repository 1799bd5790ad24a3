// SPDX-License-Identifier: Apache-2.0
// What a section reader makes of damage that passes and of damage that stays.
#include "log/section_reader.h"

#include <gtest/gtest.h>

#include <optional>

#include "log/index_value.h"
#include "objstore/memory_store.h"
#include "objstore/testing/forwarding_store.h"
#include "rt/sim/testing.h"

namespace lakestream::log {
namespace {

/// A bucket with one object, and a way to it that damages some answers.
class Damaging final : public objstore::ForwardingStore {
  public:
    explicit Damaging(objstore::MemoryBucket& bucket) : ForwardingStore(inner_), inner_(bucket) {}

    rt::Task<Result<Bytes>> get(std::string name, std::optional<objstore::ByteRange> range)
        override {
        ++gets;
        auto bytes = co_await ForwardingStore::get(std::move(name), range);
        if (bytes.ok() && gets == damaged_get) {
            std::vector<std::byte> copy(bytes->begin(), bytes->end());
            copy.at(damaged_byte) ^= std::byte(0x40);
            co_return Bytes::own(std::move(copy));
        }
        co_return bytes;
    }
    int gets = 0;
    int damaged_get = 0;  // the first is 1
    std::size_t damaged_byte = 0;

  private:
    objstore::MemoryStore inner_;
};

constexpr LogId log_a(7);

class SectionReaderTest : public testing::Test {
  protected:
    SectionReaderTest() {
        Section section;
        section.log = log_a;
        for (const char* text : {"first entry", "second entry"}) {
            section.entries.push_back(
                {.request = {.log = log_a, .payload = Bytes::copy(text), .records = 1}}
            );
            section.records += 1;
            section.bytes += section.entries.back().request.payload.size();
        }
        wal::ObjectBuilder builder;
        for (const PendingEntry& entry : section.entries) {
            builder.add(log_a, entry.request.payload, 1);
        }
        const wal::BuiltObject built = builder.finish();
        section.location = "object";
        record_ = to_index_record(section, built);
        body_ = built.body.join();
        store(body_);
    }

    void store(const Bytes& bytes) {
        EXPECT_TRUE(bucket_.put("object", Slices(bytes), objstore::IfExists::overwrite).ok());
    }

    Result<SectionDataPtr> read() { return sim_.run(reader_.read(log_a, record_)); }

    rt::Task<void> count_read(int& good) {
        const auto section = co_await reader_.read(log_a, record_);
        good += section.ok() ? 1 : 0;
    }
    rt::Task<rt::SharedSemaphore::Units> take_all() { co_return co_await reads_.acquire(1 << 20); }

    rt::SimTest sim_;
    objstore::MemoryBucket bucket_{sim_.clock};
    Damaging objects_{bucket_};
    EngineSettings settings_;
    rt::SharedSemaphore reads_{1 << 20};
    SectionReader reader_{{objects_, reads_}, settings_, 1 << 20};
    index::IndexRecord record_;
    Bytes body_;
};

TEST_F(SectionReaderTest, passing_damage_anywhere_is_read_again) {
    for (std::size_t at = 0; at < body_.size() - static_cast<std::size_t>(record_.entry_size_bytes);
         ++at) {
        SectionReader fresh({objects_, reads_}, settings_, 1 << 20);
        objects_.gets = 0;
        objects_.damaged_get = 1;  // of the index block, which would be kept
        objects_.damaged_byte = at;
        const auto section = sim_.run(fresh.read(log_a, record_));
        ASSERT_TRUE(section.ok()) << at << ": " << section.error().to_string();
        EXPECT_EQ((*section)->entries.at(1).payload.view(), "second entry");
    }
}

TEST_F(SectionReaderTest, an_object_that_is_too_short_is_damaged_and_never_out_of_range) {
    store(body_.slice(0, body_.size() - 5));
    EXPECT_TRUE(read().is(ErrorCode::corrupt));
    store(body_.slice(0, 3));
    EXPECT_TRUE(read().is(ErrorCode::corrupt));
    store(body_);
    EXPECT_TRUE(read().ok()) << "nothing of the damage is kept";
    EXPECT_TRUE(bucket_.remove("object").ok());
    EXPECT_TRUE(read().ok()) << "what was read well is";
}

TEST_F(SectionReaderTest, who_asks_while_another_reads_the_same_costs_nothing) {
    rt::TaskScope scope(sim_.executor);
    int good = 0;
    for (int i = 0; i < 10; ++i) {
        scope.spawn(count_read(good));
    }
    sim_.run(scope.close());
    EXPECT_EQ(good, 10);
    EXPECT_EQ(objects_.gets, 2) << "an index block and a section";
}

TEST_F(SectionReaderTest, bytes_on_their_way_are_bounded_and_given_back) {
    rt::TaskScope scope(sim_.executor);
    auto held = std::make_optional(sim_.run(take_all()));
    int good = 0;
    scope.spawn(count_read(good));
    sim_.loop.run_for(10s);
    EXPECT_EQ(objects_.gets, 0);
    held.reset();
    sim_.run(scope.close());
    EXPECT_EQ(good, 1);
    EXPECT_EQ(reads_.used(), 0U);
    EXPECT_TRUE(bucket_.remove("object").ok());
    SectionReader fresh({objects_, reads_}, settings_, 0);
    EXPECT_TRUE(sim_.run(fresh.read(log_a, record_)).is(ErrorCode::not_found));
    EXPECT_EQ(reads_.used(), 0U);
}

}  // namespace
}  // namespace lakestream::log
