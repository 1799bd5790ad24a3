// SPDX-License-Identifier: Apache-2.0
// Folder: objects as files, by blocking calls (docs/formats/local-folder.md).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "objstore/local/file.h"
#include "objstore/object_store.h"

namespace lakestream::objstore::local {

/// Thread-safe; several processes may share a folder. Blocks: run it on an rt::Offloader. A
/// `token` names the temporary files of one call: give each call a random one.
class Folder {
  public:
    /// Make the folder if it is missing, prove that it can be written to and that its file system
    /// renames without replacing, delete temporary files older than an hour before `now`.
    static Result<std::unique_ptr<Folder>> open(
        std::string path, WallTime now, std::uint64_t token
    );

    /// Two fsyncs, more when folders are new. After `outcome_unknown` the name may be taken.
    Status put(
        const std::string& name, const Slices& body, IfExists if_exists, std::uint64_t token
    );
    /// The same from a local file, a piece of it in memory at a time.
    Status put_file(
        const std::string& name, const std::string& path, IfExists if_exists, std::uint64_t token
    );
    /// A piece at a time, each in its turn unless there are none.
    Result<Bytes> get(
        const std::string& name,
        const std::optional<ByteRange>& range,
        rt::DiskTurns* turns = nullptr
    ) const;
    Result<ObjectInfo> head(const std::string& name) const;
    /// Reads the folders on the way to the page, not the whole tree.
    Result<ListPage> list(const std::string& prefix, const std::string& after, std::uint32_t limit)
        const;
    /// Deletes also the folders that became empty.
    Status remove(const std::string& name);

    /// Whether the file system forgets everything when the machine stops.
    bool in_memory() const;
    /// Whether whole reads are checked against what was written.
    bool keeps_checksums() const noexcept { return keeps_checksums_; }
    const std::string& root() const noexcept { return root_; }

  private:
    enum class Replace : bool { no, yes };
    struct Walk;

    explicit Folder(std::string root) : root_(std::move(root)) {}

    std::string path_of(std::string_view name) const;
    std::string temporary_path(std::uint64_t token, std::string_view ending) const;
    Status put_from(
        const std::string& name, const Source& source, IfExists if_exists, std::uint64_t token
    );
    Status prove(std::uint64_t token);
    Status sweep(WallTime now);
    Status place(const std::string& temporary, const std::string& name, Replace replace);
    Status rename_new(const std::string& temporary, const std::string& path) const;
    Status make_folder(const std::string& folder);
    Status sync_folders(const std::string& name);
    Status walk(const std::string& folder, Walk& walk) const;

    std::string root_;               // absolute or relative, without a `/` at the end
    Io io_ = Io::direct;             // what the file system can do; set by `open`
    bool rename_keeps_ = true;       // the file system can rename without replacing; set by `open`
    bool keeps_checksums_ = false;   // the file system has attributes; set by `open`
    std::mutex mutex_;               // of durable_
    std::set<std::string> durable_;  // folders, relative, known to survive a loss of power
};

}  // namespace lakestream::objstore::local
