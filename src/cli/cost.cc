// SPDX-License-Identifier: Apache-2.0
// cost: what a month of a workload asks of an object store, and what that would cost by list
// prices. An estimate, and it says by which assumptions.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/http_get.h"
#include "cli/metrics_text.h"
#include "cli/rows.h"
#include "cli/session.h"
#include "cli/text.h"

namespace lakestream::cli {

using nlohmann::json;

namespace {

constexpr double month_seconds = 730 * 3600;
constexpr double gb = 1e9;
constexpr double wal_object_mb = 4;         // of `workload`, when flushes are not given
constexpr double compacted_object_mb = 64;  // of `workload`

/// List prices in USD.
struct Prices {
    std::string_view store;
    std::string_view source;
    double put_per_1000;  // PUT, COPY, POST, LIST
    double get_per_1000;  // GET, HEAD
    double gb_month;      // stored
    double gb_written;
    double gb_read;
};

constexpr std::array price_lists = {
    Prices{
        .store = "local",
        .source = "cloud block storage of 2025-04 (gp3), one copy",
        .put_per_1000 = 0,
        .get_per_1000 = 0,
        .gb_month = 0.08,
        .gb_written = 0,
        .gb_read = 0,
    },
    Prices{
        .store = "s3",
        .source = "S3 Standard, us-east-1, 2025-04",
        .put_per_1000 = 0.005,
        .get_per_1000 = 0.0004,
        .gb_month = 0.023,
        .gb_written = 0,
        .gb_read = 0,
    },
    Prices{
        .store = "s3-express",
        .source = "S3 Express One Zone, us-east-1, 2025-04",
        .put_per_1000 = 0.00113,
        .get_per_1000 = 0.00003,
        .gb_month = 0.11,
        .gb_written = 0.0032,
        .gb_read = 0.0006,
    },
};

/// What is asked of the object store, per second.
struct Load {
    double puts = 0;
    double gets = 0;
    double bytes_written = 0;
    double bytes_read = 0;
    double bytes_kept = 0;  // what retention counts
    std::string basis;
};

/// WAL objects are read once by the compactor, and written again as compacted ones; consumers at
/// the end of a log are served from memory.
Load load_of(const Cost& workload) {
    const double flushes =
        workload.flushes > 0 ? workload.flushes : workload.megabytes_in / wal_object_mb;
    const double in = workload.megabytes_in * 1e6 / workload.compression;
    return {
        .puts = flushes + workload.megabytes_in / workload.compression / compacted_object_mb,
        .gets = flushes,
        .bytes_written = 2 * in,
        .bytes_read = in,
        .bytes_kept = in,
        .basis =
            "each byte is written twice (WAL, compacted) and read once (by the compactor); "
            "consumers read from memory",
    };
}

using Samples = std::vector<Sample>;

double requests_of(const Samples& samples, std::initializer_list<std::string_view> operations) {
    double sum = 0;
    for (const std::string_view operation : operations) {
        sum += sum_of(samples, "lakestream_objstore_requests_total", "operation", operation);
    }
    return sum;
}

Result<Samples> scrape(const std::string& http) {
    const HttpAnswer answer = LKS_TRY(http_get(http, "/metrics"));
    if (answer.status != 200) {
        return unavailable("http://{}/metrics answered {}", http, answer.status);
    }
    Samples samples = LKS_TRY(parse_metrics(answer.body));
    if (!has_metric(samples, "lakestream_objstore_requests_total")) {
        return unsupported("the node at {} does not count its object-store requests", http);
    }
    return samples;
}

rt::Task<Status> let_pass(Duration time) {
    co_await rt::sleep_until((co_await rt::this_executor()).now() + time);
    co_return Status();
}

/// Two scrapes and what happened between them; or one, and all since the node started.
Result<Load> load_of_node(const Cost& options) {
    Samples before;
    double seconds = std::chrono::duration<double>(options.window).count();
    if (seconds > 0) {
        before = LKS_TRY(scrape(options.http));
        Session session;
        LKS_TRY(session.run(let_pass(options.window)));
    }
    const Samples after = LKS_TRY(scrape(options.http));
    std::string basis = fmt::format("watched for {} s", seconds);
    if (seconds <= 0) {
        seconds = sum_of(after, "lakestream_process_uptime_seconds");
        if (seconds <= 0) {
            return unsupported("the node does not say since when it runs: give --seconds");
        }
        basis = fmt::format("all since it started {:.0f} s ago", seconds);
    }
    const auto rate = [&](double now, double then) { return std::max(0.0, now - then) / seconds; };
    const auto bytes_rate = [&](std::string_view name) {
        return rate(sum_of(after, name), sum_of(before, name));
    };
    return Load{
        .puts = rate(requests_of(after, {"put", "list"}), requests_of(before, {"put", "list"})),
        .gets = rate(requests_of(after, {"get", "head"}), requests_of(before, {"get", "head"})),
        .bytes_written = bytes_rate("lakestream_objstore_written_bytes_total"),
        .bytes_read = bytes_rate("lakestream_objstore_read_bytes_total"),
        .bytes_kept = bytes_rate("lakestream_wal_object_bytes_total") / options.compression,
        .basis = std::move(basis),
    };
}

/// The lines of one price list, and their sum.
Status put_store(const Prices& prices, const Load& load, const Cost& options, Rows& rows) {
    struct Line {
        std::string_view item;
        double quantity;
        std::string_view unit;
        double price;  // of 1000 requests, or a GB
    };
    const double stored = load.bytes_kept * 86'400 * options.retention_days / gb;
    const std::array lines = {
        Line{"put", load.puts * month_seconds, "requests", prices.put_per_1000},
        Line{"get", load.gets * month_seconds, "requests", prices.get_per_1000},
        Line{"written", load.bytes_written * month_seconds / gb, "GB", prices.gb_written},
        Line{"read", load.bytes_read * month_seconds / gb, "GB", prices.gb_read},
        Line{"stored", stored, "GB", prices.gb_month},
    };
    double total = 0;
    const auto rounded = [](double value) { return std::round(value * 100) / 100; };
    for (const Line& line : lines) {
        const double usd = line.quantity * line.price / (line.unit == "requests" ? 1000 : 1);
        total += usd;
        const std::string assumes =
            line.item == "stored"
                ? fmt::format("{} days kept; {}", options.retention_days, prices.source)
                : std::string(prices.source);
        LKS_TRY(rows.add(
            {prices.store,
             line.item,
             rounded(line.quantity),
             line.unit,
             line.price,
             rounded(usd),
             assumes}
        ));
    }
    return rows.add({prices.store, "total", nullptr, nullptr, nullptr, rounded(total), load.basis});
}

}  // namespace

Status cost(const Cost& options) {
    const Load load =
        options.of == CostOf::node ? LKS_TRY(load_of_node(options)) : load_of(options);
    Rows rows(
        options.format, {"store", "item", "quantity", "unit", "unit_usd", "month_usd", "assumes"}
    );
    for (const Prices& prices : price_lists) {
        if (options.store.value_or(std::string(prices.store)) == prices.store) {
            LKS_TRY(put_store(prices, load, options, rows));
        }
    }
    LKS_TRY(rows.finish());
    complain(
        "this is an estimate: a month of 730 h at this rate, list prices without discount or tax, "
        "no machines, no traffic between zones or to the internet"
    );
    return {};
}

}  // namespace lakestream::cli
