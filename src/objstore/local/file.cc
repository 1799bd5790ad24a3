// SPDX-License-Identifier: Apache-2.0
// System calls on files.
#include "objstore/local/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "codec/crc32c.h"

namespace lakestream::objstore::local {

namespace {

struct Meaning {
    ErrorCode code;
    std::string_view next_step;
};

Meaning meaning_of(int error) {
    switch (error) {
        case ENOENT: return {ErrorCode::not_found, "nothing is there"};
        case EEXIST: return {ErrorCode::already_exists, "the name is taken"};
        case ENOTDIR:
        case EISDIR:
        case ELOOP:
            return {ErrorCode::invalid_argument, "a name is an object or a folder, not both"};
        case ENAMETOOLONG: return {ErrorCode::invalid_argument, "choose a shorter name"};
        case ENOSPC: return {ErrorCode::exhausted, "free space or inodes on this file system"};
        case EDQUOT: return {ErrorCode::exhausted, "raise the quota or free space"};
        case EFBIG: return {ErrorCode::exhausted, "raise the limit of file sizes (ulimit -f)"};
        case ENOMEM: return {ErrorCode::exhausted, "give the machine or its container more memory"};
        case EACCES:
        case EPERM: return {ErrorCode::unsupported, "give this user the right to do so"};
        case EROFS: return {ErrorCode::unsupported, "mount the file system for writing"};
        case EXDEV: return {ErrorCode::unsupported, "keep the whole folder on one file system"};
        case EINVAL:
        case ENOSYS:
        case EOPNOTSUPP:
            return {ErrorCode::unsupported, "use a local file system such as ext4 or XFS"};
        case EMFILE:
        case ENFILE: return {ErrorCode::unavailable, "raise the limit of open files (ulimit -n)"};
        case EIO: return {ErrorCode::unavailable, "the disk may be failing: see the kernel's log"};
        default: return {ErrorCode::unavailable, "try again"};
    }
}

/// A disk serves requests in turn: a write, and the sync it waits for, is behind what reads have in
/// flight, so they have little. Enough of it for full speed, with a few threads that read.
constexpr std::size_t read_piece = std::size_t{256} << 10;

/// Aligned memory through which files are written: large enough for a disk to be busy, small enough
/// to stay in the processor's cache between the copy, the CRC and the write.
class Staging {
  public:
    Staging() { madvise(memory_.get(), page, MADV_HUGEPAGE); }  // a wish
    std::span<std::byte> bytes() const noexcept { return {memory_.get(), size}; }

  private:
    static constexpr std::size_t size = std::size_t{1} << 20;
    // In one large page a write is one request to the disk; of small ones a disk takes 1 MiB in
    // two.
    static constexpr std::size_t page = std::size_t{2} << 20;
    static constexpr std::align_val_t alignment{page};

    struct Free {
        void operator()(std::byte* memory) const noexcept { operator delete[](memory, alignment); }
    };

    std::unique_ptr<std::byte[], Free> memory_{new (alignment) std::byte[page]};
};

std::size_t aligned_up(std::size_t size) {
    return (size + direct_alignment - 1) / direct_alignment * direct_alignment;
}

Status write_all(const Fd& file, std::span<const std::byte> bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t done = write(file.get(), bytes.data(), bytes.size());
        if (done < 0 && errno != EINTR) {
            return os_error(errno, "write", path);
        }
        bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(done, 0)));
    }
    return {};
}

Result<Fd> make_file(const std::string& path, Io io) {
    Result<Fd> file = open_file(path, O_WRONLY | O_CREAT | O_EXCL, io);
    if (file.is(ErrorCode::already_exists)) {
        return unavailable("{} is in use by another request: try again", path);
    }
    return file;
}

Status attach_sum(const Fd& file, std::uint32_t crc, const std::string& path) {
    const std::string digits = fmt::format("{}", crc);
    if (fsetxattr(file.get(), checksum_attribute, digits.data(), digits.size(), 0) == 0) {
        return {};
    }
    const bool none = errno == ENOTSUP || errno == EPERM || errno == ENOSYS;
    return none ? Status() : os_error(errno, "attach a checksum to", path);
}

}  // namespace

Fd::~Fd() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

Error os_error(int error, std::string_view action, const std::string& path) {
    const char* description = strerrordesc_np(error);
    const Meaning meaning = meaning_of(error);
    return make_error(
        meaning.code,
        "cannot {} {}: {}; {}",
        action,
        path,
        description != nullptr ? description : "unknown error",
        meaning.next_step
    );
}

Result<Fd> open_file(const std::string& path, int flags, Io io) {
    constexpr mode_t mode = 0666;  // the umask takes from it
    const int all_flags = flags | O_CLOEXEC | (io == Io::direct ? O_DIRECT : 0);
    while (true) {
        Fd file(open(path.c_str(), all_flags, mode));
        if (file.get() >= 0) {
            return file;
        }
        if (errno != EINTR) {
            return os_error(errno, "open", path);
        }
    }
}

Source source_of(const Slices& body) {
    return [&parts = body.parts(),
            part = std::size_t{0},
            at = std::size_t{0}](std::span<std::byte> buffer) mutable -> Result<std::size_t> {
        std::size_t filled = 0;
        while (filled < buffer.size() && part < parts.size()) {
            const std::span<const std::byte> rest = parts[part].span().subspan(at);
            const std::size_t count = std::min(rest.size(), buffer.size() - filled);
            std::memcpy(buffer.data() + filled, rest.data(), count);
            filled += count;
            at = count == rest.size() ? 0 : at + count;
            part += count == rest.size() ? 1 : 0;
        }
        return filled;
    };
}

Source source_of(const Fd& file, const std::string& path) {
    return [&file, path](std::span<std::byte> buffer) -> Result<std::size_t> {
        std::size_t filled = 0;
        while (filled < buffer.size()) {
            const ssize_t done = read(file.get(), buffer.data() + filled, buffer.size() - filled);
            if (done < 0 && errno != EINTR) {
                return os_error(errno, "read", path);
            }
            if (done == 0) {
                break;
            }
            filled += static_cast<std::size_t>(std::max<ssize_t>(done, 0));
        }
        return filled;
    };
}

Status write_new(const std::string& path, const Source& source, Io io) {
    thread_local const Staging staging;
    const Fd file = LKS_TRY(make_file(path, io));
    const std::span<std::byte> buffer = staging.bytes();
    std::uint32_t crc = 0;
    std::size_t filled = buffer.size();
    while (filled == buffer.size()) {
        filled = LKS_TRY(source(buffer));
        crc = codec::crc32c(buffer.first(filled), crc);
        const std::size_t last = io == Io::direct ? filled % direct_alignment : 0;
        LKS_TRY(write_all(file, buffer.first(filled - last), path));
        if (last > 0) {
            // Direct IO ends at blocks. To write more and cut it off would read the block again.
            if (fcntl(file.get(), F_SETFL, 0) != 0) {
                return os_error(errno, "write the end of", path);
            }
            LKS_TRY(write_all(file, buffer.subspan(filled - last, last), path));
        }
    }
    LKS_TRY(attach_sum(file, crc, path));
    if (fsync(file.get()) != 0) {
        return os_error(errno, "sync", path);
    }
    return {};
}

Status check_sum(const Fd& file, const Bytes& body, const std::string& path) {
    std::array<char, 10> digits{};
    const ssize_t count = fgetxattr(file.get(), checksum_attribute, digits.data(), digits.size());
    if (count < 0 && errno != ERANGE) {
        return {};  // written by another engine, or brought here without its attributes
    }
    std::uint32_t expected = 0;
    const char* const end = digits.data() + std::max<ssize_t>(count, 0);
    const auto [stopped, error] = std::from_chars(digits.data(), end, expected);
    const std::uint32_t actual = codec::crc32c(body.span());
    if (error == std::errc() && stopped == end && actual == expected) {
        return {};
    }
    return corrupt(
        "{} has CRC32C {}, its attribute {} says {}: bytes have decayed; keep the file, restore "
        "the object from a backup, or remove the attribute (setfattr -x) to read it as it is",
        path,
        actual,
        checksum_attribute,
        std::string_view(digits.data(), end)
    );
}

bool has_checksum(const std::string& path) {
    return getxattr(path.c_str(), checksum_attribute, nullptr, 0) >= 0;
}

Result<Bytes> read_at(
    const Fd& file, ByteRange range, Io io, const std::string& path, rt::DiskTurns* turns
) {
    const std::uint64_t begin = range.begin;
    const std::size_t size = range.size();
    // Direct reads begin and end at blocks; what was not asked for is cut off without a copy.
    const std::uint64_t skip = io == Io::direct ? begin % direct_alignment : 0;
    const std::size_t wanted = skip + size;
    const std::size_t room = io == Io::direct ? aligned_up(wanted) : wanted;
    const std::size_t slack = io == Io::direct ? direct_alignment : 0;
    auto memory = std::make_shared_for_overwrite<std::byte[]>(room + slack);
    void* aligned = memory.get();
    std::size_t space = room + slack;
    if (io == Io::direct) {
        std::align(direct_alignment, room, aligned, space);
    }
    auto* const to = static_cast<std::byte*>(aligned);
    for (std::size_t have = 0; have < wanted;) {
        const auto turn = turns != nullptr ? turns->read() : rt::DiskTurns::Turn();
        const ssize_t done = pread(
            file.get(),
            to + have,
            std::min(room - have, read_piece),
            static_cast<off_t>(begin - skip + have)
        );
        if (done == 0) {
            return corrupt(
                "{} lost bytes while it was read: it ends at {}, not {} or later; restore it",
                path,
                begin - skip + have,
                begin + size
            );
        }
        if (done < 0 && errno != EINTR) {
            return os_error(errno, "read", path);
        }
        have += static_cast<std::size_t>(std::max<ssize_t>(done, 0));
    }
    return Bytes::share(std::move(memory), std::span<const std::byte>(to + skip, size));
}

Status sync_folder(const std::string& path) {
    const Fd folder = LKS_TRY(open_file(path, O_RDONLY | O_DIRECTORY));
    if (fsync(folder.get()) != 0) {
        return os_error(errno, "sync folder", path);
    }
    return {};
}

Result<std::vector<std::string>> read_folder(const std::string& path) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
    if (folder == nullptr) {
        return os_error(errno, "read folder", path);
    }
    std::vector<std::string> names;
    while (true) {
        errno = 0;
        const dirent* entry = readdir(folder.get());
        if (entry == nullptr) {
            break;
        }
        std::string name = entry->d_name;
        unsigned char type = entry->d_type;
        if (name == "." || name == "..") {
            continue;
        }
        if (type == DT_UNKNOWN) {
            struct stat status;
            if (fstatat(dirfd(folder.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
                type = S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : type;
            }
        }
        if (type == DT_DIR) {
            name += '/';
        } else if (type != DT_REG) {
            continue;  // pipes, devices and links are not objects
        }
        names.push_back(std::move(name));
    }
    if (errno != 0) {
        return os_error(errno, "read folder", path);
    }
    return names;
}

WallTime modified(const struct stat& status) {
    return wall_from_ms(status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000);
}

}  // namespace lakestream::objstore::local
