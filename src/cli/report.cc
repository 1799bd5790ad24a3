// SPDX-License-Identifier: Apache-2.0
// The two forms of a line.
#include "cli/report.h"

#include <nlohmann/json.hpp>

namespace lakestream::cli {

void Report::say(std::string_view kind, const std::string& text) {
    if (!output_.ok()) {
        return;
    }
    if (format_ == RecordFormat::text) {
        output_ = put_line(kind == "note" ? "note: " + text : text);
        return;
    }
    const nlohmann::json line{{"kind", kind}, {"text", text}};
    output_ = put_line(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace lakestream::cli
