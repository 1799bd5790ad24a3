// SPDX-License-Identifier: Apache-2.0
// Error codes that tell the caller what to do, and Result<T>: a value or an Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace lakestream {

/// What the caller must do. Closed list (docs/errors.md); the code alone is always enough to act
/// safely.
enum class ErrorCode : std::uint8_t {
    invalid_argument,   // fix the call; never retry
    unsupported,        // fix the call; never retry
    not_found,          // an answer, not a failure
    already_exists,     // an answer, not a failure
    out_of_range,       // an answer, not a failure
    conflict,           // a precondition lost: read again, recompute, try again
    fenced,             // a newer owner exists: stop acting for this resource
    lease_lost,         // stop mutating; acquire again, then read again
    throttled,          // back off at least retry_after
    unavailable,        // nothing was applied: back off and retry
    deadline_exceeded,  // nothing was applied: back off and retry
    outcome_unknown,    // resolve by reading back; never retry blindly, never report as failed
    exhausted,          // shed load: memory, quota, disk
    corrupt,            // stop using this object, keep the bytes, alarm
    cancelled,          // we asked for it: unwind quietly
    internal,           // a bug that did not deserve a crash: alarm
};

/// The code's name as written in logs, JSON and docs/errors.md.
std::string_view to_string(ErrorCode code) noexcept;

/// A failure: an instruction (code), a distinction below it (reason, scoped to the module that made
/// it; 0 = none) and a text that names cause, object and next step.
struct Error {
    ErrorCode code = ErrorCode::internal;
    std::uint16_t reason = 0;
    std::string message;
    std::chrono::milliseconds retry_after{0};

    /// The same error with a line of context in front: "context: message".
    Error with_context(std::string_view context) &&;
    /// "code: message", for logs and the command line.
    std::string to_string() const;

    bool operator==(const Error&) const = default;
};

/// A value or an Error. Dropping one is a compile error.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
    using Base = std::expected<T, Error>;

  public:
    using Base::Base;
    Result(Error error)  // NOLINT(google-explicit-constructor): `return not_found(...)` reads well
        : Base(std::unexpect, std::move(error)) {}
    Result(Base&& base) : Base(std::move(base)) {}  // NOLINT(google-explicit-constructor)

    bool ok() const noexcept { return this->has_value(); }
    /// The error's code. Precondition: !ok().
    ErrorCode code() const noexcept { return this->error().code; }
    /// Whether this is an error with this code.
    bool is(ErrorCode code) const noexcept {
        return !this->has_value() && this->error().code == code;
    }
};

using Status = Result<void>;

}  // namespace lakestream
