// SPDX-License-Identifier: Apache-2.0
// Which threads run callbacks.
#include "lakestream/future.h"

namespace lakestream::detail {

namespace {

thread_local bool in_callback = false;

}  // namespace

CallbackScope::CallbackScope() noexcept : outer_(std::exchange(in_callback, true)) {}

CallbackScope::~CallbackScope() {
    in_callback = outer_;
}

bool inside_callback() noexcept {
    return in_callback;
}

}  // namespace lakestream::detail
