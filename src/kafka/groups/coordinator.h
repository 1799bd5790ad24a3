// SPDX-License-Identifier: Apache-2.0
// Coordinator: the groups of one executor: what `Group` and `Ledger` decide, done on timers and the
// metadata store (docs/protocols/groups.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "catalog/catalog.h"
#include "kafka/groups/expiry.h"
#include "kafka/groups/group.h"
#include "kafka/groups/ledger.h"
#include "kafka/groups/metrics.h"
#include "kafka/groups/options.h"
#include "kafka/groups/takeover.h"
#include "meta/metadata_store.h"
#include "rt/future.h"
#include "rt/scope.h"
#include "rt/signal.h"

namespace lakestream::kafka::groups {

/// What coordinators stand on. All of it outlives them.
struct Seams {
    meta::MetadataStore& metadata;
    catalog::Catalog& catalog;
    Metrics& metrics;
};

struct CommitRequest {
    MemberClaim member;
    std::map<OffsetKey, std::optional<Committed>> offsets;
};

struct FetchedOffset {
    OffsetKey key;
    std::optional<Committed> committed;
};

struct ListedGroup {
    std::string id;
    std::string protocol_type;
    GroupState state = GroupState::empty;
};

struct Left {
    MemberClaim member;
    KafkaError error = KafkaError::none;
};

/// Runs on one executor; the node owns it through Groups. Answers that are a KafkaError are for the
/// client as they stand. Errors of all calls: `cancelled` when the node stops; of the store, when a
/// group cannot be loaded.
class Coordinator {
  public:
    /// Which groups a sweep is to look at.
    using IsMine = std::function<bool(std::string_view group)>;

    /// `identity`: unique among all coordinators of all processes. `options.memory_max` is this
    /// coordinator's part.
    Coordinator(
        rt::Executor& executor,
        const Seams& seams,
        const GroupOptions& options,
        std::string identity,
        IsMine is_mine
    );
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;
    ~Coordinator();

    rt::Executor& executor() const noexcept { return executor_; }

    rt::Task<Result<JoinAnswer>> join(std::string group, JoinRequest request);
    rt::Task<Result<SyncAnswer>> sync(std::string group, SyncRequest request);
    rt::Task<Result<KafkaError>> heartbeat(std::string group, MemberClaim member);
    /// Each with its own answer. `not_found`: no such group.
    rt::Task<Result<std::vector<Left>>> leave(std::string group, std::vector<MemberClaim> members);
    /// All offsets or none. Ends when they are stored.
    rt::Task<Result<KafkaError>> commit(std::string group, CommitRequest request);
    /// None: all that are stored. Of an unknown group: nothing is committed.
    rt::Task<Result<std::vector<FetchedOffset>>> fetch(
        std::string group, std::optional<std::vector<OffsetKey>> asked
    );
    /// `not_found`: no such group.
    rt::Task<Result<GroupDescription>> describe(std::string group);
    rt::Task<Result<KafkaError>> remove(std::string group);
    /// One answer for each. `not_found`: no such group. NON_EMPTY_GROUP comes as a whole.
    rt::Task<Result<std::pair<KafkaError, std::vector<KafkaError>>>> remove_offsets(
        std::string group, std::vector<OffsetKey> offsets
    );
    /// Those in memory.
    rt::Task<Result<std::vector<ListedGroup>>> list();
    /// Its offsets go, of all groups in memory, a few at a time; of others when they are swept.
    void topic_dropped(Uuid topic_id);
    /// One look at what has expired, also of groups that are not in memory.
    rt::Task<void> sweep();

    /// Begin to sweep, from time to time.
    void start();
    /// Run a request; its promise is dropped when the coordinator has been closed.
    template <class T>
    void spawn(rt::Task<T> task, rt::Promise<T> promise) {
        if (!scope_.stopping()) {
            scope_.spawn(fulfil(std::move(task), std::move(promise)));
        }
    }
    /// Answer what waits with NOT_COORDINATOR, and every JoinGroup from now on.
    void drain();
    rt::Task<void> close();
    void abandon() noexcept;

  private:
    enum class Phase : std::uint8_t { loading, ready, failed, gone };
    enum class Missing : std::uint8_t { is_made, is_an_error };

    /// Something to be stored. `done` is called once.
    struct Op {
        std::map<OffsetKey, std::optional<Committed>> offsets;  // not yet acknowledged
        std::optional<GroupRecord> record;
        MonoTime deadline;
        std::move_only_function<void(const Status&)> done;
    };

    /// A group in memory. Shared by the table and the requests that work with it.
    struct Slot {
        Slot(std::string group, const GroupOptions& options)
            : id(std::move(group)), key(keys::group(id)), group(options) {}

        const std::string id;
        const std::string key;
        Phase phase = Phase::loading;
        Error error;  // failed
        rt::Signal loaded;
        Group group;
        std::uint64_t loaded_as = 0;   // the take-over's number
        std::optional<Ledger> ledger;  // none: its epoch was given up
        std::deque<Op> queue;
        bool writing = false;
        rt::TimerId timer = rt::TimerId::none;
        MonoTime armed = MonoTime::max();
        MonoTime used{};  // by a request
        std::size_t members_counted = 0;
        std::size_t bytes_counted = 0;
        std::set<Uuid> topics_missed;  // by the last sweep
        rt::Signal judged;             // a removal has ended, one way or the other
    };
    using SlotPtr = std::shared_ptr<Slot>;

    template <class T>
    static rt::Task<void> fulfil(rt::Task<T> task, rt::Promise<T> promise) {
        promise.set(co_await std::move(task));
    }

    Moment now() const;
    rt::Task<Result<SlotPtr>> open(std::string group, Missing missing);
    rt::Task<Status> check_stored(std::string group);
    rt::Task<Status> check_unknown(SlotPtr slot);
    rt::Task<void> load(SlotPtr slot);
    void drop(const SlotPtr& slot, KafkaError error);
    /// Whether so many bytes more are allowed; idle groups may leave memory for them.
    bool has_room(std::size_t more);
    /// `exhausted`, `cancelled`: one more group cannot be loaded.
    Status has_place(const std::string& group);
    void make_room();
    static bool is_idle(const Slot& slot);
    static bool is_unreadable(const Error& error);
    void account(Slot& slot);
    void apply(const SlotPtr& slot, Effects effects);
    void arm(const SlotPtr& slot);
    void on_timer(const SlotPtr& slot);

    void enqueue(const SlotPtr& slot, Op op);
    rt::Future<Status> store(const SlotPtr& slot, Op op);
    /// Have an epoch again, if it was given up.
    rt::Task<Status> settle(SlotPtr slot);
    rt::Task<Status> check_epoch(SlotPtr slot);
    rt::Task<void> write_all(SlotPtr slot);
    rt::Task<void> write_queue(SlotPtr slot);
    rt::Task<Status> write_next(SlotPtr slot);
    rt::Task<Status> write_batch(SlotPtr slot, Changes changes);
    rt::Task<Status> look_up_stale(SlotPtr slot);
    rt::Task<Status> retake(SlotPtr slot);
    static bool is_over(const Slot& slot);
    void leave_nothing(const SlotPtr& slot);
    rt::Task<void> purge(SlotPtr slot);
    struct Gathered {
        Changes changes;
        std::size_t ops = 0;      // the first of the queue, wholly
        std::size_t offsets = 0;  // and so many of the next one's
    };
    Gathered gather(const Slot& slot) const;
    void finish(Slot& slot, const Gathered& written);
    void fail_ops(Slot& slot, const Error& error, MonoTime deadline_max);

    /// `visit(slot)` for all that are in memory from now to the end, and maybe others; others may
    /// run in between. Errors: `cancelled` when the node stops.
    rt::Task<Status> each_slot(std::function<void(const SlotPtr&)> visit);
    rt::Task<void> drop_topics();
    void drop_offsets(const SlotPtr& slot, const std::set<Uuid>& topics);
    rt::Task<void> sweep_loop();
    rt::Task<void> sweep_slot(SlotPtr slot);
    rt::Task<std::set<Uuid>> missing_topics(SlotPtr slot);
    rt::Task<Status> load_expirable();
    rt::Task<Result<KafkaError>> remove_group(SlotPtr slot);
    rt::Task<KafkaError> store_removal(SlotPtr slot);
    static Op removal(const Slot& slot);

    rt::Executor& executor_;
    const Seams seams_;
    const GroupOptions& options_;
    const IsMine is_mine_;
    const std::string identity_;
    ExpiryClock clock_;
    std::uint64_t takeovers_ = 0;
    std::uint64_t last_ticket_ = 0;
    bool draining_ = false;
    std::map<std::string, SlotPtr> slots_;
    std::size_t bytes_ = 0;          // of all slots, as accounted
    MonoTime make_room_again_{};     // nothing was to be had
    std::set<Uuid> dropped_topics_;  // not yet looked for
    bool dropping_topics_ = false;
    std::map<Ticket, rt::Promise<Result<JoinAnswer>>> joins_;
    std::map<Ticket, rt::Promise<Result<SyncAnswer>>> syncs_;
    rt::TaskScope scope_;
};

}  // namespace lakestream::kafka::groups
