// SPDX-License-Identifier: Apache-2.0
// Opens folders, threads and stores; the only place that names their classes.
#include "server/leaves.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/format.h"
#include "compact/local_file.h"
#include "meta/embedded/embedded_store.h"
#include "objstore/local/local_store.h"
#include "server/blocking.h"

namespace lakestream::server {

namespace {

constexpr std::size_t shards_max = 32;

std::size_t shard_count(const Settings& settings) {
    return settings.shards != 0 ? settings.shards : std::min(rt::usable_cores(), shards_max);
}

Status make_folder(const std::string& folder, Open mode) {
    std::error_code failed;
    if (mode == Open::existing) {
        if (!std::filesystem::is_directory(folder, failed)) {
            return not_found("there is no folder {}", folder);
        }
        return {};
    }
    std::filesystem::create_directories(folder, failed);
    if (failed) {
        return unsupported(
            "cannot make the folder {}: {}; choose another one or change its rights",
            folder,
            failed.message()
        );
    }
    return {};
}

/// The text in a lock file: the pid of who has it.
std::string read_owner(int fd) {
    std::array<char, 32> text{};
    const ssize_t count = ::pread(fd, text.data(), text.size() - 1, 0);
    return count > 0 ? std::string(text.data(), static_cast<std::size_t>(count)) : "unknown";
}

rt::Task<Result<std::unique_ptr<meta::EmbeddedStore>>> open_metadata(
    meta::EmbeddedOptions options, rt::Offloader& offloader, metrics::Registry& registry
) {
    co_return meta::EmbeddedStore::open(
        std::move(options), co_await rt::this_executor(), offloader, registry
    );
}

}  // namespace

Result<FolderLock> FolderLock::take(const std::string& folder) {
    const std::string path = folder + "/lakestream.lock";
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        return unsupported(
            "cannot write to {}: {}; choose another folder or change its rights",
            folder,
            std::strerror(errno)
        );
    }
    FolderLock lock(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return already_exists(
            "another lakestream (pid {}) works on {}: stop it, or use another folder",
            read_owner(fd),
            folder
        );
    }
    const std::string pid = std::to_string(::getpid());
    if (::ftruncate(fd, 0) != 0 ||
        ::pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
        return exhausted("cannot write {}: {}", path, std::strerror(errno));
    }
    return lock;
}

FolderLock::~FolderLock() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

Leaves::Leaves(const Settings& settings, FolderLock lock)
    : lock_(std::move(lock)),
      loops_(clock_, shard_count(settings)),
      io_("io", settings.io_threads, rt::ThreadPriority::normal),
      reads_("read", settings.read_threads, rt::ThreadPriority::normal),
      background_(
          "background",
          std::max<std::size_t>(1, rt::usable_cores() / 4),
          rt::ThreadPriority::background,
          &loops_
      ),
      resolver_("resolver", 1, rt::ThreadPriority::normal) {}

Result<std::unique_ptr<Leaves>> Leaves::open(const Settings& settings, Open mode) {
    const std::string storage = LKS_TRY(folder_of("storage", settings.storage, "file"));
    const std::string metadata = LKS_TRY(folder_of("metadata", settings.metadata, "embedded"));
    LKS_TRY(make_folder(storage, mode));
    LKS_TRY(make_folder(metadata, mode));
    FolderLock lock = LKS_TRY(FolderLock::take(metadata));
    std::unique_ptr<Leaves> leaves(new Leaves(settings, std::move(lock)));
    for (const Status* started :
         {&leaves->loops_.started(),
          &leaves->io_.started(),
          &leaves->reads_.started(),
          &leaves->background_.started(),
          &leaves->resolver_.started()}) {
        LKS_TRY(*started);
    }
    leaves->storage_folder_ = storage;
    leaves->register_metrics(metadata);
    if (mode == Open::create) {
        LKS_TRY(leaves->lock_scratch());
    }
    leaves->objects_ = LKS_TRY(leaves->open_store("wal"));
    leaves->metadata_ = LKS_TRY(run_blocking(
        leaves->loops_[0],
        open_metadata(
            {.folder = metadata + "/db", .turns = &leaves->disk_turns_},
            leaves->io_,
            leaves->registry_
        )
    ));
    leaves->compacted_ = LKS_TRY(leaves->open_store("compacted"));
    leaves->tables_ = LKS_TRY(leaves->open_store("tables"));
    if (mode == Open::create) {
        LKS_TRY(leaves->open_scratch());
    }
    return leaves;
}

void Leaves::register_metrics(const std::string& metadata) {
    process_.emplace(
        registry_,
        clock_,
        std::vector<DiskFolder>{
            {.of = "storage", .folder = storage_folder_}, {.of = "metadata", .folder = metadata}
        }
    );
    registrations_.emplace(registry_);
    registrations_->collect_gauge(
        "lakestream_process_work_waiting",
        "Work that no thread has begun: reads of objects (read), other calls on files (io), "
        "compaction "
        "(background).",
        {"pool"},
        [this] {
            const auto waiting = [](std::string pool, const rt::ThreadPool& threads) {
                return metrics::Sample{
                    .labels = {{"pool", std::move(pool)}},
                    .value = static_cast<double>(threads.waiting()),
                };
            };
            return std::vector<metrics::Sample>{
                waiting("io", io_), waiting("read", reads_), waiting("background", background_)
            };
        }
    );
    registrations_->collect_gauge(
        "lakestream_process_loops_lagging",
        "1 while the last round of an event loop took longer than 5 ms.",
        [this] { return metrics::sample(loops_.lagging() ? 1.0 : 0.0); }
    );
}

Result<Leaves::CountedStore> Leaves::open_store(std::string_view name) {
    CountedStore out;
    out.store = LKS_TRY(objstore::LocalStore::open(
        fmt::format("{}/{}", storage_folder_, name),
        {.gets = reads_, .others = io_},
        clock_,
        rt::system_rng().next(),
        {.turns = &disk_turns_, .puts_first = name == "wal"}
    ));
    out.counted =
        std::make_unique<objstore::MetricsStore>(*out.store, registry_, std::string(name));
    return out;
}

// Nodes with metadata of their own may have been given the same storage: the second would empty the
// scratch folder of the first.
Status Leaves::lock_scratch() {
    const std::string folder = fmt::format("{}/scratch", storage_folder_);
    LKS_TRY(make_folder(folder, Open::create));
    scratch_lock_.emplace(LKS_TRY(FolderLock::take(folder)));
    return {};
}

Status Leaves::open_scratch() {
    LKS_TRY(compact::make_empty_folder(scratch_folder()));
    spill_ = LKS_TRY(compact::open_spill_folder(fmt::format("{}/scratch/spill", storage_folder_)));
    return {};
}

std::string Leaves::scratch_folder() const {
    return fmt::format("{}/scratch/files", storage_folder_);
}

CompactionSeams Leaves::compaction() {
    LKS_ASSERT(spill_ != nullptr);
    return {
        .offloader = background_,
        .reads = reads_,
        .compacted = compacted(),
        .tables = tables(),
        .tables_location = fmt::format("{}/tables", storage_folder_),
        .spill = *spill_,
        .scratch_folder = scratch_folder(),
    };
}

}  // namespace lakestream::server
