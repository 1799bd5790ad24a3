// SPDX-License-Identifier: Apache-2.0
// Metrics of one store.
#include "objstore/metrics_store.h"

#include <filesystem>
#include <system_error>

namespace lakestream::objstore {

namespace {

constexpr std::array<std::string_view, outcome_count> outcome_names{
    "ok", "answer", "throttled", "unknown", "failed"
};

Outcome outcome_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::not_found:
        case ErrorCode::already_exists:
        case ErrorCode::out_of_range: return Outcome::answer;
        case ErrorCode::throttled: return Outcome::throttled;
        case ErrorCode::outcome_unknown: return Outcome::unknown;
        default: return Outcome::failed;
    }
}

}  // namespace

/// One request on its way; counted when it ends, a dropped one as failed.
class MetricsStore::Running {
  public:
    Running(MetricsStore& store, Operation operation, rt::Executor& executor)
        : store_(store),
          requests_(store.requests_[operation]),
          clock_(executor.clock()),
          begin_(clock_.mono_now()) {
        store_.running_.add(1);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
        store_.running_.add(-1);
        requests_.by_outcome[static_cast<std::size_t>(outcome_)].add();
        const std::chrono::duration<double> seconds = clock_.mono_now() - begin_;
        requests_.seconds.observe(seconds.count());
    }

    template <class T>
    void end(const Result<T>& result) {
        outcome_ = result.ok() ? Outcome::ok : outcome_of(result.code());
    }

  private:
    MetricsStore& store_;
    Requests& requests_;
    const rt::Clock& clock_;
    MonoTime begin_;
    Outcome outcome_ = Outcome::failed;
};

MetricsStore::MetricsStore(
    ObjectStore& inner, metrics::Registry& registry, const std::string& store
)
    : inner_(inner), registry_(registry) {
    const metrics::Labels of_store{{"store", store}};
    for (std::size_t i = 0; i < operation_count; ++i) {
        const Requests& requests = requests_.values[i];
        metrics::Labels labels = of_store;
        labels.emplace_back("operation", operation_names.values[i]);
        registry_.add(
            "lakestream_objstore_request_seconds",
            "Time of an object-store request, waits and retries below included.",
            requests.seconds,
            labels
        );
        labels.emplace_back("outcome", "");
        for (std::size_t outcome = 0; outcome < outcome_count; ++outcome) {
            labels.back().second = outcome_names[outcome];
            registry_.add(
                "lakestream_objstore_requests_total",
                "Object-store requests that ended.",
                requests.by_outcome[outcome],
                labels
            );
        }
    }
    registry_.add(
        "lakestream_objstore_written_bytes_total",
        "Bytes of objects stored.",
        written_bytes_,
        of_store
    );
    registry_.add(
        "lakestream_objstore_read_bytes_total", "Bytes of objects read.", read_bytes_, of_store
    );
    registry_.add(
        "lakestream_objstore_requests_running", "Requests without an answer.", running_, of_store
    );
}

MetricsStore::~MetricsStore() {
    for (const Requests& requests : requests_.values) {
        registry_.remove(&requests.seconds);
        for (const metrics::Counter& counter : requests.by_outcome) {
            registry_.remove(&counter);
        }
    }
    registry_.remove(&written_bytes_);
    registry_.remove(&read_bytes_);
    registry_.remove(&running_);
}

rt::Task<Status> MetricsStore::put(std::string name, Slices body, IfExists if_exists) {
    Running running(*this, Operation::put, co_await rt::this_executor());
    const std::size_t size = body.size();
    Status result = co_await inner_.put(std::move(name), std::move(body), if_exists);
    running.end(result);
    written_bytes_.add(result.ok() ? size : 0);
    co_return result;
}

rt::Task<Status> MetricsStore::put_file(std::string name, std::string path, IfExists if_exists) {
    Running running(*this, Operation::put, co_await rt::this_executor());
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    Status result = co_await inner_.put_file(std::move(name), std::move(path), if_exists);
    running.end(result);
    written_bytes_.add(result.ok() && !failed ? size : 0);
    co_return result;
}

rt::Task<Result<Bytes>> MetricsStore::get(std::string name, std::optional<ByteRange> range) {
    Running running(*this, Operation::get, co_await rt::this_executor());
    Result<Bytes> result = co_await inner_.get(std::move(name), range);
    running.end(result);
    read_bytes_.add(result.ok() ? result->size() : 0);
    co_return result;
}

rt::Task<Result<ObjectInfo>> MetricsStore::head(std::string name) {
    Running running(*this, Operation::head, co_await rt::this_executor());
    Result<ObjectInfo> result = co_await inner_.head(std::move(name));
    running.end(result);
    co_return result;
}

rt::Task<Result<ListPage>> MetricsStore::list(
    std::string prefix, std::string after, std::uint32_t limit
) {
    Running running(*this, Operation::list, co_await rt::this_executor());
    Result<ListPage> result = co_await inner_.list(std::move(prefix), std::move(after), limit);
    running.end(result);
    co_return result;
}

rt::Task<std::vector<Status>> MetricsStore::remove(std::vector<std::string> names) {
    Running running(*this, Operation::remove, co_await rt::this_executor());
    std::vector<Status> results = co_await inner_.remove(std::move(names));
    running.end(Status());
    for (const Status& result : results) {
        if (!result.ok()) {
            running.end(result);
            break;
        }
    }
    co_return results;
}

std::uint64_t MetricsStore::requests(Operation operation, Outcome outcome) const {
    return requests_[operation].by_outcome[static_cast<std::size_t>(outcome)].value();
}

}  // namespace lakestream::objstore
