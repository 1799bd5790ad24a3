// SPDX-License-Identifier: Apache-2.0
// FakeCatalog: topics in memory, for tests and benchmarks of handlers.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.h"

namespace lakestream::kafka::testing {

/// One executor only.
class FakeCatalog final : public catalog::Catalog {
  public:
    std::optional<Error> error;  // answers everything

    catalog::StreamPtr add(
        const std::string& name, std::uint32_t partitions, catalog::Properties properties = {}
    ) {
        auto stream = std::make_shared<catalog::StreamInfo>();
        stream->name = {.ns = "default", .name = name};
        const std::uint64_t number = ++made_;
        std::memcpy(stream->incarnation.data() + 8, &number, sizeof(number));
        for (std::uint32_t i = 0; i < partitions; ++i) {
            stream->logs.emplace_back(++last_log_);
        }
        stream->properties = std::move(properties);
        return streams_[stream->name] = std::move(stream);
    }

    rt::Task<Result<catalog::StreamPtr>> create(catalog::StreamSpec spec) override {
        if (error.has_value()) {
            co_return *error;
        }
        if (streams_.contains(spec.name)) {
            co_return already_exists("stream {}", spec.name.name);
        }
        co_return add(spec.name.name, spec.partitions, std::move(spec.properties));
    }

    rt::Task<Result<catalog::StreamPtr>> load(catalog::StreamName name) override {
        if (error.has_value()) {
            co_return *error;
        }
        const auto found = streams_.find(name);
        if (found == streams_.end()) {
            co_return not_found("stream {}", name.name);
        }
        co_return found->second;
    }

    rt::Task<Result<catalog::StreamPtr>> load_by_id(std::array<std::byte, 16> id) override {
        for (const auto& [name, stream] : streams_) {
            if (stream->incarnation == id) {
                co_return stream;
            }
        }
        co_return not_found("no stream has this id");
    }

    rt::Task<Result<std::vector<catalog::StreamPtr>>> list(std::string) override {
        std::vector<catalog::StreamPtr> streams;
        for (const auto& [name, stream] : streams_) {
            streams.push_back(stream);
        }
        co_return streams;
    }

    rt::Task<Result<catalog::StreamPtr>> change_properties(
        catalog::StreamName name,
        std::array<std::byte, 16> incarnation,
        catalog::PropertiesChange change
    ) override {
        auto found = LKS_CO_TRY(co_await load(name));
        if (found->incarnation != incarnation) {
            co_return not_found("stream {} has another incarnation", name.name);
        }
        auto changed = std::make_shared<catalog::StreamInfo>(*found);
        changed->properties = LKS_CO_TRY(change(found->properties));
        co_return streams_[std::move(name)] = std::move(changed);
    }

    rt::Task<Result<catalog::StreamPtr>> grow(
        catalog::StreamName name, std::array<std::byte, 16> incarnation, std::uint32_t partitions
    ) override {
        auto found = LKS_CO_TRY(co_await load(name));
        if (found->incarnation != incarnation) {
            co_return not_found("stream {} has another incarnation", name.name);
        }
        auto grown = std::make_shared<catalog::StreamInfo>(*found);
        while (grown->logs.size() < partitions) {
            grown->logs.emplace_back(++last_log_);
        }
        co_return streams_[std::move(name)] = std::move(grown);
    }

    rt::Task<Status> drop(
        catalog::StreamName name, std::optional<std::array<std::byte, 16>> incarnation
    ) override {
        const auto found = streams_.find(name);
        if (incarnation.has_value() && found != streams_.end() &&
            found->second->incarnation != *incarnation) {
            co_return not_found("stream {} has another incarnation", name.name);
        }
        co_return streams_.erase(name) > 0 ? Status() : not_found("stream {}", name.name);
    }

    rt::Task<Result<std::int64_t>> allocate_producer_ids(std::int64_t count) override {
        if (error.has_value()) {
            co_return *error;
        }
        co_return std::exchange(next_producer_id_, next_producer_id_ + count);
    }

  private:
    std::map<catalog::StreamName, catalog::StreamPtr> streams_;
    std::uint64_t made_ = 0;
    std::int64_t last_log_ = 100;
    std::int64_t next_producer_id_ = 5000;
};

}  // namespace lakestream::kafka::testing
