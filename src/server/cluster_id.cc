// SPDX-License-Identifier: Apache-2.0
// The cluster's id: created once, read ever after.
#include "base/format.h"
#include "codec/kafka/uuid.h"
#include "server/node.h"

namespace lakestream::server {

namespace {

constexpr std::string_view key = "/lks/cluster";
constexpr char format_version = 1;

Result<std::string> parse(const Bytes& stored) {
    const std::string_view text = stored.view();
    if (text.empty()) {
        return corrupt("metadata {}: empty", key);
    }
    if (text.front() != format_version) {
        return unsupported("metadata {}: format {}, made by a newer node", key, int{text.front()});
    }
    const auto id = codec::kafka::Uuid::parse(text.substr(1));
    if (!id.ok()) {
        return corrupt("metadata {}: {}", key, id.error());
    }
    return std::string(text.substr(1));
}

}  // namespace

rt::Task<Result<std::string>> load_cluster_id(meta::MetadataStore& store) {
    rt::Executor& executor = co_await rt::this_executor();
    constexpr int attempts_max = 5;
    for (int attempt = 0;; ++attempt) {
        const auto found = co_await store.get({.key = std::string(key)});
        if (found.ok()) {
            co_return parse(found->value);
        }
        if (!found.is(ErrorCode::not_found)) {
            co_return found.error();
        }
        const codec::kafka::Uuid fresh{executor.rng().bytes16()};
        std::string value(1, format_version);
        value += fresh.to_string();
        const auto created = co_await meta::put(
            store,
            {.key = std::string(key), .value = Bytes::own(value), .expect = meta::Expect::absent()}
        );
        // Whoever was first: what stands there now is the id.
        const bool look_again = created.ok() || created.is(ErrorCode::conflict) ||
                                created.is(ErrorCode::outcome_unknown);
        if (!look_again || attempt == attempts_max) {
            co_return created.error();
        }
    }
}

}  // namespace lakestream::server
