// SPDX-License-Identifier: Apache-2.0
// Objects in a sorted map.
#include "objstore/memory_store.h"

#include <algorithm>

namespace lakestream::objstore {

namespace {

/// The bytes [begin, end): shared when they lie in one part, else copied.
Bytes cut(const Slices& body, ByteRange range) {
    Slices inside;
    std::uint64_t part_begin = 0;
    for (const Bytes& part : body.parts()) {
        const std::uint64_t part_end = part_begin + part.size();
        const std::uint64_t begin = std::max(range.begin, part_begin);
        const std::uint64_t end = std::min(range.end, part_end);
        if (begin < end) {
            inside.append(part.slice(begin - part_begin, end - begin));
        }
        part_begin = part_end;
    }
    return inside.join();
}

}  // namespace

Status MemoryBucket::check_folders(const std::string& name) const {
    const auto inside = objects_.lower_bound(name + '/');
    if (inside != objects_.end() && inside->first.starts_with(name + '/')) {
        return invalid_argument("object '{}' is a folder: '{}' exists", name, inside->first);
    }
    for (std::size_t slash = name.find('/'); slash != name.npos;
         slash = name.find('/', slash + 1)) {
        if (objects_.contains(std::string_view(name).substr(0, slash))) {
            return invalid_argument(
                "object '{}': its folder '{}' is an object", name, name.substr(0, slash)
            );
        }
    }
    return {};
}

Status MemoryBucket::put(const std::string& name, Slices body, IfExists if_exists) {
    LKS_TRY(check_name(name));
    const std::scoped_lock lock(mutex_);
    LKS_TRY(check_folders(name));
    if (if_exists == IfExists::fail && objects_.contains(name)) {
        return already_exists("object '{}'", name);
    }
    objects_.insert_or_assign(name, Object{std::move(body), clock_.wall_now()});
    return {};
}

Result<Bytes> MemoryBucket::get(const std::string& name, const std::optional<ByteRange>& range)
    const {
    LKS_TRY(check_name(name));
    LKS_TRY(check_range(range));
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(name);
    if (found == objects_.end()) {
        return not_found("there is no object {}", name);
    }
    const Slices& body = found->second.body;
    if (range.has_value() && range->end > body.size()) {
        return out_of_range(
            "object '{}' has {} bytes, asked for [{}, {})",
            name,
            body.size(),
            range->begin,
            range->end
        );
    }
    return cut(body, range.value_or(ByteRange{0, body.size()}));
}

Result<ObjectInfo> MemoryBucket::head(const std::string& name) const {
    LKS_TRY(check_name(name));
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(name);
    if (found == objects_.end()) {
        return not_found("there is no object {}", name);
    }
    return ObjectInfo{name, found->second.body.size(), found->second.modified};
}

Result<ListPage> MemoryBucket::list(
    const std::string& prefix, const std::string& after, std::uint32_t limit
) const {
    LKS_TRY(check_limit(limit));
    const std::scoped_lock lock(mutex_);
    auto at = after < prefix ? objects_.lower_bound(prefix) : objects_.upper_bound(after);
    ListPage page;
    for (; at != objects_.end() && at->first.starts_with(prefix); ++at) {
        if (page.objects.size() == limit) {
            page.more = true;
            break;
        }
        page.objects.push_back({at->first, at->second.body.size(), at->second.modified});
    }
    return page;
}

Status MemoryBucket::remove(const std::string& name) {
    LKS_TRY(check_name(name));
    const std::scoped_lock lock(mutex_);
    objects_.erase(name);
    return {};
}

std::size_t MemoryBucket::size() const {
    const std::scoped_lock lock(mutex_);
    return objects_.size();
}

std::uint64_t MemoryBucket::bytes() const {
    const std::scoped_lock lock(mutex_);
    std::uint64_t total = 0;
    for (const auto& [name, object] : objects_) {
        total += object.body.size();
    }
    return total;
}

rt::Task<Status> MemoryStore::put(std::string name, Slices body, IfExists if_exists) {
    co_await rt::yield();
    co_return bucket_.put(name, std::move(body), if_exists);
}

rt::Task<Result<Bytes>> MemoryStore::get(std::string name, std::optional<ByteRange> range) {
    co_await rt::yield();
    co_return bucket_.get(name, range);
}

rt::Task<Result<ObjectInfo>> MemoryStore::head(std::string name) {
    co_await rt::yield();
    co_return bucket_.head(name);
}

rt::Task<Result<ListPage>> MemoryStore::list(
    std::string prefix, std::string after, std::uint32_t limit
) {
    co_await rt::yield();
    co_return bucket_.list(prefix, after, limit);
}

rt::Task<std::vector<Status>> MemoryStore::remove(std::vector<std::string> names) {
    co_await rt::yield();
    if (Status few = check_remove(names.size()); !few.ok()) {
        co_return std::vector<Status>(names.size(), few);
    }
    std::vector<Status> removed;
    removed.reserve(names.size());
    for (const std::string& name : names) {
        removed.push_back(bucket_.remove(name));
    }
    co_return removed;
}

}  // namespace lakestream::objstore
