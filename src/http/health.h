// SPDX-License-Identifier: Apache-2.0
// `/livez` and `/readyz`: whether the process runs, and whether it should be sent requests.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "http/server.h"

namespace lakestream::http {

/// Named checks. Owned by the node; filled before the server starts.
class Readiness {
  public:
    /// Asked on the server's executor at each request: cheap, and safe to call from there. An error
    /// says why not.
    using Check = std::function<Status()>;

    void add(std::string name, Check check) {
        checks_.emplace_back(std::move(name), std::move(check));
    }

    /// 200 when all pass, else 503:
    /// `{"ready":false,"checks":[{"name":"metadata","ok":false,"reason":"unavailable: …"}]}`
    Response report() const;

  private:
    std::vector<std::pair<std::string, Check>> checks_;
};

/// Answers 200 as long as the loop runs: `{"live":true}`.
class LiveHandler final : public Handler {
  public:
    rt::Task<Response> handle(Request request) override;
};

class ReadyHandler final : public Handler {
  public:
    explicit ReadyHandler(const Readiness& readiness) : readiness_(readiness) {}
    rt::Task<Response> handle(Request request) override;

  private:
    const Readiness& readiness_;
};

}  // namespace lakestream::http
