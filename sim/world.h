// SPDX-License-Identifier: Apache-2.0
// World: one seeded loop with the services that survive crashes, the wires, and the hosts whose
// nodes come and go.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meta/memory_store.h"
#include "meta/testing/faulty_metadata.h"
#include "net/sim/network.h"
#include "objstore/memory_store.h"
#include "objstore/testing/faulty_store.h"
#include "rt/sim/loop.h"
#include "server/node.h"
#include "sim/knobs.h"
#include "sim/planted.h"

namespace lakestream::sim {

class World;

/// Where other readers would find the tables.
inline constexpr std::string_view tables_location = "/tables";

/// A broken invariant, by the name that ARCHITECTURE.md gives it.
struct Finding {
    std::string invariant;
    std::string what;
};

/// A node's way to one bucket, with the faults of a service and of bad times.
class Access {
  public:
    Access(World& world, objstore::MemoryBucket& bucket);

    objstore::ObjectStore& store() { return full_; }
    /// The node was killed.
    void crash() { bucket_.crash(); }
    void set_storm(bool storm) { storm ? storm_.hurt() : storm_.heal(); }
    void set_full(bool full) { full ? full_.hurt() : full_.heal(); }
    void heal();

  private:
    LossyObjects bucket_;
    objstore::FaultyStore mild_;
    objstore::FaultyStore storm_;
    objstore::FaultyStore full_;
};

/// A node's spill disk; it loses everything with its process.
class MemorySpill final : public compact::SpillFiles {
  public:
    Status append(std::uint64_t segment, const Bytes& bytes) override;
    Result<Bytes> read(std::uint64_t segment, std::uint64_t begin, std::uint64_t count) override;
    void remove(std::uint64_t segment) override { segments_.erase(segment); }
    /// Half of each write fits.
    void set_full(bool full) { full_ = full; }

  private:
    std::map<std::uint64_t, std::string> segments_;
    bool full_ = false;
};

/// One run of a node's process. What it held at a crash stays as it was: nobody looks at it again,
/// and nobody frees it.
struct Life {
    Life(World& world, std::size_t shards, const rt::Clock& clock);

    std::vector<std::unique_ptr<rt::SimExecutor>> executors;
    LossyMetadata service;
    meta::testing::FaultyMetadata metadata;
    metrics::Registry metrics;
    rt::SimOffloader offloader;
    MemorySpill spill;
    std::unique_ptr<server::Node> node;
    std::uint64_t number = 0;  // unique in the world

    rt::SimExecutor& home() { return *executors.front(); }
};

/// A machine: its name, clock, disk and network cable. At most one process lives on it.
class Host {
  public:
    Host(World& world, std::size_t number);
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    const std::string& name() const { return name_; }
    net::Address address() const { return {name_, 9092}; }
    bool up() const { return state_ != State::down; }
    bool serving() const { return state_ == State::serving; }
    /// The living process. Precondition: `up`.
    Life& life() { return *life_; }

    /// Start a process, again and again until it serves. Nothing happens when one lives.
    void start();
    void start_after(Duration delay);
    /// SIGKILL.
    void crash();
    /// SIGTERM. It is a finding when the node still lives long after `patience`.
    void stop(Duration patience);
    void pause(Duration time);
    void set_cut_off(bool cut_off);
    void set_storm(bool storm);
    void set_full(bool full);
    void set_wall_error(std::chrono::milliseconds error) { clock_.set_wall_error(error); }
    /// No more faults; whatever is down comes up.
    void heal();

  private:
    enum class State : std::uint8_t { down, starting, serving, stopping };

    server::NodeSettings settings() const;
    std::optional<server::CompactionSeams> compaction(Life& life);
    rt::Task<bool> boot(Life& life);
    rt::Task<bool> halt(Life& life, Duration patience);
    void gone();
    void judge_stop(std::uint64_t life);

    World& world_;
    const std::string name_;
    const std::size_t number_;
    rt::SimClock clock_;
    net::SimNetwork network_;
    Access objects_;
    Access compacted_;
    Access tables_;
    State state_ = State::down;
    bool storming_ = false;
    bool healed_ = false;
    MonoTime paused_until_{};
    std::unique_ptr<Life> life_;
};

/// Lives to the end of the run and is never taken apart: crashed nodes stand in it.
class World {
  public:
    World(const Knobs& settings, Planted bug);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Where the files of a process are before they are stored.
    static std::string scratch_of(std::int64_t process);
    /// One step, with a crash behind it when it is time for one. False when nothing is left to do.
    bool step();
    /// The first finding counts; the run ends with it.
    void violated(std::string_view invariant, std::string what);
    /// An executor for a client or an observer.
    rt::SimExecutor& make_actor();
    Host& random_host(rt::Rng& rng) { return *hosts[rng.below(hosts.size())]; }
    void heal();

    const Knobs knobs;
    const Planted planted;
    rt::SimLoop loop;
    rt::SimClock clock;       // of the services
    rt::SimExecutor outside;  // services and wires: no crash stops it
    net::SimWires wires;
    objstore::MemoryBucket bucket;     // WAL objects
    objstore::MemoryBucket compacted;  // compacted objects
    objstore::MemoryBucket tables;     // tables
    const std::string scratch_folder;  // on the real disk, as the Arrow module wants it
    meta::MemoryMetadata metadata;
    std::vector<std::unique_ptr<Host>> hosts;
    std::vector<std::unique_ptr<Life>> graves;
    std::optional<Finding> finding;
    bool chaos = true;
    std::uint64_t crashes = 0;
    std::uint64_t lives = 0;

  private:
    void draw_next_crash();

    std::vector<std::unique_ptr<rt::SimExecutor>> actors_;
    std::uint64_t crash_at_ = 0;  // step
};

}  // namespace lakestream::sim
