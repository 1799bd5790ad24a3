// SPDX-License-Identifier: Apache-2.0
// The table of served APIs: one line for each handler.
#include "kafka/dispatch.h"

#include <algorithm>
#include <array>

#include "codec/kafka/gen/api_versions_fields.h"
#include "codec/kafka/gen/create_topics_fields.h"
#include "codec/kafka/gen/delete_topics_fields.h"
#include "codec/kafka/gen/fetch_fields.h"
#include "codec/kafka/gen/init_producer_id_fields.h"
#include "codec/kafka/gen/list_offsets_fields.h"
#include "codec/kafka/gen/metadata_fields.h"
#include "codec/kafka/gen/produce_fields.h"
#include "kafka/handlers/api_versions.h"
#include "kafka/handlers/create_topics.h"
#include "kafka/handlers/delete_topics.h"
#include "kafka/handlers/fetch.h"
#include "kafka/handlers/handler.h"
#include "kafka/handlers/init_producer_id.h"
#include "kafka/handlers/list_offsets.h"
#include "kafka/handlers/metadata.h"
#include "kafka/handlers/produce.h"

namespace lakestream::kafka {

namespace {

template <class Handler>
constexpr Api api() {
    static_assert(Handler::Request::versions.contains(Handler::versions.first));
    static_assert(Handler::Request::versions.contains(Handler::versions.last));
    return Api{
        .key = Handler::Request::api_key,
        .versions = Handler::versions,
        .advertised_min = Handler::versions.first,
        .memory = &Handler::memory,
        .start = &start<Handler>,
    };
}

/// librdkafka takes a broker without Produce 0 for one that knows no compression.
constexpr Api with_advertised_min(Api api, std::int16_t version) {
    api.advertised_min = version;
    return api;
}

constexpr std::array table{
    with_advertised_min(api<ProduceHandler>(), 0),
    api<FetchHandler>(),
    api<ListOffsetsHandler>(),
    api<MetadataHandler>(),
    api<ApiVersionsHandler>(),
    api<CreateTopicsHandler>(),
    api<DeleteTopicsHandler>(),
    api<InitProducerIdHandler>(),
};

static_assert(std::ranges::is_sorted(table, {}, &Api::key));

}  // namespace

std::span<const Api> served_apis() noexcept {
    return table;
}

const Api* find_served(std::int16_t key) noexcept {
    const auto* const found = std::ranges::lower_bound(table, key, {}, [](const Api& api) {
        return static_cast<std::int16_t>(api.key);
    });
    return found != table.end() && static_cast<std::int16_t>(found->key) == key ? found : nullptr;
}

}  // namespace lakestream::kafka
