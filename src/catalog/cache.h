// SPDX-License-Identifier: Apache-2.0
// StreamCache: what this node knows of the streams, kept true by notifications.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "catalog/catalog.h"
#include "meta/metadata_store.h"

namespace lakestream::catalog {

using Incarnation = std::array<std::byte, 16>;

/// A stream and the version of its config record.
struct VersionedStream {
    StreamPtr stream;
    meta::VersionId version;
};

/// Thread-safe. A load takes a ticket before it reads; what changed since is not cached from it.
class StreamCache {
  public:
    using Ticket = std::uint64_t;

    StreamPtr find(const StreamName& name) const;
    StreamPtr find(const Incarnation& incarnation) const;
    /// Null also when what is known is of another version.
    StreamPtr find(const StreamName& name, meta::VersionId version) const;

    /// All streams of a namespace, by name; none when it must be listed (again), also because the
    /// last listing is older than `since`.
    std::optional<std::vector<StreamPtr>> list(const std::string& ns, MonoTime since) const;
    bool listed_since(const std::string& ns, MonoTime since) const;
    /// Names in a listed namespace that changed since and must be loaded before `list` answers.
    std::vector<StreamName> stale(const std::string& ns) const;

    Ticket begin_load() const;
    void loaded(Ticket ticket, const VersionedStream& stream);
    void loaded_absent(Ticket ticket, const StreamName& name);
    struct Listing {
        std::string ns;
        MonoTime when;  // it was begun
    };
    void listed(Ticket ticket, const Listing& listing, const std::vector<VersionedStream>& streams);

    /// A config record changed; `version` when it was put.
    void changed(const StreamName& name, std::optional<meta::VersionId> version);
    /// Anything may have changed.
    void clear();

  private:
    struct Changed {
        Ticket when = 0;
        std::optional<meta::VersionId> version;
    };

    bool outdated(Ticket ticket, const StreamName& name, std::optional<meta::VersionId> version)
        const;
    void insert(const VersionedStream& stream);
    void erase(const StreamName& name);

    mutable std::mutex mutex_;
    std::map<StreamName, VersionedStream> streams_;
    std::map<Incarnation, StreamName> by_incarnation_;
    std::map<std::string, MonoTime> listed_;
    std::set<StreamName> stale_;             // in listed namespaces
    std::map<StreamName, Changed> changed_;  // the last change of each name, bounded
    Ticket last_change_ = 0;
    Ticket cleared_ = 0;  // loads begun before count for nothing
};

}  // namespace lakestream::catalog
