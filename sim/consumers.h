// SPDX-License-Identifier: Apache-2.0
// Consumers: from the beginning to the end with fetch sessions, from anywhere, and by time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codec/kafka/gen/fetch.h"
#include "codec/kafka/gen/list_offsets.h"
#include "sim/clients.h"

namespace lakestream::sim {

/// How one partition of a Fetch was answered.
struct Fetched {
    kafka_api::ErrorCode code = kafka_api::ErrorCode::none;
    Offset watermark;
    Bytes records;
};

/// A request for one partition without a session, from `version` 4 on.
kafka_api::FetchRequest fetch_request(
    const Partition& partition, kafka_api::Uuid topic_id, Offset from, std::int32_t bytes_max
);

/// Reads all partitions, forward only. A rereader goes to a random place now and then.
class Consumer final : public Client {
  public:
    enum class Kind : std::uint8_t { forward, rereader };

    Consumer(World& world, Ledger& ledger, const std::string& name, Kind kind);
    void start() override { scope_.spawn(run()); }
    /// A forward one: it has reached all that was acknowledged.
    bool done() const override;
    std::string status() const override;

  private:
    /// An incremental fetch session (KIP-227) with one node.
    struct Session {
        Connection* connection = nullptr;
        std::int16_t version = 4;
        std::int32_t id = 0;
        std::int32_t epoch = 0;
        std::map<Partition, Offset> told;  // what the node knows
    };

    rt::Task<void> run();
    rt::Task<Status> fetch_once();
    rt::Task<Result<Connection*>> choose_node();
    kafka_api::FetchRequest make_request();
    /// What a process had promised before it was asked.
    struct Floor {
        Offset watermark;
        Offset start;
    };

    void take(const kafka_api::FetchResponse& response, const std::map<Partition, Floor>& floors);
    void take_partition(
        const Partition& partition, const Fetched& fetched, Floor floor, std::uint64_t life
    );
    /// Go on where a partition starts now that was trimmed.
    rt::Task<Status> find_starts();
    void jump();

    const Kind kind_;
    std::map<Partition, Offset> positions_;
    Host* favourite_ = nullptr;
    std::optional<Session> session_;
    std::set<Partition> below_start_;
    std::string last_error_;
};

/// Asks for offsets by time and for ends.
class TimeSeeker final : public Client {
  public:
    using Client::Client;
    void start() override { scope_.spawn(run()); }

  private:
    rt::Task<void> run();
    rt::Task<Status> ask();
};

}  // namespace lakestream::sim
