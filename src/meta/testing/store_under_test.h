// SPDX-License-Identifier: Apache-2.0
// StoreUnderTest: a memory or embedded store on one seeded loop, for tests that hold for both.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/metrics.h"
#include "meta/embedded/embedded_store.h"
#include "meta/memory_store.h"
#include "meta/metadata_store.h"
#include "rt/sim/testing.h"

namespace lakestream::meta::testing {

/// A folder of its own, gone with the object.
class TempFolder {
  public:
    TempFolder() {
        // In memory where that can be had: what a test waits for is not the disk's fsync.
        for (const std::filesystem::path& parent :
             {std::filesystem::path("/dev/shm"), std::filesystem::temp_directory_path()}) {
            std::string pattern = (parent / "lakestream-XXXXXX").string();
            if (mkdtemp(pattern.data()) != nullptr) {
                path_ = pattern;
                return;
            }
        }
        ADD_FAILURE() << "no folder for temporary files";
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    ~TempFolder() { std::filesystem::remove_all(path_); }

    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

enum class StoreKind : std::uint8_t { memory, embedded };

inline std::string name_of(const ::testing::TestParamInfo<StoreKind>& info) {
    return info.param == StoreKind::memory ? "Memory" : "Embedded";
}

/// One node and its store in virtual time.
class StoreUnderTest {
  public:
    explicit StoreUnderTest(StoreKind kind, MemoryOptions options = {}) {
        if (kind == StoreKind::memory) {
            service_.emplace(sim.executor, options);
            memory_.emplace(*service_, sim.executor);
        } else {
            folder_.emplace();
            reopen();
        }
    }

    MetadataStore& store() { return memory_ ? static_cast<MetadataStore&>(*memory_) : *embedded_; }

    /// The process ends and comes back. Only for an embedded store.
    void reopen() {
        embedded_.reset();
        auto opened =
            EmbeddedStore::open({.folder = folder_->path()}, sim.executor, offloader_, registry_);
        if (!opened.ok()) {
            FAIL() << opened.error().to_string();
        }
        embedded_ = std::move(*opened);
    }

    /// The node ends without a word. Its sessions are nobody's from then on.
    void abandon() {
        if (memory_) {
            memory_.reset();
            memory_.emplace(*service_, sim.executor);
        } else {
            reopen();
        }
    }

    template <class T>
    T run(rt::Task<T> task) {
        return sim.run(std::move(task));
    }

    template <class T>
    T wait(rt::Future<T> future) {
        return sim.run([](rt::Future<T> pending) -> rt::Task<T> {
            co_return co_await pending;
        }(std::move(future)));
    }

    rt::SimTest sim;

  private:
    metrics::Registry registry_;
    rt::SimOffloader offloader_{sim.executor, 50us};
    std::optional<MemoryMetadata> service_;
    std::optional<MemoryStore> memory_;
    std::optional<TempFolder> folder_;
    std::unique_ptr<EmbeddedStore> embedded_;
};

}  // namespace lakestream::meta::testing
