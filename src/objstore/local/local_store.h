// SPDX-License-Identifier: Apache-2.0
// LocalStore: a folder of objects as an ObjectStore.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "objstore/object_store.h"
#include "rt/clock.h"
#include "rt/disk_turns.h"
#include "rt/offload.h"

namespace lakestream::objstore {

namespace local {
class Folder;
}

/// How a LocalStore shares its disk with others.
struct DiskSharing {
    rt::DiskTurns* turns = nullptr;  // of gets; null: they begin at once
    bool puts_first = false;         // clients wait for its puts: gets give way to them
};

/// Every request is one piece of work on an offloader; its threads bound the concurrency. Gets have
/// one of their own, so that a put is never queued behind them. A put
/// costs two fsyncs (the object, its folder), one more for each folder that is new, and no copy of
/// ours; whole-object gets are checked against the file's checksum where it has one, ranges are
/// not. A request whose task is dropped still runs to its end. Files over the process's size limit
/// are `exhausted` only if SIGXFSZ is ignored.
class LocalStore final : public ObjectStore {
  public:
    /// They may be the same.
    struct Threads {
        rt::Offloader& gets;
        rt::Offloader& others;
    };

    /// Blocks; call it while the node starts. Errors name the path and the next step:
    /// `unsupported` (no right to write, read-only, unfit file system), `exhausted` (full),
    /// `invalid_argument` (not a folder). `token` is random.
    static Result<std::unique_ptr<LocalStore>> open(
        std::string path,
        Threads threads,
        const rt::Clock& clock,
        std::uint64_t token,
        DiskSharing sharing = {}
    );

    rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) override;
    rt::Task<Status> put_file(std::string name, std::string path, IfExists if_exists) override;
    rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) override;
    rt::Task<Result<ObjectInfo>> head(std::string name) override;
    rt::Task<Result<ListPage>> list(std::string prefix, std::string after, std::uint32_t limit)
        override;
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override;

  private:
    LocalStore(std::shared_ptr<local::Folder> folder, Threads threads, DiskSharing sharing);

    std::shared_ptr<local::Folder> folder_;  // shared with the work in flight
    Threads threads_;
    DiskSharing sharing_;
};

}  // namespace lakestream::objstore
