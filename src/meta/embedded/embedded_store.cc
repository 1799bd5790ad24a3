// SPDX-License-Identifier: Apache-2.0
// The queue of writes, the group commit, and reads.
#include "meta/embedded/embedded_store.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/result.h"
#include "meta/change_feed.h"
#include "meta/embedded/database.h"
#include "meta/embedded/group_records.h"
#include "meta/validation.h"

namespace lakestream::meta {

using embedded::Database;
using embedded::GroupRecords;
using embedded::ReadFrom;
using embedded::RecordCursor;

namespace {

// A group is cut here, so that an answer does not wait for megabytes of others'.
constexpr std::size_t group_bytes_max = std::size_t{4} << 20;
constexpr std::size_t page_bytes_max = std::size_t{1} << 20;
constexpr std::size_t operation_bytes = 128;  // what a queued write takes beside its data
constexpr std::chrono::milliseconds retry_when_full{20};
constexpr std::chrono::seconds failure_counts{30};

struct Write {
    ShardBatch batch;
    std::size_t bytes = 0;
    rt::Promise<Result<ShardBatchDone>> promise;
};

struct OpenSession {
    Duration timeout;
    std::string identity;
    rt::Promise<Result<SessionId>> promise;
};

struct CloseSession {
    SessionId session;
    rt::Promise<Status> promise;
};

using Request = std::variant<Write, OpenSession, CloseSession>;

std::size_t bytes_of(const Request& request) {
    const auto* write = std::get_if<Write>(&request);
    return operation_bytes + (write != nullptr ? write->bytes : 0);
}

void refuse(Request request, const Error& error) {
    std::visit([&](auto& any) { any.promise.set(error); }, request);
}

class Metrics {
  public:
    Metrics(metrics::Registry& registry, rt::Executor& executor) : registrations_(registry) {
        metrics::Registrations& out = registrations_;
        out.add("lakestream_meta_commits_total", "Groups of writes made durable.", commits);
        out.add("lakestream_meta_writes_total", "Writes in these groups.", writes);
        out.add("lakestream_meta_queue_bytes", "Writes that wait for their group.", queue_bytes);
        out.add("lakestream_meta_throttled_total", "Writes refused by a full queue.", throttled);
        out.add("lakestream_meta_commit_failures_total", "Groups of unknown outcome.", failures);
        out.add("lakestream_meta_commit_seconds", "Time to apply and commit a group.", seconds);
        constexpr std::string_view reads_help =
            "Records read and pages of scans: from memory, or by a thread that may go to the disk.";
        out.add("lakestream_meta_reads_total", reads_help, memory_reads, {{"from", "memory"}});
        out.add("lakestream_meta_reads_total", reads_help, disk_reads, {{"from", "disk"}});
        out.add(
            "lakestream_meta_read_seconds",
            "Time of a read that may go to the disk, the wait for a thread included.",
            read_seconds
        );
        out.collect_gauge(
            "lakestream_meta_last_commit_age_seconds",
            "Since a group of writes was last made durable; none yet: absent.",
            [this, &executor] { return metrics::sample(committed.age(executor.now())); }
        );
    }

    metrics::Counter commits;
    metrics::Counter writes;
    metrics::Gauge queue_bytes;
    metrics::Counter throttled;
    metrics::Counter failures;
    metrics::Histogram seconds{metrics::latency_bounds};
    metrics::Counter memory_reads;
    metrics::Counter disk_reads;
    metrics::Histogram read_seconds{metrics::latency_bounds};
    metrics::LastSuccess committed;

  private:
    metrics::Registrations registrations_;
};

}  // namespace

class EmbeddedStore::Core : public std::enable_shared_from_this<Core> {
  public:
    Core(
        std::shared_ptr<Database> database,
        EmbeddedOptions options,
        ShardState state,
        rt::Executor& executor,
        rt::Offloader& offloader,
        metrics::Registry& registry
    )
        : options_(std::move(options)),
          executor_(executor),
          offloader_(offloader),
          metrics_(std::in_place, registry, executor),
          state_(std::move(state)),
          database_(std::move(database)) {}

    const EmbeddedOptions& options() const noexcept { return options_; }
    rt::Offloader& offloader() const noexcept { return offloader_; }
    ChangeFeed& feed() noexcept { return feed_; }
    /// The open database, or why there is none.
    Result<std::shared_ptr<Database>> database();

    void submit(Request request);
    Result<std::shared_ptr<RecordCursor>> cursor(const Range& range);
    /// Run `read` on the offloader; `cancelled` when the store has closed before it began.
    template <class Function>
    auto offload_read(Function read) -> rt::Future<decltype(read())>;
    void note_memory_read() { metrics_->memory_reads.add(); }
    void expire_old_sessions();
    Status write_health();
    void close();

  private:
    // What a request of the group is answered once the group's fate is known.
    using Answer = std::move_only_function<void(const Status&)>;

    // Work on the offloader counts from `enter` to `leave`; `close` waits for it.
    bool enter();
    void leave();

    void drain();
    bool take(std::deque<Request>& requests);
    void commit_group(std::deque<Request>& requests);
    Answer apply(GroupRecords& records, Request request, std::vector<ChangeBatch>& changes);
    Answer apply_write(GroupRecords& records, Write write, std::vector<ChangeBatch>& changes);
    Status commit(Database& database, GroupRecords& records);
    void note(const Status& written);
    Result<std::shared_ptr<Database>> working_database();

    const EmbeddedOptions options_;
    rt::Executor& executor_;
    rt::Offloader& offloader_;
    std::optional<Metrics> metrics_;  // until the store closes
    ChangeFeed feed_;

    // Only the drain in progress uses these; there is at most one.
    ShardState state_;
    bool broken_ = false;  // the state is ahead of the disk: a commit or a read failed

    std::mutex mutex_;
    std::condition_variable idle_;
    std::shared_ptr<Database> database_;  // shared with open scans; null when opening it failed
    Error closed_because_;
    std::deque<Request> queue_;
    std::size_t queue_bytes_ = 0;
    Status written_;  // how the newest write ended, and when
    MonoTime written_at_;
    std::size_t running_ = 0;
    bool scheduled_ = false;
    bool closing_ = false;
};

bool EmbeddedStore::Core::enter() {
    const std::scoped_lock lock(mutex_);
    running_ += closing_ ? 0 : 1;
    return !closing_;
}

void EmbeddedStore::Core::leave() {
    const std::scoped_lock lock(mutex_);
    --running_;
    idle_.notify_all();
}

void EmbeddedStore::Core::submit(Request request) {
    const std::size_t bytes = bytes_of(request);
    std::unique_lock lock(mutex_);
    if (queue_bytes_ > 0 && queue_bytes_ + bytes > options_.queue_bytes_max) {
        Error error = throttled("the metadata store is behind by {} bytes", queue_bytes_);
        lock.unlock();
        metrics_->throttled.add();
        error.retry_after = retry_when_full;
        refuse(std::move(request), error);
        return;
    }
    queue_.push_back(std::move(request));
    queue_bytes_ += bytes;
    metrics_->queue_bytes.set(static_cast<std::int64_t>(queue_bytes_));
    if (!std::exchange(scheduled_, true)) {
        offloader_.run([self = shared_from_this()] {
            if (self->enter()) {
                self->drain();
                self->leave();
            }
        });
    }
}

bool EmbeddedStore::Core::take(std::deque<Request>& requests) {
    const std::scoped_lock lock(mutex_);
    if (closing_) {
        return false;
    }
    if (requests.empty()) {
        requests.swap(queue_);
        queue_bytes_ = 0;
        metrics_->queue_bytes.set(0);
        scheduled_ = !requests.empty();
    }
    return scheduled_;
}

void EmbeddedStore::Core::drain() {
    std::deque<Request> requests;
    while (take(requests)) {
        commit_group(requests);
    }
    for (Request& request : requests) {
        refuse(std::move(request), cancelled("the metadata store is closing"));
    }
}

void EmbeddedStore::Core::commit_group(std::deque<Request>& requests) {
    const MonoTime begin = executor_.now();
    const auto database = working_database();
    if (!database.ok()) {
        note(database.error());
        for (Request& request : requests) {
            refuse(std::move(request), database.error());
        }
        requests.clear();
        return;
    }
    GroupRecords records(**database);
    std::vector<ChangeBatch> changes;
    std::vector<Answer> answers;
    do {
        answers.push_back(apply(records, std::move(requests.front()), changes));
        requests.pop_front();
    } while (!requests.empty() && records.bytes() < group_bytes_max && !records.sealed());
    const Status status = commit(**database, records);
    note(status);
    metrics_->committed.note(executor_.now());
    metrics_->commits.add();
    metrics_->writes.add(answers.size());
    metrics_->seconds.observe(std::chrono::duration<double>(executor_.now() - begin).count());
    if (status.ok()) {
        for (ChangeBatch& batch : changes) {
            feed_.publish(std::move(batch));
        }
    }
    for (Answer& answer : answers) {
        answer(status);
    }
}

Status EmbeddedStore::Core::commit(Database& database, GroupRecords& records) {
    if (!records.status().ok()) {
        broken_ = true;
        return records.status();
    }
    if (records.empty()) {
        return {};  // everything was refused: nothing to make durable
    }
    const auto turn = options_.turns != nullptr ? options_.turns->write() : rt::DiskTurns::Turn();
    const Status committed = database.commit(records.finish(state_.counters()));
    if (committed.ok()) {
        return {};
    }
    broken_ = true;
    metrics_->failures.add();
    log::error("meta", "commit_failed error={}", committed.error().to_string());
    return outcome_unknown("{}", committed.error().message);
}

void EmbeddedStore::Core::note(const Status& written) {
    const std::scoped_lock lock(mutex_);
    written_ = written;
    written_at_ = executor_.now();
}

Status EmbeddedStore::Core::write_health() {
    const std::scoped_lock lock(mutex_);
    return executor_.now() < written_at_ + failure_counts ? written_ : Status();
}

Result<std::shared_ptr<Database>> EmbeddedStore::Core::database() {
    const std::scoped_lock lock(mutex_);
    if (database_ == nullptr) {
        return closed_because_;
    }
    return database_;
}

// Only opening the folder again, and reading its log, tells what became of a failed commit.
Result<std::shared_ptr<Database>> EmbeddedStore::Core::working_database() {
    if (!broken_) {
        return database();
    }
    {
        const std::scoped_lock lock(mutex_);
        if (database_ != nullptr) {
            LKS_TRY(database_->check_room());
            if (database_.use_count() > 1) {
                return unavailable("metadata folder {}: waits for open scans", options_.folder);
            }
            database_.reset();
        }
    }
    auto reopened = Database::open(options_);
    auto state = reopened.ok() ? (*reopened)->load() : Result<ShardState>(reopened.error());
    const std::scoped_lock lock(mutex_);
    if (!state.ok()) {
        closed_because_ = state.error();
        return closed_because_;
    }
    state_ = std::move(*state);
    broken_ = false;
    database_ = std::move(*reopened);
    log::warn("meta", "commits_go_on offset={}", state_.counters().offset);
    return database_;
}

EmbeddedStore::Core::Answer EmbeddedStore::Core::apply(
    GroupRecords& records, Request request, std::vector<ChangeBatch>& changes
) {
    if (auto* write = std::get_if<Write>(&request)) {
        return apply_write(records, std::move(*write), changes);
    }
    if (auto* open = std::get_if<OpenSession>(&request)) {
        auto opened = state_.open_session(records, open->timeout, std::move(open->identity));
        changes.push_back(std::move(opened.changes));
        return [promise = std::move(open->promise), id = opened.id](const Status& status) mutable {
            promise.set(status.ok() ? Result<SessionId>(id) : status.error());
        };
    }
    auto& close = std::get<CloseSession>(request);
    auto closed = state_.close_session(records, close.session);
    Status outcome = closed.ok() ? Status() : Status(closed.error());
    if (closed.ok()) {
        changes.push_back(std::move(*closed));
    }
    return [promise = std::move(close.promise), outcome = std::move(outcome)](const Status& status
           ) mutable { promise.set(status.ok() ? outcome : status); };
}

EmbeddedStore::Core::Answer EmbeddedStore::Core::apply_write(
    GroupRecords& records, Write write, std::vector<ChangeBatch>& changes
) {
    auto written = state_.write(records, std::move(write.batch), executor_.clock().wall_now());
    changes.push_back(std::move(written.changes));
    return [promise = std::move(write.promise),
            done = std::move(written.done)](const Status& status) mutable {
        promise.set(status.ok() ? Result<ShardBatchDone>(std::move(done)) : status.error());
    };
}

template <class Function>
auto EmbeddedStore::Core::offload_read(Function read) -> rt::Future<decltype(read())> {
    rt::Promise<decltype(read())> promise;
    auto future = promise.future();
    offloader_.run([self = shared_from_this(),
                    asked = executor_.now(),
                    promise = std::move(promise),
                    read = std::move(read)]() mutable {
        if (!self->enter()) {
            promise.set(cancelled("the metadata store is closing"));
            return;
        }
        self->metrics_->disk_reads.add();
        promise.set([&read] {
            Function once = std::move(read);  // gives back what it holds before the store may close
            return once();
        }());
        const std::chrono::duration<double> took = self->executor_.now() - asked;
        self->metrics_->read_seconds.observe(took.count());
        self->leave();
    });
    return future;
}

Result<std::shared_ptr<RecordCursor>> EmbeddedStore::Core::cursor(const Range& range) {
    LKS_TRY(validate(range));
    return std::make_shared<RecordCursor>(LKS_TRY(database()), range);
}

// Nobody keeps the sessions of an earlier process alive; they get their full timeout once more.
void EmbeddedStore::Core::expire_old_sessions() {
    for (const auto& [id, session] : state_.sessions()) {
        executor_.post([weak = weak_from_this(), id, timeout = session.timeout] {
            const auto self = weak.lock();
            if (self == nullptr) {
                return;
            }
            self->executor_.call_at(self->executor_.now() + timeout, [weak, id] {
                if (const auto core = weak.lock()) {
                    core->submit(CloseSession{.session = id, .promise = {}});
                }
            });
        });
    }
}

void EmbeddedStore::Core::close() {
    std::deque<Request> refused;
    {
        std::unique_lock lock(mutex_);
        closing_ = true;
        closed_because_ = cancelled("the metadata store is closed");
        idle_.wait(lock, [this] { return running_ == 0; });
        refused.swap(queue_);
    }
    for (Request& request : refused) {
        refuse(std::move(request), cancelled("the metadata store is closing"));
    }
    database_.reset();
    metrics_.reset();
}

namespace {

// Pages are read on the offloader: a scan may have to wait for the disk.
class EmbeddedScan final : public Scan {
  public:
    using ReadPage = std::function<rt::Future<Result<std::vector<Record>>>()>;

    explicit EmbeddedScan(ReadPage read) : read_(std::move(read)) {}
    rt::Future<Result<std::vector<Record>>> next() override { return read_(); }

  private:
    ReadPage read_;
};

template <class T>
rt::Future<Result<T>> failed(const Status& status) {
    return rt::Future<Result<T>>::ready(Result<T>(status.error()));
}

}  // namespace

Result<std::unique_ptr<EmbeddedStore>> EmbeddedStore::open(
    EmbeddedOptions options,
    rt::Executor& executor,
    rt::Offloader& offloader,
    metrics::Registry& registry
) {
    auto database = LKS_TRY(Database::open(options));
    ShardState state = LKS_TRY(database->load());
    auto core = std::make_shared<Core>(
        std::move(database), std::move(options), std::move(state), executor, offloader, registry
    );
    core->expire_old_sessions();
    return std::unique_ptr<EmbeddedStore>(new EmbeddedStore(std::move(core)));
}

EmbeddedStore::~EmbeddedStore() {
    core_->close();
}

Status EmbeddedStore::write_health() const {
    return core_->write_health();
}

rt::Future<Result<ShardBatchDone>> EmbeddedStore::write(ShardId shard, ShardBatch batch) {
    if (shard != ShardId(0)) {
        return failed<ShardBatchDone>(invalid_argument("there is no metadata shard {}", shard.v));
    }
    if (const Status valid = validate(batch); !valid.ok()) {
        return failed<ShardBatchDone>(valid);
    }
    Write write{.batch = std::move(batch), .bytes = 0, .promise = {}};
    write.bytes = batch_bytes(write.batch) + operations(write.batch) * operation_bytes;
    auto future = write.promise.future();
    core_->submit(std::move(write));
    return future;
}

rt::Future<Result<Record>> EmbeddedStore::get(Get request) {
    if (const Status valid = validate(request); !valid.ok()) {
        return failed<Record>(valid);
    }
    auto database = core_->database();
    if (!database.ok()) {
        return failed<Record>(database.error());
    }
    if (auto record = (*database)->get(request, ReadFrom::memory)) {
        core_->note_memory_read();
        return rt::Future<Result<Record>>::ready(std::move(*record));
    }
    return core_->offload_read([database = *database, request = std::move(request)] {
        return *database->get(request, ReadFrom::disk);
    });
}

std::unique_ptr<Scan> EmbeddedStore::scan(Range range) {
    auto cursor = core_->cursor(range);
    if (!cursor.ok()) {
        return std::make_unique<EmbeddedScan>([error = cursor.error()] {
            return failed<std::vector<Record>>(error);
        });
    }
    return std::make_unique<EmbeddedScan>([core = core_, cursor = std::move(*cursor)] {
        return core->offload_read([cursor, records_max = core->options().scan_page_records] {
            return cursor->page(records_max, page_bytes_max);
        });
    });
}

rt::Future<Result<std::vector<std::string>>> EmbeddedStore::list(Range range) {
    auto cursor = core_->cursor(range);
    if (!cursor.ok()) {
        return failed<std::vector<std::string>>(cursor.error());
    }
    return core_->offload_read([cursor = std::move(*cursor)] { return cursor->keys(); });
}

// The owner is in this process: no heartbeats, and a session is not lost while the store is open.
rt::Future<Result<SessionId>> EmbeddedStore::
    open_session(Duration timeout, std::string identity, std::move_only_function<void()>) {
    if (const Status valid = validate_session_timeout(timeout); !valid.ok()) {
        return failed<SessionId>(valid);
    }
    OpenSession open{.timeout = timeout, .identity = std::move(identity), .promise = {}};
    auto future = open.promise.future();
    core_->submit(std::move(open));
    return future;
}

rt::Future<Status> EmbeddedStore::close_session(SessionId session) {
    CloseSession close{.session = session, .promise = {}};
    auto future = close.promise.future();
    core_->submit(std::move(close));
    return future;
}

rt::Future<Result<std::unique_ptr<Subscription>>> EmbeddedStore::subscribe(
    rt::Executor& executor, SubscribeHandler handler
) {
    return rt::Future<Result<std::unique_ptr<Subscription>>>::ready(
        core_->feed().subscribe(executor, std::move(handler))
    );
}

}  // namespace lakestream::meta
