// SPDX-License-Identifier: Apache-2.0
// System calls on files.
#include "objstore/local/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <span>

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

Result<Fd> open_file(const std::string& path, int flags) {
    constexpr mode_t mode = 0666;  // the umask takes from it
    while (true) {
        Fd file(open(path.c_str(), flags | O_CLOEXEC, mode));
        if (file.get() >= 0) {
            return file;
        }
        if (errno != EINTR) {
            return os_error(errno, "open", path);
        }
    }
}

Status write_all(const Fd& file, const Slices& body, const std::string& path) {
    std::array<iovec, IOV_MAX> pieces;
    const std::vector<Bytes>& parts = body.parts();
    std::size_t next = 0;
    std::size_t written = 0;  // of parts[next]
    while (next < parts.size()) {
        const std::size_t count = std::min(pieces.size(), parts.size() - next);
        for (std::size_t i = 0; i < count; ++i) {
            const Bytes& part = parts[next + i];
            const std::size_t skip = i == 0 ? written : 0;
            // writev only reads, but shares its argument's type with readv.
            pieces[i] = {std::bit_cast<void*>(part.data() + skip), part.size() - skip};
        }
        const ssize_t done = writev(file.get(), pieces.data(), static_cast<int>(count));
        if (done < 0 && errno != EINTR) {
            return os_error(errno, "write", path);
        }
        written += static_cast<std::size_t>(std::max<ssize_t>(done, 0));
        while (next < parts.size() && written >= parts[next].size()) {
            written -= parts[next].size();
            ++next;
        }
    }
    return {};
}

Result<Bytes> read_at(
    const Fd& file, std::uint64_t begin, std::size_t size, const std::string& path
) {
    auto buffer = std::make_shared_for_overwrite<std::byte[]>(size);
    std::byte* const to = buffer.get();
    for (std::size_t have = 0; have < size;) {
        const ssize_t done =
            pread(file.get(), to + have, size - have, static_cast<off_t>(begin + have));
        if (done == 0) {
            return corrupt(
                "{} lost bytes while it was read: it ends at {}, not {} or later; restore it",
                path,
                begin + have,
                begin + size
            );
        }
        if (done < 0 && errno != EINTR) {
            return os_error(errno, "read", path);
        }
        have += static_cast<std::size_t>(std::max<ssize_t>(done, 0));
    }
    return Bytes::share(std::move(buffer), std::span<const std::byte>(to, size));
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
