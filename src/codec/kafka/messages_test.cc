// SPDX-License-Identifier: Apache-2.0
// Properties of every generated message in every version: round trips, cuts, fields out of place.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codec/kafka/gen/all_messages.h"
#include "codec/kafka/testing/random_message.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::codec::kafka {
namespace {

using testing::Chance;
using Code = lakestream::ErrorCode;
using OnField = std::function<void(const FieldInfo&)>;

template <class T>
void each_misplaced(T& node, int version, const OnField& check);

template <class T>
void enter(T& value, int version, const OnField& check) {
    if constexpr (HasFields<T>) {
        each_misplaced(value, version, check);
    } else if constexpr (requires { value.has_value(); }) {
        enter(value ? *value : value.emplace(), version, check);
    } else if constexpr (requires { requires HasFields<typename T::value_type>; }) {
        enter(value.emplace_back(), version, check);
    }
}

template <class T>
void each_misplaced(T& node, int version, const OnField& check) {
    FieldsOf<T>::visit([&](const FieldInfo& info, auto member) {
        auto& value = node.*member;
        const auto before = value;
        if (info.versions.contains(version)) {
            enter(value, version, check);
        } else {
            testing::disturb(value);
            check(info);
        }
        value = before;
    });
}

/// A message of any type, so that the tests below are compiled once and not once per message.
class AnyMessage {
  public:
    virtual ~AnyMessage() = default;

    virtual std::string_view name() const = 0;
    virtual VersionRange versions() const = 0;
    /// A default one of the same type.
    virtual std::unique_ptr<AnyMessage> fresh() const = 0;
    virtual bool equals(const AnyMessage& other) const = 0;
    virtual Result<Bytes> encode(int version) const = 0;
    /// Takes all of `bytes`: what is left over is an error here.
    virtual Status decode(const Bytes& bytes, int version) = 0;
    virtual void randomize(int version, Chance& chance) = 0;
    /// Calls `check` once for each field of this message and of the structs inside it that
    /// `version` has no place for, while that field holds a value that is not its default.
    virtual void each_misplaced(int version, const OnField& check) = 0;
};

template <class Message>
class Boxed final : public AnyMessage {
  public:
    std::string_view name() const override { return Message::message_name; }
    VersionRange versions() const override { return Message::versions; }
    std::unique_ptr<AnyMessage> fresh() const override { return std::make_unique<Boxed>(); }
    bool equals(const AnyMessage& other) const override {
        return message_ == static_cast<const Boxed&>(other).message_;
    }
    Result<Bytes> encode(int version) const override {
        Writer writer;
        LKS_TRY(message_.encode(writer, version));
        return writer.finish().join();
    }
    Status decode(const Bytes& bytes, int version) override {
        Reader reader(bytes);
        message_ = LKS_TRY(Message::decode(reader, version));
        if (reader.remaining() != 0) {
            return corrupt("{} bytes left over", reader.remaining());
        }
        return {};
    }
    void randomize(int version, Chance& chance) override {
        testing::randomize(message_, version, chance);
    }
    void each_misplaced(int version, const OnField& check) override {
        kafka::each_misplaced(message_, version, check);
    }

  private:
    Message message_;
};

using Factory = std::unique_ptr<AnyMessage> (*)();

template <class... Messages>
std::vector<Factory> factories(MessageList<Messages...>) {
    return {[]() -> std::unique_ptr<AnyMessage> { return std::make_unique<Boxed<Messages>>(); }...};
}

class EveryMessage : public ::testing::TestWithParam<Factory> {
  protected:
    std::unique_ptr<AnyMessage> fresh() const { return GetParam()(); }
    std::unique_ptr<AnyMessage> random(int version, std::uint64_t seed) const {
        Chance chance(seed);
        auto message = fresh();
        message->randomize(version, chance);
        return message;
    }

    void each_version(const std::function<void(int)>& check) const {
        const auto message = fresh();
        for (int version = message->versions().first; version <= message->versions().last;
             ++version) {
            SCOPED_TRACE(fmt::format("{} version {}", message->name(), version));
            check(version);
        }
    }
};

INSTANTIATE_TEST_SUITE_P(
    Kafka,
    EveryMessage,
    ::testing::ValuesIn(factories(AllMessages{})),
    [](const auto& test) { return std::string(test.param()->name()); }
);

void expect_round_trip(const AnyMessage& message, int version) {
    const auto bytes = message.encode(version);
    ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
    const auto back = message.fresh();
    const Status read = back->decode(*bytes, version);
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    EXPECT_TRUE(back->equals(message));
    EXPECT_EQ(back->encode(version).value(), *bytes);
}

TEST_P(EveryMessage, default_round_trips) {
    each_version([&](int version) { expect_round_trip(*fresh(), version); });
}

TEST_P(EveryMessage, random_values_round_trip) {
    each_version([&](int version) {
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
            SCOPED_TRACE(seed);
            expect_round_trip(*random(version, seed), version);
        }
    });
}

TEST_P(EveryMessage, every_cut_is_corrupt) {
    each_version([&](int version) {
        const Bytes bytes = random(version, 1000)->encode(version).value();
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            // A buffer of the cut size, so that the sanitizer sees a read behind it.
            const Status cut = fresh()->decode(bytes.slice(0, size).compact(), version);
            ASSERT_TRUE(cut.is(Code::corrupt)) << "cut to " << size << " of " << bytes.size();
        }
    });
}

TEST_P(EveryMessage, flipped_bytes_do_no_harm) {
    each_version([&](int version) {
        const Bytes bytes = random(version, 2000)->encode(version).value();
        Chance chance(static_cast<std::uint64_t>(version));
        for (int i = 0; i < 100 && !bytes.empty(); ++i) {
            std::vector<std::byte> damaged(bytes.begin(), bytes.end());
            damaged[chance.below(damaged.size())] ^= static_cast<std::byte>(1 + chance.below(255));
            const auto message = fresh();
            const Status read = message->decode(Bytes::own(std::move(damaged)), version);
            if (read.ok()) {
                expect_round_trip(*message, version);
            } else {
                ASSERT_EQ(read.code(), Code::corrupt);
            }
        }
    });
}

TEST_P(EveryMessage, other_versions_are_unsupported) {
    const auto message = fresh();
    const VersionRange known = message->versions();
    for (const int version : {known.first - 1, known.last + 1, -1, 99}) {
        EXPECT_TRUE(message->encode(version).is(Code::unsupported)) << version;
        EXPECT_TRUE(message->decode(Bytes(), version).is(Code::unsupported)) << version;
    }
}

TEST_P(EveryMessage, misplaced_value_is_dropped_or_refused) {
    each_version([&](int version) {
        const auto message = fresh();
        message->each_misplaced(version, [&](const FieldInfo& info) {
            SCOPED_TRACE(info.name);
            const auto bytes = message->encode(version);
            if (!info.ignorable) {
                EXPECT_TRUE(bytes.is(Code::invalid_argument));
                return;
            }
            ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
            const auto back = message->fresh();
            ASSERT_TRUE(back->decode(*bytes, version).ok());
            EXPECT_FALSE(back->equals(*message));
            EXPECT_EQ(back->encode(version).value(), *bytes);
        });
    });
}

}  // namespace
}  // namespace lakestream::codec::kafka
