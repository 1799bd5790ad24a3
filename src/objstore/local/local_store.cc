// SPDX-License-Identifier: Apache-2.0
// Each request is handed to the offloader with all it needs, so that it depends on no frame.
#include "objstore/local/local_store.h"

#include <utility>

#include "base/log.h"
#include "objstore/local/folder.h"

namespace lakestream::objstore {

LocalStore::LocalStore(std::shared_ptr<local::Folder> folder, Threads threads, DiskSharing sharing)
    : folder_(std::move(folder)), threads_(threads), sharing_(sharing) {}

Result<std::unique_ptr<LocalStore>> LocalStore::open(
    std::string path,
    Threads threads,
    const rt::Clock& clock,
    std::uint64_t token,
    DiskSharing sharing
) {
    std::shared_ptr<local::Folder> folder =
        LKS_TRY(local::Folder::open(std::move(path), clock.wall_now(), token));
    if (folder->in_memory()) {
        log::warn("objstore", "folder_not_durable path={} file_system=tmpfs", folder->root());
    }
    if (!folder->keeps_checksums()) {
        log::warn(
            "objstore", "folder_without_checksums path={} reason=no_attributes", folder->root()
        );
    }
    return std::unique_ptr<LocalStore>(new LocalStore(std::move(folder), threads, sharing));
}

rt::Task<Status> LocalStore::put(std::string name, Slices body, IfExists if_exists) {
    rt::Executor& executor = co_await rt::this_executor();
    co_return co_await rt::offload(
        threads_.others,
        [folder = folder_,
         name = std::move(name),
         body = std::move(body),
         if_exists,
         token = executor.rng().next(),
         turns = sharing_.puts_first ? sharing_.turns : nullptr] {
            const auto turn = turns != nullptr ? turns->write() : rt::DiskTurns::Turn();
            return folder->put(name, body, if_exists, token);
        }
    );
}

rt::Task<Status> LocalStore::put_file(std::string name, std::string path, IfExists if_exists) {
    rt::Executor& executor = co_await rt::this_executor();
    co_return co_await rt::offload(
        threads_.others,
        [folder = folder_,
         name = std::move(name),
         path = std::move(path),
         if_exists,
         token = executor.rng().next()] { return folder->put_file(name, path, if_exists, token); }
    );
}

rt::Task<Result<Bytes>> LocalStore::get(std::string name, std::optional<ByteRange> range) {
    co_return co_await rt::offload(
        threads_.gets,
        [folder = folder_, name = std::move(name), range, turns = sharing_.turns] {
            return folder->get(name, range, turns);
        }
    );
}

rt::Task<Result<ObjectInfo>> LocalStore::head(std::string name) {
    co_return co_await rt::offload(threads_.others, [folder = folder_, name = std::move(name)] {
        return folder->head(name);
    });
}

rt::Task<Result<ListPage>> LocalStore::list(
    std::string prefix, std::string after, std::uint32_t limit
) {
    co_return co_await rt::offload(
        threads_.others,
        [folder = folder_, prefix = std::move(prefix), after = std::move(after), limit] {
            return folder->list(prefix, after, limit);
        }
    );
}

rt::Task<std::vector<Status>> LocalStore::remove(std::vector<std::string> names) {
    if (Status few = check_remove(names.size()); !few.ok()) {
        co_return std::vector<Status>(names.size(), few);
    }
    co_return co_await rt::offload(threads_.others, [folder = folder_, names = std::move(names)] {
        std::vector<Status> removed;
        removed.reserve(names.size());
        for (const std::string& name : names) {
            removed.push_back(folder->remove(name));
        }
        return removed;
    });
}

}  // namespace lakestream::objstore
