// SPDX-License-Identifier: Apache-2.0
// A log engine for reading only, and its entries as rows.
#include "cli/log_rows.h"

#include <limits>
#include <utility>
#include <vector>

#include "catalog/keys.h"
#include "catalog/stored_stream.h"
#include "compact/decode_rows.h"
#include "server/blocking.h"
#include "table/stored_form.h"

namespace lakestream::cli {

namespace {

constexpr std::uint32_t read_bytes = 4 << 20;
constexpr std::uint64_t cache_bytes = 8 << 20;

log::EngineSettings reading_settings() {
    log::EngineSettings settings;
    settings.tail_cache_bytes_max = cache_bytes;
    settings.section_cache_bytes_max = cache_bytes;
    settings.header_cache_objects_max = 16;
    settings.snapshot_records = std::numeric_limits<std::size_t>::max();  // saves none
    settings.damage_patience = Duration(0);                               // nobody else writes
    return settings;
}

rt::Task<Result<log::LogBounds>> load_bounds(log::Engine& engine, LogId log) {
    auto answers = co_await engine.bounds({log});
    co_return std::move(answers.front());
}

rt::Task<Result<log::ReadBatch>> read_batch(log::Engine& engine, LogId log, Offset from) {
    std::vector<log::ReadRequest> requests{{.log = log, .from = from, .bytes_max = read_bytes}};
    auto answers = co_await engine.read(std::move(requests));
    co_return std::move(answers.front());
}

rt::Task<bool> drop(std::unique_ptr<log::NodeEngine> engine) {
    engine->abandon();  // not close, which saves fold states
    engine.reset();
    co_return true;
}

rt::Task<Result<catalog::StreamPtr>> read_stream(
    meta::MetadataStore& store, catalog::StreamName name
) {
    auto config = LKS_CO_TRY(co_await catalog::read_config(store, catalog::keys::config(name)));
    if (!config.has_value() || config->record.state != catalog::StreamState::active) {
        co_return not_found("there is no topic {}/{}", name.ns, name.name);
    }
    co_return LKS_CO_TRY(co_await catalog::read_active(store, name, *std::move(config))).stream;
}

/// A row as its table stores it.
class StoredForm {
  public:
    table::Row of(const table::Row& row) {
        headers_.assign(row.headers.begin(), row.headers.end());
        texts_.resize(std::max(texts_.size(), headers_.size()));
        for (std::size_t i = 0; i < headers_.size(); ++i) {
            headers_[i].key = table::stored_text(headers_[i].key, texts_[i]);
        }
        table::Row stored = row;
        stored.timestamp_ms = table::stored_micros(row.timestamp_ms) / 1000;
        stored.headers = headers_;
        return stored;
    }

  private:
    std::vector<table::RowHeader> headers_;
    std::vector<std::string> texts_;
};

}  // namespace

Result<catalog::StreamPtr> load_stream(server::Leaves& leaves, std::string_view folder) {
    const std::size_t slash = folder.rfind('/');
    return server::run_blocking(
        leaves.loops()[0],
        read_stream(
            leaves.metadata(),
            {.ns = std::string(folder.substr(0, slash)),
             .name = std::string(folder.substr(slash + 1))}
        )
    );
}

LogRows::LogRows(server::Leaves& leaves, compact::TableFilesLoader& loader)
    : executor_(leaves.loops()[0]),
      compacted_(
          {.objects = leaves.compacted(),
           .metadata = leaves.metadata(),
           .offloader = leaves.offloader(),
           .loader = loader},
          cache_bytes
      ),
      engine_(std::make_unique<log::NodeEngine>(
          reading_settings(),
          log::NodeEngine::Seams{
              .executors = {&executor_},
              .objects = leaves.objects(),
              .metadata = leaves.metadata(),
              .metrics = leaves.registry(),
              .compacted = &compacted_,
          }
      )) {}

LogRows::~LogRows() {
    server::run_blocking(executor_, drop(std::move(engine_)));
}

Result<log::LogBounds> LogRows::bounds(LogId log) {
    return server::run_blocking(executor_, load_bounds(*engine_, log));
}

Status LogRows::read(
    Partition partition,
    OffsetRange range,
    const std::function<void(const table::Row&)>& row,
    Offset& reached
) {
    reached = range.begin;
    StoredForm stored;
    const auto in_range = [&](const table::Row& one) -> Status {
        if (range.contains(Offset(one.offset))) {
            row(stored.of(one));
        }
        return {};
    };
    while (reached < range.end) {
        const log::ReadBatch batch =
            LKS_TRY(server::run_blocking(executor_, read_batch(*engine_, partition.log, reached)));
        for (const log::ReadEntry& entry : batch.entries) {
            if (!entry.is_void && entry.range.begin < range.end) {
                const compact::SpilledEntry sealed{
                    .range = entry.range, .created = entry.created, .payload = entry.payload
                };
                LKS_TRY(compact::check_batches({&sealed, 1}));
                LKS_TRY(compact::decode_rows(
                    partition.number,
                    sealed,
                    in_range,
                    [this](OffsetRange batch, const Error&) { unreadable_ += batch.count(); }
                ));
            }
            reached = entry.range.end;
        }
    }
    return {};
}

}  // namespace lakestream::cli
