// SPDX-License-Identifier: Apache-2.0
// The phases of a run.
#include "sim/scenario.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/format.h"
#include "base/log.h"
#include "sim/audit.h"
#include "sim/consumers.h"
#include "sim/groups.h"
#include "sim/ledger.h"
#include "sim/nemeses.h"
#include "sim/producers.h"
#include "sim/tables.h"
#include "sim/topics.h"
#include "sim/trimmer.h"

namespace lakestream::sim {

namespace {

constexpr std::uint64_t steps_max = 20'000'000;
constexpr auto convergence = std::chrono::minutes(15);
constexpr auto idle_time = std::chrono::hours(1);

const World* narrated = nullptr;

void narrate_line(log::Level, std::string_view module, std::string_view text) noexcept {
    if (narrated != nullptr) {
        const auto ms = narrated->loop.now().time_since_epoch() / 1ms;
        fmt::print(stderr, "{:>10}.{:03} {} {}\n", ms / 1000, ms % 1000, module, text);
    }
}

class Run {
  public:
    Run(std::string_view scenario, std::uint64_t seed, Planted planted)
        : world_(draw_knobs(scenario, seed), planted), ledger_(world_), nemeses_(world_) {}

    World& world() { return world_; }
    const Ledger& ledger() const { return ledger_; }
    bool calm() const { return world_.knobs.objects.rules.empty(); }

    void whole() {
        begin();
        rage();
        converge();
        audit();
        rest();
        end();
    }

  private:
    bool over() const { return world_.finding.has_value(); }

    /// Step until `done`; it is a finding when the client's status stays the same for too long.
    template <class Done>
    void run_until(Done done, Duration patience, std::string_view what, Client* client) {
        MonoTime end = world_.loop.now() + patience;
        std::string status;
        while (!over() && !done()) {
            const bool late = world_.loop.now() > end;
            if (late && client != nullptr && client->status() != status) {
                status = client->status();
                end = world_.loop.now() + patience;
            } else if (late || world_.loop.steps() > steps_max || !world_.step()) {
                world_.violated("LIVENESS", fmt::format("{}: {}", what, status));
            }
        }
    }

    template <class Kind, class... Args>
    Kind& add(Args&&... args) {
        auto client = std::make_unique<Kind>(world_, ledger_, std::forward<Args>(args)...);
        Kind& added = *client;
        clients_.push_back(std::move(client));
        return added;
    }

    void begin();
    void rage();
    void converge();
    void audit();
    void audit_tables(const Auditor& before);
    void clean_up();
    void rest();
    void end();

    World world_;
    Ledger ledger_;
    Nemeses nemeses_;
    std::map<std::string, GroupBook> groups_;
    std::vector<std::unique_ptr<Client>> clients_;
};

void Run::begin() {
    const WorkloadKnobs& work = world_.knobs.workload;
    for (std::size_t topic = 0; topic < work.topics; ++topic) {
        for (std::size_t i = 0; i < work.partitions; ++i) {
            ledger_.partitions.push_back(
                {fmt::format("topic{}", topic), static_cast<std::int32_t>(i)}
            );
        }
    }
    for (const auto& host : world_.hosts) {
        host->start();
    }
    Client& maker = add<TopicMaker>("maker");
    maker.start();
    nemeses_.start();
    // Under all the faults: so long as chaos lasts it may take any time.
    const MonoTime end = world_.loop.now() + world_.knobs.chaos;
    while (!over() && !maker.done() && world_.loop.now() < end && world_.step()) {
    }
    if (!maker.done()) {
        world_.heal();
        run_until([&] { return maker.done(); }, convergence, "topics are not created", &maker);
        world_.chaos = true;
    }
}

void Run::rage() {
    const WorkloadKnobs& work = world_.knobs.workload;
    rt::Rng& rng = world_.outside.rng();
    for (std::size_t i = 0; i < work.producers; ++i) {
        std::vector<Partition> lanes;
        for (const Partition& partition : ledger_.partitions) {
            if (lanes.empty() || rng.chance(1, 2)) {
                lanes.push_back(partition);
            }
        }
        add<IdempotentProducer>(fmt::format("producer{}", i), std::move(lanes));
    }
    for (std::size_t i = 0; i < work.plain; ++i) {
        add<PlainProducer>(fmt::format("plain{}", i));
    }
    for (std::size_t i = 0; i < work.consumers; ++i) {
        add<Consumer>(fmt::format("consumer{}", i), Consumer::Kind::forward);
    }
    for (std::size_t i = 0; i < work.rereaders; ++i) {
        add<Consumer>(fmt::format("rereader{}", i), Consumer::Kind::rereader);
    }
    for (std::size_t i = 0; i < work.time_seekers; ++i) {
        add<TimeSeeker>(fmt::format("seeker{}", i));
    }
    for (std::size_t i = 0; i < work.trimmers; ++i) {
        add<Trimmer>(fmt::format("trimmer{}", i));
    }
    for (std::size_t i = 0; i < work.churners; ++i) {
        add<Churner>(fmt::format("churner{}", i));
    }
    for (std::size_t g = 0; g < work.groups; ++g) {
        const std::string group = fmt::format("group{}", g);
        for (std::size_t i = 0; i < work.members; ++i) {
            add<GroupMember>(fmt::format("{}-{}", group, i), group, groups_[group]);
        }
    }
    for (std::size_t i = 1; i < clients_.size(); ++i) {
        clients_[i]->start();
    }
    const MonoTime end = world_.loop.now() + world_.knobs.chaos;
    const std::uint64_t steps_end = world_.loop.steps() + world_.knobs.chaos_steps;
    while (!over() && world_.loop.now() < end && world_.loop.steps() < steps_end && world_.step()) {
    }
}

void Run::converge() {
    log::info("sim", "heals");
    world_.heal();
    for (const auto& client : clients_) {
        run_until([&] { return client->done(); }, convergence, "a client is stuck", client.get());
    }
}

void Run::audit() {
    if (over()) {
        return;
    }
    log::info("sim", "audits");
    // What stores apply late has landed, and what was dropped for it is known to all nodes.
    world_.loop.run_for(2min + world_.knobs.metadata.late_max);
    Auditor& auditor = add<Auditor>("auditor");
    auditor.start();
    run_until([&] { return auditor.done(); }, convergence, "logs cannot be read", &auditor);
    if (!over()) {
        auditor.judge();
        audit_index(world_);
    }
    if (!over() && world_.knobs.compaction) {
        audit_tables(auditor);
    }
}

/// Table = stream = ledger; and the logs read through compacted objects are what they were.
void Run::audit_tables(const Auditor& before) {
    log::info("sim", "audits_tables");
    TableAuditor& tables = add<TableAuditor>("tables", before.expected_rows(), before.starts());
    tables.start();
    run_until([&] { return tables.done(); }, convergence, "tables stay behind", &tables);
    world_.loop.run_for(world_.knobs.compact.compact_age + 5min);
    if (over()) {
        return;
    }
    audit_index(world_);
    Auditor& after = add<Auditor>("auditor_after");
    after.start();
    run_until([&] { return after.done(); }, convergence, "compacted logs cannot be read", &after);
    if (!over()) {
        after.judge();
        after.judge_same(before);
    }
}

/// What nobody refers to has gone, two rounds of passes after it was old enough.
void Run::clean_up() {
    log::info("sim", "cleans");
    const clean::CleanSettings& clean = world_.knobs.clean;
    // A clock that was ahead dates objects in the future.
    const WallTime newest = newest_object(world_).value_or(WallTime());
    const auto ahead = std::max<Duration>(newest - world_.clock.wall_now(), Duration(0));
    const std::size_t passes = 2 * (world_.bucket.size() / clean.objects_per_pass + 1) + 4;
    world_.loop.run_for(
        ahead + clean.unreferenced_age + clean.readers_grace +
        static_cast<std::int64_t>(passes) * clean.interval + 10min
    );
    if (!over()) {
        audit_index(world_);
        audit_garbage(world_);
    }
}

/// INV-IDLE: without clients nothing is written.
void Run::rest() {
    if (over()) {
        return;
    }
    log::info("sim", "rests");
    for (const auto& client : clients_) {
        client->hang_up();
    }
    world_.loop.run_for(1min);
    if (over()) {
        return;
    }
    if (world_.knobs.cleaning) {
        clean_up();
    }
    if (!groups_.empty()) {
        // Sweeps look after what members left behind that nobody heard of any more.
        world_.loop.run_for(2 * world_.knobs.kafka.groups.offsets_check_interval + 5min);
    }
    audit_memory(world_);
    std::size_t writes = 0;
    std::string first;
    const auto watch = world_.metadata.subscribe(
        world_.outside,
        {.changed =
             [&](const meta::ChangeBatch& batch) {
                 ++writes;
                 if (first.empty() && !batch.changes.empty()) {
                     first = fmt::format(", first {}", batch.changes.front().key);
                 }
             },
         .gap = {}}
    );
    const auto count = [this] {
        return world_.bucket.size() + world_.compacted.size() + world_.tables.size();
    };
    const std::size_t objects = count();
    world_.loop.run_for(idle_time);
    if (writes > 0 || count() != objects) {
        world_.violated(
            "INV-IDLE",
            fmt::format(
                "{} writes{} and {} objects in an idle hour", writes, first, count() - objects
            )
        );
    }
}

/// SIGTERM ends every node in time.
void Run::end() {
    if (over()) {
        return;
    }
    log::info("sim", "ends");
    for (const auto& host : world_.hosts) {
        host->stop(10s);
    }
    const auto lives = world_.lives;
    run_until(
        [&] { return world_.lives == lives + world_.hosts.size(); },
        1min,
        "a node does not stop",
        nullptr
    );
    if (!over()) {
        audit_index(world_);
    }
}

}  // namespace

Outcome run(std::string_view scenario, std::uint64_t seed, Planted planted, Narrate narrate) {
    log::set_sink(&narrate_line, narrate == Narrate::yes ? log::Level::info : log::Level::error);
    auto run = std::make_unique<Run>(scenario, seed, planted);
    World& world = run->world();
    if (narrate == Narrate::yes) {
        narrated = &world;
        fmt::print(stderr, "{}\n", describe(world.knobs));
    }
    run->whole();
    narrated = nullptr;
    const Outcome outcome{
        .finding = world.finding,
        .trace = world.loop.trace(),
        .steps = world.loop.steps(),
        .crashes = world.crashes,
        .batches = run->ledger().batches().size(),
        .acknowledged = run->ledger().acknowledged(),
    };
    // Crashed nodes stand in it as they were; taking it apart would run what is dead.
    static_cast<void>(run.release());
    return outcome;
}

}  // namespace lakestream::sim
