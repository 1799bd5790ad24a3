// SPDX-License-Identifier: Apache-2.0
// ObjectStore: the seam to a bucket or a folder of objects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/slices.h"
#include "base/time.h"
#include "rt/task.h"

namespace lakestream::objstore {

/// Half-open range of bytes of an object.
struct ByteRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    std::uint64_t size() const { return end - begin; }
};

enum class IfExists : std::uint8_t {
    fail,       // create only: `already_exists` when the name is taken
    overwrite,  // same name means same bytes: retries of one put
};

struct ObjectInfo {
    std::string name;
    std::uint64_t size = 0;  // bytes
    WallTime modified;       // the store's clock
};

struct ListPage {
    std::vector<ObjectInfo> objects;  // ascending by name, bytewise
    bool more = false;                // list again from the last name
};

/// Names are relative to the store's root, `/`-separated, 1 to 900 bytes of UTF-8; what else they
/// must not be is at `check_name` (`invalid_argument`). A name is not also a folder of others: `a`
/// beside `a/b` is `invalid_argument` where the store is a folder. Objects are immutable: written
/// once, whole. A put whose task has ended `ok` is durable and visible to every later get and list.
/// Safe to call from any executor; the result arrives on the caller's.
///
/// Errors of every call: `invalid_argument` (name), `unavailable`, `deadline_exceeded`, `throttled`
/// (nothing was applied), `exhausted` (disk or quota full; nothing was applied), `unsupported`
/// (permission, read-only). Only calls that say so return `outcome_unknown`.
class ObjectStore {
  public:
    virtual ~ObjectStore() = default;

    /// Write an object of any size that fits. Errors: also `already_exists` (IfExists::fail),
    /// `outcome_unknown` (it may exist, now or later: put the same bytes again with `overwrite`, or
    /// head it). Never leaves part of an object visible. Cost: 1 PUT.
    virtual rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) = 0;

    /// The same with the bytes of a local file, which does not change meanwhile and stays. Memory:
    /// a piece of it in a store that overrides this; here all of it, read on the caller's executor.
    /// Errors: also `unavailable` (the file cannot be read; nothing was applied).
    virtual rt::Task<Status> put_file(std::string name, std::string path, IfExists if_exists);

    /// Read a range, or all of it. Errors: also `not_found`, `out_of_range` (the range ends beyond
    /// the object), `corrupt` (the store's checksum says so; ranges may not be checked). Cost: 1
    /// GET.
    virtual rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) = 0;

    /// Size and time. Errors: also `not_found`. Cost: 1 HEAD.
    virtual rt::Task<Result<ObjectInfo>> head(std::string name) = 0;

    /// Names that start with `prefix` and are greater than `after`, at most `limit` (1 to 1000).
    /// Cost: 1 LIST.
    virtual rt::Task<Result<ListPage>> list(
        std::string prefix, std::string after, std::uint32_t limit
    ) = 0;

    /// Delete objects, at most 1000; one that is missing counts as deleted. The answer has one
    /// status for each name, in order; `outcome_unknown` is safe to repeat. A folder's loss of
    /// power may bring a deleted object back. Cost: 1 DELETE.
    virtual rt::Task<std::vector<Status>> remove(std::vector<std::string> names) = 0;
};

inline constexpr std::uint32_t list_limit_max = 1000;
inline constexpr std::size_t remove_names_max = 1000;

/// First segment that a folder keeps for unfinished writes.
inline constexpr std::string_view reserved_folder = ".lks-tmp";

/// Whether every store accepts this name; the error says what is wrong with it. Refused: control
/// characters and broken UTF-8; empty, `.` and `..` segments, and those over 255 bytes; what is
/// reserved above.
Status check_name(std::string_view name);

/// Whether the range is one: begin <= end.
Status check_range(const std::optional<ByteRange>& range);

/// Whether the limit of a list is in [1, list_limit_max].
Status check_limit(std::uint32_t limit);

/// Whether this many names may be removed at once.
Status check_remove(std::size_t names);

}  // namespace lakestream::objstore
