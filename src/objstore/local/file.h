// SPDX-License-Identifier: Apache-2.0
// Files of one folder store: descriptors that close themselves, and errno as an Error.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/slices.h"
#include "base/time.h"

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

/// Make a file with these bytes and fsync it; answers their CRC-32C. Errors: also `unavailable`
/// when the file exists, `unsupported` when the file system has no direct IO. Cost: one copy, into
/// 1 MiB that each thread keeps.
Result<std::uint32_t> write_new(const std::string& path, const Slices& body, Io io);

/// Make a small file, without fsync.
Status write_small(const std::string& path, std::string_view text);

/// Read bytes [begin, begin + size). Precondition: the file has had them; `corrupt` if it has not.
Result<Bytes> read_at(
    const Fd& file, std::uint64_t begin, std::size_t size, Io io, const std::string& path
);

/// fsync a folder: the names in it are durable.
Status sync_folder(const std::string& path);

/// Names in a folder, those of folders with a `/` at the end, in no order. `not_found` if none.
Result<std::vector<std::string>> read_folder(const std::string& path);

WallTime modified(const struct stat& status);

}  // namespace lakestream::objstore::local
