// SPDX-License-Identifier: Apache-2.0
// Every message in every version against the bytes of Apache Kafka's own classes, both ways.
#include "codec/testing/golden.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "codec/kafka/gen/all_messages.h"
#include "codec/kafka/testing/message_json.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::codec::kafka {
namespace {

struct Rewritten {
    nlohmann::json value;
    Bytes bytes;
};

template <class Message>
Result<Rewritten> rewrite(const Bytes& bytes, int version) {
    Reader reader(bytes);
    const Message message = LKS_TRY(Message::decode(reader, version));
    if (reader.remaining() != 0) {
        return corrupt("{} bytes left over", reader.remaining());
    }
    Writer writer;
    LKS_TRY(message.encode(writer, version));
    return Rewritten{testing::to_json(message, version), writer.finish().join()};
}

using Rewrite = std::function<Result<Rewritten>(const Bytes&, int)>;

template <class... Messages>
std::map<std::string, Rewrite, std::less<>> rewriters(MessageList<Messages...>) {
    return {{std::string(Messages::message_name), rewrite<Messages>}...};
}

template <class... Messages>
std::set<std::pair<std::string, int>> all_versions(MessageList<Messages...>) {
    std::set<std::pair<std::string, int>> all;
    const auto add = [&](std::string_view name, VersionRange versions) {
        for (int version = versions.first; version <= versions.last; ++version) {
            all.emplace(name, version);
        }
    };
    (add(Messages::message_name, Messages::versions), ...);
    return all;
}

TEST(KafkaGolden, same_bytes_and_same_meaning) {
    const auto rewriter = rewriters(AllMessages{});
    auto missing = all_versions(AllMessages{});
    for (const auto& vector : golden_json("kafka-messages/messages.json").at("vectors")) {
        const std::string name = vector.at("message");
        const int version = vector.at("version");
        SCOPED_TRACE(fmt::format("{} version {}", name, version));
        const auto found = rewriter.find(name);
        if (found == rewriter.end()) {
            continue;  // a vector of an API that is not generated
        }
        const Bytes bytes = from_hex(vector.at("hex").get<std::string>());
        const auto ours = found->second(bytes, version);
        ASSERT_TRUE(ours.ok()) << ours.error().to_string();
        EXPECT_EQ(ours->value, vector.at("value"));
        EXPECT_EQ(to_hex(ours->bytes), vector.at("hex").get<std::string>());
        missing.erase({name, version});
    }
    EXPECT_TRUE(missing.empty()) << missing.begin()->first << " has no vector";
}

}  // namespace
}  // namespace lakestream::codec::kafka
