// SPDX-License-Identifier: Apache-2.0
// Files that appear whole and stay.
//
// put:  1 write `.lks-tmp/<token>`    2 fsync it         3 rename it into place (making folders)
//       4 fsync the folder, and the folders above that are not known to be durable
//
// The checksum is an attribute of the file, so it comes, goes and becomes durable with the bytes. A
// crash between two steps leaves a temporary file or a whole object.
#include "objstore/local/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/log.h"
#include "codec/crc32c.h"
#include "objstore/local/file.h"

namespace lakestream::objstore::local {

namespace {

constexpr std::chrono::hours temporary_age_max{1};
constexpr std::size_t durable_folders_max = 4096;
constexpr int place_attempts_max = 8;
constexpr long tmpfs_magic = 0x01021994;

/// The folder of a name, relative to the root; empty for the root.
std::string folder_of(std::string_view name) {
    const std::size_t slash = name.rfind('/');
    return std::string(slash == name.npos ? std::string_view() : name.substr(0, slash));
}

bool is_folder(const std::string& path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Make one folder; one that exists, or a file in its place, is left alone.
int make_one(const std::string& path) {
    return mkdir(path.c_str(), 0777) == 0 || errno == EEXIST ? 0 : errno;
}

/// The folder that holds a path of the file system.
std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Make the root and the folders above it, durably.
Status make_root(const std::string& root) {
    if (is_folder(root)) {
        return {};
    }
    const std::string parent = parent_of(root);
    LKS_TRY(make_root(parent));
    if (const int error = make_one(root); error != 0) {
        return os_error(error, "make folder", root);
    }
    return sync_folder(parent);
}

/// A temporary file that was not renamed does not stay.
class Temporary {
  public:
    explicit Temporary(std::string path) : path_(std::move(path)) {}
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    ~Temporary() {
        if (!moved_) {
            unlink(path_.c_str());
        }
    }

    const std::string& path() const noexcept { return path_; }
    void moved() noexcept { moved_ = true; }

  private:
    std::string path_;
    bool moved_ = false;
};

/// An error of a name on its way to being read: a folder, or something below an object, is no
/// object.
Error missing_or(Error error, const std::string& path) {
    const bool missing =
        error.code == ErrorCode::not_found || error.code == ErrorCode::invalid_argument;
    return missing ? not_found("there is no object {}", path) : std::move(error);
}

}  // namespace

std::string Folder::path_of(std::string_view name) const {
    return name.empty() ? root_ : fmt::format("{}/{}", root_, name);
}

std::string Folder::temporary_path(std::uint64_t token, std::string_view ending) const {
    return fmt::format("{}/{}/{:016x}{}", root_, reserved_folder, token, ending);
}

Result<std::unique_ptr<Folder>> Folder::open(std::string path, WallTime now, std::uint64_t token) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    if (path.empty()) {
        return invalid_argument("the path of the object folder is empty");
    }
    std::unique_ptr<Folder> folder(new Folder(std::move(path)));
    LKS_TRY(make_root(folder->root_));
    LKS_TRY(folder->make_folder(std::string(reserved_folder)));
    LKS_TRY(sync_folder(folder->root_));
    LKS_TRY(folder->prove(token));
    LKS_TRY(folder->sweep(now));
    return folder;
}

Status Folder::prove(std::uint64_t token) {
    const Temporary first(temporary_path(token, ".probe"));
    const Temporary second(temporary_path(token, ".probe2"));
    const Slices body(Bytes::copy("lakestream"));
    Status written = write_new(first.path(), source_of(body), io_);
    if (written.is(ErrorCode::unsupported)) {
        unlink(first.path().c_str());
        io_ = Io::cached;
        written = write_new(first.path(), source_of(body), io_);
    }
    LKS_TRY(std::move(written));
    keeps_checksums_ = has_checksum(first.path());
    if (renameat2(
            AT_FDCWD, first.path().c_str(), AT_FDCWD, second.path().c_str(), RENAME_NOREPLACE
        ) != 0) {
        rename_keeps_ = false;  // NFS and old kernels: hard links do it in two steps
        LKS_TRY(rename_new(first.path(), second.path()));
    }
    LKS_TRY(write_new(first.path(), source_of(body), io_));
    if (!rename_new(first.path(), second.path()).is(ErrorCode::already_exists)) {
        return unsupported(
            "the file system of {} replaces files when told not to; use a local one such as ext4",
            root_
        );
    }
    return {};
}

bool Folder::in_memory() const {
    struct statfs system;
    return statfs(root_.c_str(), &system) == 0 && system.f_type == tmpfs_magic;
}

Status Folder::sweep(WallTime now) {
    const std::string folder = path_of(reserved_folder);
    std::size_t swept = 0;
    for (const std::string& name : LKS_TRY(read_folder(folder))) {
        const std::string path = fmt::format("{}/{}", folder, name);
        struct stat status;
        // Another process may be writing the young ones.
        if (stat(path.c_str(), &status) == 0 && modified(status) + temporary_age_max < now &&
            unlink(path.c_str()) == 0) {
            ++swept;
        }
    }
    if (swept > 0) {
        log::info("objstore", "temporaries_swept path={} count={}", folder, swept);
    }
    return {};
}

Status Folder::put(
    const std::string& name, const Slices& body, IfExists if_exists, std::uint64_t token
) {
    return put_from(name, source_of(body), if_exists, token);
}

Status Folder::put_file(
    const std::string& name, const std::string& path, IfExists if_exists, std::uint64_t token
) {
    const Result<Fd> file = open_file(path, O_RDONLY);
    if (!file.ok()) {
        // It is not the object that is missing.
        return file.is(ErrorCode::not_found) ? unavailable("{}", file.error().message)
                                             : file.error();
    }
    return put_from(name, source_of(*file, path), if_exists, token);
}

Status Folder::put_from(
    const std::string& name, const Source& source, IfExists if_exists, std::uint64_t token
) {
    LKS_TRY(check_name(name));
    Temporary temporary(temporary_path(token, ""));
    LKS_TRY(write_new(temporary.path(), source, io_));
    const Replace replace = if_exists == IfExists::fail ? Replace::no : Replace::yes;
    Status placed = place(temporary.path(), name, replace);
    if (!placed.ok()) {
        if (placed.is(ErrorCode::already_exists)) {
            // Whoever hears this may rely on that object, whose put may not have ended.
            LKS_TRY(sync_folders(name));
        }
        return placed;
    }
    temporary.moved();
    if (const Status synced = sync_folders(name); !synced.ok()) {
        return outcome_unknown("object '{}' may not be durable: {}", name, synced.error().message);
    }
    return {};
}

Status Folder::place(const std::string& temporary, const std::string& name, Replace replace) {
    const std::string path = path_of(name);
    for (int attempt = 0; attempt < place_attempts_max; ++attempt) {
        Status placed;
        if (replace == Replace::no) {
            placed = rename_new(temporary, path);
        } else if (rename(temporary.c_str(), path.c_str()) != 0) {
            placed = os_error(errno, "put in place", path);
        }
        if (placed.is(ErrorCode::already_exists) && is_folder(path)) {
            return invalid_argument("object '{}': {} is a folder", name, path);
        }
        if (!placed.is(ErrorCode::not_found)) {
            return placed;
        }
        // A new folder, or one that was removed when its last object was.
        LKS_TRY(make_folder(folder_of(name)));
    }
    return unavailable("cannot put {} in place: its folder keeps vanishing; try again", path);
}

Status Folder::rename_new(const std::string& temporary, const std::string& path) const {
    if (rename_keeps_) {
        if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
            return os_error(errno, "put in place", path);
        }
        return {};
    }
    if (link(temporary.c_str(), path.c_str()) != 0) {
        return os_error(errno, "put in place", path);
    }
    unlink(temporary.c_str());
    return {};
}

Status Folder::make_folder(const std::string& folder) {
    const std::string path = path_of(folder);
    int error = make_one(path);
    if (error == ENOENT && !folder.empty()) {
        LKS_TRY(make_folder(folder_of(folder)));
        error = make_one(path);
    }
    if (error != 0 && error != ENOENT) {
        return os_error(error, "make folder", path);
    }
    // It may be a new one in place of one that another process removed.
    const std::scoped_lock lock(mutex_);
    durable_.erase(folder);
    return {};
}

Status Folder::sync_folders(const std::string& name) {
    // Dated folders are new every second, and each lies in one that is seldom new: going up ends at
    // the first one known to be durable, mostly after one step.
    std::vector<std::string> fresh;
    std::string folder = folder_of(name);
    LKS_TRY(sync_folder(path_of(folder)));
    while (!folder.empty()) {
        {
            const std::scoped_lock lock(mutex_);
            if (durable_.contains(folder)) {
                break;
            }
        }
        fresh.push_back(folder);
        folder = folder_of(folder);
        LKS_TRY(sync_folder(path_of(folder)));
    }
    if (!fresh.empty()) {
        const std::scoped_lock lock(mutex_);
        if (durable_.size() + fresh.size() > durable_folders_max) {
            durable_.clear();
        }
        durable_.insert(fresh.begin(), fresh.end());
    }
    return {};
}

Result<Bytes> Folder::get(
    const std::string& name, const std::optional<ByteRange>& range, rt::DiskTurns* turns
) const {
    LKS_TRY(check_name(name));
    LKS_TRY(check_range(range));
    const std::string path = path_of(name);
    Result<Fd> file = open_file(path, O_RDONLY, io_);
    if (!file.ok()) {
        return is_folder(path) ? not_found("there is no object {}", path)
                               : missing_or(std::move(file).error(), path);
    }
    struct stat status;
    if (fstat(file->get(), &status) != 0) {
        return os_error(errno, "look at", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return not_found("there is no object {}", path);
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const ByteRange wanted = range.value_or(ByteRange{0, size});
    if (wanted.end > size) {
        return out_of_range(
            "{} has {} bytes, asked for [{}, {})", path, size, wanted.begin, wanted.end
        );
    }
    Bytes body = LKS_TRY(read_at(*file, wanted, io_, path, turns));
    if (!range.has_value()) {
        LKS_TRY(check_sum(*file, body, path));
    }
    return body;
}

Result<ObjectInfo> Folder::head(const std::string& name) const {
    LKS_TRY(check_name(name));
    const std::string path = path_of(name);
    struct stat status;
    if (stat(path.c_str(), &status) != 0) {
        return missing_or(os_error(errno, "look at", path), path);
    }
    if (!S_ISREG(status.st_mode)) {
        return not_found("there is no object {}", path);
    }
    return ObjectInfo{name, static_cast<std::uint64_t>(status.st_size), modified(status)};
}

struct Folder::Walk {
    const std::string& prefix;
    const std::string& after;
    std::uint32_t limit;
    ListPage page;
};

Result<ListPage> Folder::list(
    const std::string& prefix, const std::string& after, std::uint32_t limit
) const {
    LKS_TRY(check_limit(limit));
    const std::string folder = folder_of(prefix);
    Walk whole{prefix, after, limit, {}};
    // A prefix that no name can have must not lead out of the root.
    if (folder.empty() ? !prefix.starts_with('/') : check_name(folder + "/x").ok()) {
        LKS_TRY(walk(folder, whole));
    }
    return std::move(whole.page);
}

Status Folder::walk(const std::string& folder, Walk& all) const {
    Result<std::vector<std::string>> entries = read_folder(path_of(folder));
    if (!entries.ok()) {
        // Gone, or never there.
        const bool missing =
            entries.is(ErrorCode::not_found) || entries.is(ErrorCode::invalid_argument);
        return missing ? Status() : Status(std::move(entries).error());
    }
    // With the `/` of folders, the order of entries is the order of the names below them.
    std::ranges::sort(*entries);
    for (const std::string& entry : *entries) {
        std::string name = folder.empty() ? entry : fmt::format("{}/{}", folder, entry);
        const bool passed = name < all.after && !all.after.starts_with(name);
        if (!name.starts_with(all.prefix) || passed) {
            continue;
        }
        if (name.ends_with('/')) {
            name.pop_back();
            LKS_TRY(name == reserved_folder ? Status() : walk(name, all));
        } else if (name > all.after && check_name(name).ok()) {
            if (all.page.objects.size() == all.limit) {
                all.page.more = true;
            } else if (Result<ObjectInfo> info = head(name); info.ok()) {
                all.page.objects.push_back(std::move(*info));
            } else if (!info.is(ErrorCode::not_found)) {
                return std::move(info).error();
            }
        }
        if (all.page.more) {
            break;
        }
    }
    return {};
}

Status Folder::remove(const std::string& name) {
    LKS_TRY(check_name(name));
    const std::string path = path_of(name);
    if (is_folder(path)) {
        return {};
    }
    if (unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
        return os_error(errno, "delete", path);
    }
    for (std::string folder = folder_of(name); !folder.empty(); folder = folder_of(folder)) {
        // Under the lock, so that no put takes a folder made anew for the durable old one.
        const std::scoped_lock lock(mutex_);
        if (rmdir(path_of(folder).c_str()) != 0) {
            break;
        }
        durable_.erase(folder);
    }
    return {};
}

}  // namespace lakestream::objstore::local
