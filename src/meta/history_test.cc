// SPDX-License-Identifier: Apache-2.0
// A recorded history of a real server, requests and answers, replayed against every store.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/testing/golden.h"
#include "meta/testing/store_under_test.h"

namespace lakestream::meta {
namespace {

using codec::from_hex;
using codec::to_hex;
using nlohmann::json;
using testing::StoreKind;
using testing::StoreUnderTest;

std::optional<std::string> text_of(const json& from, const char* field) {
    return from.contains(field) ? std::optional(from[field].get<std::string>()) : std::nullopt;
}

json version_json(const std::string& key, const Version& version) {
    json out{
        {"key", key},
        {"version_id", version.id.v},
        {"modifications_count", version.modifications},
        {"created_equals_modified", version.created == version.modified},
    };
    if (version.session.has_value()) {
        out["session"] = version.session->v;
    }
    if (version.identity.has_value()) {
        out["client_identifier"] = *version.identity;
    }
    return out;
}

json record_json(const Record& record) {
    json out = version_json(record.key, record.version);
    out["value_hex"] = to_hex(record.value);
    return out;
}

json change_json(const Change& change) {
    static const std::map<ChangeKind, std::string> names{
        {ChangeKind::created, "KeyCreated"},
        {ChangeKind::modified, "KeyModified"},
        {ChangeKind::deleted, "KeyDeleted"},
        {ChangeKind::range_deleted, "KeyRangeDelete"},
    };
    json out{{"type", names.at(change.kind)}, {"key", change.key}};
    if (change.version.has_value()) {
        out["version_id"] = change.version->v;
    }
    if (change.kind == ChangeKind::range_deleted) {
        out["range_end"] = change.range_end;
    }
    return out;
}

Comparison comparison_of(const std::string& name) {
    static const std::map<std::string, Comparison> comparisons{
        {"EQUAL", Comparison::equal},
        {"FLOOR", Comparison::floor},
        {"CEILING", Comparison::ceiling},
        {"LOWER", Comparison::lower},
        {"HIGHER", Comparison::higher},
    };
    return comparisons.at(name);
}

json error_json(const Error& error, bool expected_absence) {
    switch (error.code) {
        case ErrorCode::conflict:
            return {
                {"error",
                 expected_absence ? "KeyAlreadyExistsException" : "UnexpectedVersionIdException"}
            };
        case ErrorCode::invalid_argument: return {{"error", "OxiaStatusException"}};
        case ErrorCode::not_found: return {{"not_found", true}};
        default: return {{"error", error.to_string()}};
    }
}

class History : public ::testing::TestWithParam<StoreKind> {
  protected:
    void SetUp() override {
        subscription_ = under_test_
                            .wait(under_test_.store().subscribe(
                                under_test_.sim.executor,
                                {.changed =
                                     [this](const ChangeBatch& batch) {
                                         for (const Change& change : batch.changes) {
                                             notifications_.push_back(change_json(change));
                                         }
                                     },
                                 .gap = nullptr}
                            ))
                            .value();
    }

    // The answer in the history's words.
    json answer(const json& request) {
        const std::string op = request["op"];
        if (op == "put") {
            return put(request);
        }
        if (op == "get") {
            const auto found = under_test_.wait(under_test_.store().get({
                .key = request["key"],
                .comparison = comparison_of(request["comparison"]),
                .partition_key = text_of(request, "partition_key"),
            }));
            return found.ok() ? record_json(*found) : error_json(found.error(), false);
        }
        if (op == "delete") {
            const Status done = under_test_.run(remove(
                under_test_.store(), {.key = request["key"]}, text_of(request, "partition_key")
            ));
            return {{"existed", done.ok()}};
        }
        if (op == "delete_range") {
            ShardBatch batch;
            batch.ranges.push_back(
                {.begin = request["start_inclusive"], .end = request["end_exclusive"]}
            );
            EXPECT_TRUE(under_test_.wait(under_test_.store().write(ShardId(0), batch)).ok());
            return nullptr;
        }
        return keys(request);
    }

    json put(const json& request) {
        Put put{
            .key = request["key"],
            .value = from_hex(request["value_hex"].get<std::string>()),
            .partition_key = text_of(request, "partition_key"),
        };
        if (request.contains("expected_version_id")) {
            put.expect.version = VersionId(request["expected_version_id"]);
        }
        if (request.contains("sequence_key_deltas")) {
            put.sequence_deltas = request["sequence_key_deltas"].get<std::vector<std::uint64_t>>();
        }
        if (request.contains("ephemeral")) {
            put.identity = request["response"]["client_identifier"];
            put.session = session_of(*put.identity);
        }
        const bool absent = put.expect.version == VersionId(-1);
        const auto done = under_test_.run(meta::put(under_test_.store(), std::move(put)));
        return done.ok() ? version_json(done->key, done->version)
                         : error_json(done.error(), absent);
    }

    SessionId session_of(const std::string& client) {
        if (!sessions_.contains(client)) {
            sessions_[client] =
                under_test_.wait(under_test_.store().open_session(30s, client, nullptr)).value();
        }
        return sessions_[client];
    }

    json keys(const json& request) {
        const Range range{
            .begin = request["start_inclusive"],
            .end = request["end_exclusive"],
            .partition_key = text_of(request, "partition_key"),
        };
        if (request["op"] == "list") {
            return under_test_.wait(under_test_.store().list(range)).value();
        }
        json keys = json::array();
        for (const Record& record :
             under_test_.run(read_all(under_test_.store(), range, 1000)).value()) {
            keys.push_back(record.key);
        }
        return keys;
    }

    void replay(const json& step) {
        SCOPED_TRACE(step["step"].get<std::string>());
        if (step["step"] == "writer b closed") {
            EXPECT_TRUE(
                under_test_.wait(under_test_.store().close_session(sessions_.at("writer-b"))).ok()
            );
        }
        for (const json& request : step["requests"]) {
            under_test_.sim.loop.run_for(2ms);
            json expected = nullptr;
            if (request.contains("response")) {
                expected = request["response"];
            } else if (request.contains("response_keys")) {
                expected = request["response_keys"];
            }
            EXPECT_EQ(answer(request), expected) << request;
        }
        under_test_.sim.loop.run_for(2ms);
        EXPECT_EQ(std::exchange(notifications_, json::array()), step["notifications"]);
        json records = json::array();
        for (const Record& record :
             under_test_.run(read_all(under_test_.store(), {}, 1000)).value()) {
            records.push_back(record_json(record));
        }
        EXPECT_EQ(records, step["records_after"]);
    }

    StoreUnderTest under_test_{GetParam()};
    std::unique_ptr<Subscription> subscription_;
    json notifications_ = json::array();
    std::map<std::string, SessionId> sessions_;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, History, ::testing::Values(StoreKind::memory, StoreKind::embedded), testing::name_of
);

TEST_P(History, IsAnsweredAsTheServerAnswered) {
    const json history = codec::golden_json("oxia/history.json");
    ASSERT_EQ(history["steps"].size(), 17U);
    for (const json& step : history["steps"]) {
        replay(step);
    }
}

}  // namespace
}  // namespace lakestream::meta
