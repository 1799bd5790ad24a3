// SPDX-License-Identifier: Apache-2.0
// A node on simulated leaves: it starts, says who it is, stops, crashes, starts again.
#include "server/node.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/testing/sim_node.h"

namespace lakestream::server {
namespace {

using testing::SimNode;

TEST(Node, StartsAndStops) {
    SimNode world;
    ASSERT_TRUE(world.start().ok());
    EXPECT_TRUE(world.node->ready());
    EXPECT_EQ(world.node->kafka_address().port, 9092);
    EXPECT_EQ(world.node->http_address().port, 9644);
    world.stop();
}

TEST(Node, KeepsTheClustersId) {
    SimNode world;
    ASSERT_TRUE(world.start().ok());
    const std::string first = world.node->cluster_id();
    EXPECT_EQ(first.size(), 22U);
    world.stop();
    ASSERT_TRUE(world.start().ok());
    EXPECT_EQ(world.node->cluster_id(), first);
    world.crash();
    ASSERT_TRUE(world.start().ok());
    EXPECT_EQ(world.node->cluster_id(), first);
}

TEST(Node, SaysThatItsPortIsTaken) {
    SimNode world;
    const auto listener = world.network.listen(world.sim.executor, {.host = "node", .port = 9092});
    ASSERT_TRUE(listener.ok());
    EXPECT_TRUE(world.start().is(ErrorCode::already_exists));
    EXPECT_FALSE(world.node->ready());
}

TEST(Node, SaysWhatKeepsItFromBeingReady) {
    SimNode world;
    ASSERT_TRUE(world.start().ok());
    const auto status = [&] {
        return nlohmann::json::parse(world.sim.run(world.node->report_status()).body);
    };
    EXPECT_EQ(status()["ready"], true);
    EXPECT_EQ(status()["node"]["kafka"], "node:9092");
    EXPECT_EQ(status()["topics"], 0);
    world.disks = {{.of = "storage", .folder = "/data", .free_bytes = 15 << 20}};
    const nlohmann::json full = status();
    EXPECT_EQ(full["ready"], false);
    EXPECT_EQ(full["checks"].back()["name"], "disk");
    EXPECT_EQ(
        full["checks"].back()["reason"],
        "exhausted: 15 MiB are left for storage in /data: make room before writes fail"
    );
    EXPECT_EQ(full["disks"][0]["free_bytes"], 15 << 20);
    world.disks[0].free_bytes = 16 << 20;
    EXPECT_EQ(status()["ready"], true);
    world.stop();
}

TEST(ClusterId, RefusesWhatItDoesNotKnow) {
    SimNode world;
    const auto store = [&](std::string value) {
        meta::Put put{.key = "/lks/cluster", .value = Bytes::own(std::move(value))};
        ASSERT_TRUE(world.sim.run(meta::put(world.metadata, std::move(put))).ok());
    };
    store(
        "\x02"
        "7br0GWDxhukCURrzRO0l-Q"
    );
    EXPECT_TRUE(world.sim.run(load_cluster_id(world.metadata)).is(ErrorCode::unsupported));
    store(
        "\x01"
        "short"
    );
    EXPECT_TRUE(world.sim.run(load_cluster_id(world.metadata)).is(ErrorCode::corrupt));
    store("");
    EXPECT_TRUE(world.sim.run(load_cluster_id(world.metadata)).is(ErrorCode::corrupt));
    store(
        "\x01"
        "7br0GWDxhukCURrzRO0l-Q"
    );
    EXPECT_EQ(*world.sim.run(load_cluster_id(world.metadata)), "7br0GWDxhukCURrzRO0l-Q");
}

}  // namespace
}  // namespace lakestream::server
