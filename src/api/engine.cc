// SPDX-License-Identifier: Apache-2.0
// Opening and closing.
#include "lakestream/engine.h"

#include <utility>

#include "api/core.h"
#include "base/assert.h"

namespace lakestream {

namespace {

Status refuse_callbacks(std::string_view what) {
    if (detail::inside_callback()) {
        return invalid_argument("a callback of then() must not {} an engine", what);
    }
    return {};
}

}  // namespace

Result<Engine> Engine::open(const EngineOptions& options) {
    LKS_TRY(refuse_callbacks("open"));
    return Engine(LKS_TRY(api::Core::open(options)));
}

Engine::Engine(std::shared_ptr<api::Core> core) : core_(std::move(core)) {}

Engine::Engine(Engine&&) noexcept = default;

Engine& Engine::operator=(Engine&& other) noexcept {
    std::swap(core_, other.core_);
    return *this;
}

Engine::~Engine() {
    if (core_ != nullptr) {
        const Status closed = close();
        LKS_ASSERT(closed.ok());
    }
}

StreamCatalog Engine::catalog() const {
    return StreamCatalog(core_);
}

std::optional<std::string> Engine::kafka_address() const {
    return core_->kafka_address();
}

Status Engine::close() {
    LKS_TRY(refuse_callbacks("close"));
    core_->close();
    return {};
}

}  // namespace lakestream
