// SPDX-License-Identifier: Apache-2.0
// Alignment and JSON of rows.
#include "cli/rows.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/format.h"
#include "cli/text.h"

namespace lakestream::cli {

using nlohmann::json;

namespace {

std::string heading(std::string name) {
    for (char& c : name) {
        c = c == '_' ? '-' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return name;
}

std::string cell_text(const json& value) {
    if (value.is_null()) {
        return "-";
    }
    if (value.is_string()) {
        return value.get<std::string>();
    }
    if (value.is_number_float()) {
        return fmt::format("{}", value.get<double>());  // 7, not 7.0
    }
    if (!value.is_array()) {
        return value.dump();
    }
    std::string joined;
    for (const json& part : value) {
        joined += (joined.empty() ? "" : ",") + cell_text(part);
    }
    return joined.empty() ? "-" : joined;
}

}  // namespace

Rows::Rows(RecordFormat format, std::vector<std::string> columns)
    : format_(format), columns_(std::move(columns)) {
    for (const std::string& column : columns_) {
        widths_.push_back(column.size());
    }
}

Status Rows::add(const std::vector<json>& cells) {
    LKS_ASSERT(cells.size() == columns_.size());
    if (format_ == RecordFormat::json) {
        nlohmann::ordered_json line;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            line[columns_[i]] = cells[i];
        }
        return put_line(line.dump(-1, ' ', false, json::error_handler_t::replace));
    }
    std::vector<std::string>& row = rows_.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) {
        row.push_back(cell_text(cells[i]));
        widths_[i] = std::max(widths_[i], row.back().size());
    }
    return {};
}

Status Rows::finish() {
    if (format_ == RecordFormat::json) {
        return {};
    }
    std::vector<std::string> headings;
    for (const std::string& column : columns_) {
        headings.push_back(heading(column));
    }
    LKS_TRY(put(headings));
    for (const auto& row : rows_) {
        LKS_TRY(put(row));
    }
    return {};
}

Status Rows::put(const std::vector<std::string>& row) const {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
        line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths_[i]);
    }
    return put_line(line);
}

}  // namespace lakestream::cli
