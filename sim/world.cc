// SPDX-License-Identifier: Apache-2.0
// How processes begin and end.
#include "sim/world.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "compact/local_file.h"

namespace lakestream::sim {

namespace {

/// A store may take as long to answer what is under way when a stop's patience ends.
constexpr auto stop_delay_max = std::chrono::minutes(2);
constexpr auto offload_delay_max = std::chrono::milliseconds(20);

objstore::FaultOptions full_disk() {
    objstore::FaultOptions options{.latency_min = 0ms, .latency_max = 0ms};
    objstore::FaultRule rule;
    rule.rates[objstore::Operation::put].disk_full = {1, 1};
    options.rules.push_back(rule);
    return options;
}

objstore::FaultOptions only_in_storms(objstore::FaultOptions options) {
    options.latency_min = options.latency_max = Duration(0);
    return options;
}

}  // namespace

Access::Access(World& world, objstore::MemoryBucket& bucket)
    : bucket_(bucket, world.clock, world.planted),
      mild_(bucket_, world.outside, world.knobs.objects, world.loop.rng().next()),
      storm_(
          mild_, world.outside, only_in_storms(world.knobs.objects_storm), world.loop.rng().next()
      ),
      full_(storm_, world.outside, full_disk(), world.loop.rng().next()) {
    storm_.heal();
    full_.heal();
}

void Access::heal() {
    mild_.heal();
    storm_.heal();
    full_.heal();
}

Status MemorySpill::append(std::uint64_t segment, const Bytes& bytes) {
    segments_[segment] += full_ ? bytes.view().substr(0, bytes.size() / 2) : bytes.view();
    return full_ ? Status(exhausted("the scratch disk is full")) : Status();
}

Result<Bytes> MemorySpill::read(std::uint64_t segment, std::uint64_t begin, std::uint64_t count) {
    const auto found = segments_.find(segment);
    LKS_ASSERT(found != segments_.end() && begin + count <= found->second.size());
    return Bytes::copy(std::string_view(found->second).substr(begin, count));
}

Life::Life(World& world, std::size_t shards, const rt::Clock& clock)
    : executors([&] {
          std::vector<std::unique_ptr<rt::SimExecutor>> made;
          for (std::size_t i = 0; i < shards; ++i) {
              made.push_back(
                  std::make_unique<rt::SimExecutor>(world.loop, clock, world.loop.rng().next())
              );
          }
          return made;
      }()),
      service(world.metadata, world.outside, world.planted),
      metadata(service, home(), world.outside, world.knobs.metadata, world.loop.rng().next()),
      offloader(home(), offload_delay_max),
      number(++world.lives) {}

Host::Host(World& world, std::size_t number)
    : world_(world),
      name_(fmt::format("node{}", number)),
      number_(number),
      clock_(world.loop),
      network_(world.wires, name_),
      objects_(world, world.bucket),
      compacted_(world, world.compacted),
      tables_(world, world.tables) {}

server::NodeSettings Host::settings() const {
    server::NodeSettings settings;
    settings.kafka_listen = address().to_string();
    settings.http_listen = "";
    settings.broker_id = static_cast<std::int32_t>(number_);
    settings.log = world_.knobs.log;
    settings.kafka = world_.knobs.kafka;
    settings.compact = world_.knobs.compact;
    settings.clean = world_.knobs.clean;
    settings.clean.enabled = world_.knobs.cleaning;
    return settings;
}

void Host::start() {
    if (state_ != State::down) {
        return;
    }
    state_ = State::starting;
    life_ = std::make_unique<Life>(world_, world_.knobs.shards, clock_);
    if (healed_) {
        life_->metadata.heal();
    } else if (storming_) {
        life_->metadata.set_faults(world_.knobs.metadata_storm);
    }
    log::info("sim", "starts host={} life={}", name_, life_->number);
    static_cast<void>(rt::submit(life_->home(), boot(*life_)));
}

void Host::start_after(Duration delay) {
    world_.outside.call_at(world_.outside.now() + delay, [this] { start(); });
}

std::optional<server::CompactionSeams> Host::compaction(Life& life) {
    if (!world_.knobs.compaction) {
        return std::nullopt;
    }
    return server::CompactionSeams{
        .offloader = life.offloader,
        .reads = life.offloader,
        .compacted = compacted_.store(),
        .tables = tables_.store(),
        .tables_location = std::string(tables_location),
        .spill = life.spill,
        .scratch_folder = world_.scratch_folder,
    };
}

rt::Task<bool> Host::boot(Life& life) {
    std::vector<rt::Executor*> executors;
    for (const auto& executor : life.executors) {
        executors.push_back(executor.get());
    }
    life.node = server::make_node(
        settings(),
        server::Seams{
            .executors = std::move(executors),
            .offloader = life.offloader,
            .network = network_,
            .objects = objects_.store(),
            .metadata = life.metadata,
            .metrics = life.metrics,
            .compaction = compaction(life),
        }
    );
    const Status started = co_await life.node->start();
    if (started.ok()) {
        state_ = State::serving;
        log::info("sim", "serves host={} life={}", name_, life.number);
        co_return true;
    }
    log::info("sim", "cannot_start host={} error={}", name_, started.error());
    co_return co_await halt(life, 1s);
}

rt::Task<bool> Host::halt(Life& life, Duration patience) {
    state_ = State::stopping;
    co_await life.node->stop(life.home().now() + patience);
    life.node.reset();
    log::info("sim", "stopped host={} life={}", name_, life.number);
    gone();
    start_after(100ms);
    co_return true;
}

void Host::gone() {
    world_.wires.crash(name_);
    for (const auto& executor : life_->executors) {
        executor->kill();
    }
    state_ = State::down;
    world_.graves.push_back(std::move(life_));
}

void Host::crash() {
    if (state_ == State::down) {
        return;
    }
    log::info("sim", "crashes host={} life={}", name_, life_->number);
    ++world_.crashes;
    Life& life = *life_;
    gone();
    if (life.node != nullptr) {
        life.node->abandon();
        // Never destroyed: what awaited an answer outside of the node's scopes still refers to it.
        static_cast<void>(life.node.release());
    }
    objects_.crash();
    compacted_.crash();
    tables_.crash();
    life.service.crash();
}

void Host::stop(Duration patience) {
    if (state_ != State::serving) {
        return;
    }
    state_ = State::stopping;
    static_cast<void>(rt::submit(life_->home(), halt(*life_, patience)));
    world_.outside.call_at(
        world_.outside.now() + patience + stop_delay_max,
        [this, number = life_->number] { judge_stop(number); }
    );
}

void Host::judge_stop(std::uint64_t number) {
    if (life_ == nullptr || life_->number != number) {
        return;
    }
    if (paused_until_ + stop_delay_max < world_.loop.now()) {
        world_.violated("LIVENESS", fmt::format("{} was told to stop and does not", name_));
    }
    crash();
    start_after(100ms);
}

void Host::pause(Duration time) {
    if (life_ != nullptr) {
        paused_until_ = std::max(paused_until_, world_.loop.now() + time);
        for (const auto& executor : life_->executors) {
            executor->pause(world_.loop.now() + time);
        }
    }
}

void Host::set_cut_off(bool cut_off) {
    world_.wires.set_cut_off(name_, cut_off);
}

void Host::set_storm(bool storm) {
    storming_ = storm;
    for (Access* access : {&objects_, &compacted_, &tables_}) {
        access->set_storm(storm);
    }
    if (life_ != nullptr) {
        life_->metadata.set_faults(storm ? world_.knobs.metadata_storm : world_.knobs.metadata);
    }
}

void Host::set_full(bool full) {
    for (Access* access : {&objects_, &compacted_, &tables_}) {
        access->set_full(full);
    }
    if (life_ != nullptr) {
        life_->metadata.set_full(full);
        life_->spill.set_full(full);
    }
}

void Host::heal() {
    set_cut_off(false);
    set_storm(false);
    set_full(false);
    set_wall_error(0ms);
    pause(Duration(0));
    for (Access* access : {&objects_, &compacted_, &tables_}) {
        access->heal();
    }
    healed_ = true;
    if (life_ != nullptr) {
        life_->metadata.heal();
    }
    start();
}

World::World(const Knobs& settings, Planted bug)
    : knobs(settings),
      planted(bug),
      loop(settings.seed),
      clock(loop),
      outside(loop, clock, loop.rng().next()),
      wires(loop, loop.rng().next(), settings.wires),
      bucket(clock),
      compacted(clock),
      tables(clock),
      scratch_folder(scratch_of(::getpid())),
      metadata(outside, {.shards = settings.metadata_shards}) {
    if (knobs.compaction) {
        LKS_ASSERT(compact::make_empty_folder(scratch_folder).ok());
    }
    for (std::size_t i = 0; i < knobs.nodes; ++i) {
        hosts.push_back(std::make_unique<Host>(*this, i + 1));
    }
    draw_next_crash();
}

std::string World::scratch_of(std::int64_t process) {
    return fmt::format(
        "{}/lakestream_sim.{}", std::filesystem::temp_directory_path().string(), process
    );
}

void World::draw_next_crash() {
    const std::uint64_t mean = knobs.nemeses.crash_steps;
    crash_at_ = mean == 0 ? ~std::uint64_t{0} : loop.steps() + 1 + outside.rng().below(2 * mean);
}

bool World::step() {
    if (!loop.step()) {
        return false;
    }
    if (chaos && loop.steps() >= crash_at_) {
        Host& host = random_host(outside.rng());
        host.crash();
        host.start_after(up_to(outside.rng(), knobs.nemeses.down_max));
        draw_next_crash();
    }
    return true;
}

void World::violated(std::string_view invariant, std::string what) {
    if (!finding.has_value()) {
        log::error("sim", "violated invariant={} what={}", invariant, what);
        finding = Finding{std::string(invariant), std::move(what)};
    }
}

rt::SimExecutor& World::make_actor() {
    actors_.push_back(std::make_unique<rt::SimExecutor>(loop, clock, loop.rng().next()));
    return *actors_.back();
}

void World::heal() {
    chaos = false;
    wires.heal();
    for (const auto& host : hosts) {
        host->heal();
    }
}

}  // namespace lakestream::sim
