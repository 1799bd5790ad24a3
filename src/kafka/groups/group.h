// SPDX-License-Identifier: Apache-2.0
// Group: the members of one consumer group and their rebalances. Pure: events and the time go in,
// answers and records to store come out (docs/protocols/groups.md).
//
// clang-format off
//  state       a member joins, leaves, expires  all have joined, or time is up   the leader syncs
//  empty       preparing                        -                                -
//  preparing   preparing                        completing (empty if nobody is)  -
//  completing  preparing                        -                                stable once stored
//  stable      preparing                        -                                -
// clang-format on
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kafka/error_map.h"
#include "kafka/groups/options.h"
#include "kafka/groups/record.h"
#include "lakestream/bytes.h"

namespace lakestream::kafka::groups {

/// Names a request that waits for its answer, chosen by the caller.
enum class Ticket : std::uint64_t {};

/// What a group's record is stored for; told to `stored` when it is.
enum class StoreId : std::uint64_t {};

enum class GroupState : std::uint8_t { empty, preparing, completing, stable, dead };

/// As Kafka writes it.
std::string_view to_string(GroupState state) noexcept;

/// One way of assigning that a member can do, and what it says for it.
struct Protocol {
    std::string name;
    Bytes metadata;

    bool operator==(const Protocol&) const = default;
};

enum class IdPolicy : std::uint8_t { join_at_once, ask_again };       // JoinGroup v4
enum class SkipAssignment : std::uint8_t { unsupported, supported };  // JoinGroup v9

struct JoinRequest {
    std::string member_id;  // empty: a new member
    std::string fresh_id;   // the id it gets if it is new
    std::optional<std::string> instance_id;
    std::string client_id;
    std::string client_host;
    Duration session_timeout{};
    Duration rebalance_timeout{};
    std::string protocol_type;
    std::vector<Protocol> protocols;  // best first
    IdPolicy id_policy = IdPolicy::join_at_once;
    SkipAssignment skip_assignment = SkipAssignment::unsupported;
};

struct JoinAnswer {
    struct Member {
        std::string id;
        std::optional<std::string> instance_id;
        Bytes metadata;  // of the chosen protocol

        bool operator==(const Member&) const = default;
    };

    KafkaError error = KafkaError::none;
    std::int32_t generation = -1;
    std::optional<std::string> protocol_type;
    std::optional<std::string> protocol_name;
    std::string leader;
    bool skip_assignment = false;
    std::string member_id;
    std::vector<Member> members;  // the leader's only
};

/// Who a member says it is.
struct MemberClaim {
    std::string member_id;
    std::optional<std::string> instance_id;
    std::int32_t generation = -1;
};

struct SyncRequest {
    MemberClaim member;
    std::optional<std::string> protocol_type;
    std::optional<std::string> protocol_name;
    std::vector<std::pair<std::string, Bytes>> assignments;  // the leader's only
};

struct SyncAnswer {
    KafkaError error = KafkaError::none;
    std::optional<std::string> protocol_type;
    std::optional<std::string> protocol_name;
    Bytes assignment;
};

/// When an event happens. Time-outs go by `mono` only.
struct Moment {
    MonoTime mono;
    WallTime wall;
};

/// What an event made: answers to send, and at most one record to store.
struct Effects {
    std::vector<std::pair<Ticket, JoinAnswer>> joined;
    std::vector<std::pair<Ticket, SyncAnswer>> synced;
    struct Store {
        StoreId id;
        GroupRecord record;
    };
    /// Later ones stand for earlier ones.
    std::optional<Store> store;
    int rebalances = 0;         // completed
    std::size_t expired = 0;    // members that were silent for too long
    std::size_t too_large = 0;  // bytes of a group whose assignment was refused for them
};

/// What an administrator sees.
struct GroupDescription {
    struct Member {
        std::string id;
        std::optional<std::string> instance_id;
        std::string client_id;
        std::string client_host;
        Bytes metadata;  // stable groups only, as the assignment
        Bytes assignment;
    };

    GroupState state = GroupState::dead;
    std::string protocol_type;
    std::string protocol_name;
    std::vector<Member> members;
};

/// A value without IO. `now.mono` never goes back. Every ticket of `join` and `sync` is answered
/// once, by this event or a later one.
class Group {
  public:
    explicit Group(const GroupOptions& options) : options_(&options) {}
    /// As it was stored; its members have a session time-out to show up again.
    Group(const GroupOptions& options, const GroupRecord& record, Moment now);

    void join(Ticket ticket, JoinRequest request, Moment now, Effects& effects);
    void sync(Ticket ticket, SyncRequest request, Moment now, Effects& effects);
    KafkaError heartbeat(const MemberClaim& claim, Moment now);
    /// One member: by its id, or by its instance id alone.
    KafkaError leave(const MemberClaim& claim, Moment now, Effects& effects);
    /// Whether this claim may commit offsets; counts as a heartbeat.
    KafkaError check_commit(const MemberClaim& claim, Moment now);
    /// What time alone changes: sessions, rebalances that wait no longer.
    void tick(Moment now, Effects& effects);
    /// When `tick` has something to do; may be early, never late.
    std::optional<MonoTime> next_deadline() const;
    /// The record of `id`, or a later one, is stored; or it is not, with an error for clients.
    void stored(StoreId id, KafkaError error, Moment now, Effects& effects);

    /// Answer everything that waits with an error. Members stay.
    void release(KafkaError error, Effects& effects);
    /// Being deleted. Precondition: empty. Nobody may join until `revive`.
    void kill();
    void revive();

    GroupState state() const noexcept { return state_; }
    std::int32_t generation() const noexcept { return generation_; }
    const std::string& protocol_type() const noexcept { return protocol_type_; }
    std::size_t members() const noexcept { return members_.size(); }
    /// Of members, and of those told an id.
    std::size_t bytes() const noexcept { return bytes_ + subscribed_bytes_; }
    /// By how many bytes this would make the group grow.
    std::size_t growth(const JoinRequest& request) const;
    /// Whether that is within what one group may have. No: it never will be.
    bool may_grow(std::size_t growth) const { return bytes_ + growth <= options_->group_bytes_max; }
    WallTime empty_since() const noexcept { return empty_since_; }
    /// Whether nothing waits, nobody is a member, and nobody has been told an id.
    bool idle() const noexcept { return members_.empty() && invited_.empty(); }
    /// Whether members read topics by Kafka's own protocol.
    bool is_consumers() const noexcept { return protocol_type_ == "consumer"; }
    /// Of the last generation, as far as the members' subscriptions can be read.
    const std::set<std::string>& subscribed() const noexcept { return subscribed_; }
    /// Whether all of them can.
    bool knows_subscriptions() const noexcept { return knows_subscriptions_; }
    GroupDescription describe() const;
    GroupRecord record() const;

    /// Whether all that must always hold does; for tests. Empty, or what is broken.
    std::string broken_invariant() const;

  private:
    struct Member {
        std::string id;
        std::optional<std::string> instance_id;
        std::string client_id;
        std::string client_host;
        Duration session_timeout{};
        Duration rebalance_timeout{};
        std::vector<Protocol> protocols;
        Bytes assignment;
        std::optional<Ticket> joining;
        std::optional<Ticket> syncing;
        bool is_new = true;       // has not been told of any generation
        bool has_synced = false;  // in this generation
        MonoTime deadline;        // of its session

        bool can(std::string_view protocol) const;
    };
    /// A static member that took its predecessor's place, waiting for the record.
    struct Replacement {
        Ticket ticket;
        StoreId store;
        JoinAnswer answer;
    };

    std::string broken_member(const std::string& id, const Member& member) const;
    KafkaError check_member(const MemberClaim& claim) const;
    KafkaError check_join(const JoinRequest& request) const;
    bool has_room_for(const JoinRequest& request) const;
    bool supports(const JoinRequest& request) const;
    bool changes_assignment(const Member& before, const Member& after) const;
    void join_new(Ticket ticket, JoinRequest& request, Moment now, Effects& effects);
    void join_known(Ticket ticket, JoinRequest& request, Moment now, Effects& effects);
    void replace_static(Ticket ticket, JoinRequest& request, Moment now, Effects& effects);
    void add_member(Ticket ticket, JoinRequest& request, Moment now, Effects& effects);
    void update_member(
        Member& member, Ticket ticket, JoinRequest& request, Moment now, Effects& effects
    );
    void remove_member(const std::string& id, KafkaError error, Effects& effects);
    void membership_changed(Moment now, Effects& effects);

    void prepare_rebalance(Moment now, Effects& effects);
    void join_or_wait(Moment now, Effects& effects);
    void complete_join(Moment now, Effects& effects);
    void become_empty(Moment now, Effects& effects);
    void assign(
        std::vector<std::pair<std::string, Bytes>>& assignments, Moment now, Effects& effects
    );
    void end_generation(KafkaError error, Effects& effects);
    bool all_joined() const;
    bool elect_leader();
    std::string choose_protocol() const;
    void read_subscriptions();
    Duration rebalance_timeout() const;
    void expire_members(Moment now, Effects& effects);
    void expire_unsynced(Moment now, Effects& effects);
    void answer_join(Member& member, JoinAnswer answer, Effects& effects);
    void answer_sync(Member& member, SyncAnswer answer, Effects& effects);

    Bytes metadata_of(const Member& member) const;
    JoinAnswer join_answer(const Member& member) const;
    SyncAnswer sync_answer(const Member& member) const;
    StoreId request_store(Effects& effects);
    void count_bytes();
    void count_subscribed();

    const GroupOptions* options_;  // outlives it
    GroupState state_ = GroupState::empty;
    std::int32_t generation_ = 0;
    std::string protocol_type_;
    std::optional<std::string> protocol_name_;
    std::optional<std::string> leader_;
    WallTime empty_since_{};
    std::map<std::string, Member> members_;       // by id
    std::map<std::string, std::string> statics_;  // instance id -> member id
    std::map<std::string, MonoTime> invited_;     // told an id, not joined; until when
    std::set<std::string> subscribed_;
    bool knows_subscriptions_ = false;
    std::vector<Replacement> replacements_;
    std::optional<MonoTime> join_deadline_;  // preparing: when to go on without the rest
    std::optional<MonoTime> sync_deadline_;  // of the members that have not synced
    Duration initial_left_{};                // what further delay newcomers may cause
    bool initial_ = false;                   // preparing: the first one after empty
    bool newcomers_ = false;                 // since the delay began
    std::optional<StoreId> storing_;         // completing: the assignment's record
    std::uint64_t last_store_ = 0;
    std::size_t bytes_ = 0;             // but for `subscribed_`
    std::size_t subscribed_bytes_ = 0;  // of `subscribed_`
};

}  // namespace lakestream::kafka::groups
