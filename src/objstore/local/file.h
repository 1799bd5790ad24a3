// SPDX-License-Identifier: Apache-2.0
// Files of one folder store: descriptors that close themselves, and errno as an Error.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/slices.h"
#include "base/time.h"
#include "objstore/object_store.h"
#include "rt/disk_turns.h"

namespace lakestream::objstore::local {

/// Owns a file descriptor. Move-only.
class Fd {
  public:
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd();

    int get() const noexcept { return fd_; }

  private:
    int fd_;
};

/// Whether bytes pass through the page cache. Direct IO saves the kernel's copy and its pages,
/// which cost several times the write itself where memory is fresh (virtual machines).
enum class Io : bool { cached, direct };

/// What direct IO needs of memory, positions and sizes: enough for every disk in use.
inline constexpr std::size_t direct_alignment = 4096;

/// "cannot <action> <path>: <cause>; <next step>", with the code that `error` (an errno) calls for.
/// Nothing was applied, or the caller says otherwise.
Error os_error(int error, std::string_view action, const std::string& path);

Result<Fd> open_file(const std::string& path, int flags, Io io = Io::cached);

/// Where a file's CRC-32C is kept: decimal ASCII.
inline constexpr const char* checksum_attribute = "user.lakestream.crc32c";

/// Bytes in order: each call fills the buffer, or what is left into its begin; how many came.
using Source = std::function<Result<std::size_t>(std::span<std::byte>)>;
/// `body` and `file` outlive it. A file is read from where it stands.
Source source_of(const Slices& body);
Source source_of(const Fd& file, const std::string& path);

/// Make a file with these bytes and their checksum and fsync it. On a file system without
/// attributes it has no checksum. Errors: also `unavailable` when the file exists, `unsupported`
/// when the file system has no direct IO. Cost: one copy, into 1 MiB that each thread keeps.
Status write_new(const std::string& path, const Source& source, Io io);

/// Compare all of a file's bytes with its checksum, if it has one. Errors: `corrupt`.
Status check_sum(const Fd& file, const Bytes& body, const std::string& path);

bool has_checksum(const std::string& path);

/// Read a range, a piece at a time, each in its turn unless there are none. Precondition: the file
/// has had it; `corrupt` if it has not.
Result<Bytes> read_at(
    const Fd& file, ByteRange range, Io io, const std::string& path, rt::DiskTurns* turns
);

/// fsync a folder: the names in it are durable.
Status sync_folder(const std::string& path);

/// Names in a folder, those of folders with a `/` at the end, in no order. `not_found` if none.
Result<std::vector<std::string>> read_folder(const std::string& path);

WallTime modified(const struct stat& status);

}  // namespace lakestream::objstore::local
