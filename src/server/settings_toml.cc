// SPDX-License-Identifier: Apache-2.0
// Settings from a TOML text. What the parser could not bear is refused before it starts.
#include <algorithm>
#include <optional>
#include <sstream>
#include <toml.hpp>
#include <utility>

#include "base/format.h"
#include "server/settings.h"

namespace lakestream::server {

namespace {

/// Settings need 2 of each; toml11 goes one call deeper for every bracket, and its time grows with
/// the square of the dots.
constexpr std::size_t depth_max = 32;

/// Walks a text once and counts open brackets, and the dots of each key. Quotes and comments are
/// stepped over.
class Scan {
  public:
    Scan(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

    Status run() {
        for (; at_ < text_.size(); ++at_) {
            switch (text_[at_]) {
                case '#': at_ = std::min(text_.find('\n', at_), text_.size()) - 1; break;
                case '"':
                case '\'': skip_quoted(); break;
                case '[':
                case '{':
                    dots_ = 0;
                    LKS_TRY(count(depth_, "brackets"));
                    break;
                case ']':
                case '}': depth_ -= depth_ == 0 ? 0 : 1; break;
                case '.': LKS_TRY(count(dots_, "dots")); break;
                case '\n':
                case '=':
                case ',': dots_ = 0; break;
                default: break;
            }
        }
        return {};
    }

  private:
    Status count(std::size_t& counter, std::string_view of_what) const {
        if (++counter <= depth_max) {
            return {};
        }
        const auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
        return invalid_argument(
            "{}:{}: more than {} {} inside each other", origin_, line, depth_max, of_what
        );
    }

    /// To the last character of the string that begins here. An open one is the parser's to report.
    void skip_quoted() {
        const char quote = text_[at_];
        const std::string triple(3, quote);
        const bool many_lines = text_.substr(at_).starts_with(triple);
        const std::string_view end = std::string_view(triple).substr(0, many_lines ? 3 : 1);
        for (at_ += end.size(); at_ < text_.size(); ++at_) {
            if (text_[at_] == '\\' && quote == '"') {
                ++at_;
            } else if (text_.substr(at_).starts_with(end)) {
                at_ += end.size() - 1;
                return;
            } else if (text_[at_] == '\n' && !many_lines) {
                return;
            }
        }
    }

    std::string_view text_;
    std::string_view origin_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
    std::size_t dots_ = 0;
};

/// A TOML value as the text that `assign` reads; nothing for a kind that no setting has.
std::optional<std::string> to_text(const toml::value& value) {
    if (value.is_string()) {
        return value.as_string().str;
    }
    if (value.is_integer()) {
        return fmt::format("{}", value.as_integer());
    }
    if (value.is_boolean()) {
        return value.as_boolean() ? "true" : "false";
    }
    if (!value.is_array()) {
        return std::nullopt;
    }
    std::string joined;
    for (const toml::value& element : value.as_array()) {
        if (!element.is_string()) {
            return std::nullopt;
        }
        joined += (joined.empty() ? "" : ",") + element.as_string().str;
    }
    return joined;
}

/// Walks a table, in the order of the text.
Status collect(
    const toml::value& table,
    const std::string& prefix,
    const std::string& origin,
    std::vector<Assignment>& into
) {
    std::vector<std::pair<std::uint_least32_t, std::string>> keys;
    for (const auto& [key, value] : table.as_table()) {  // any order: sorted below
        keys.emplace_back(value.location().line(), key);
    }
    std::ranges::sort(keys);
    for (const auto& [line, key] : keys) {
        const std::string name = prefix + key;
        const toml::value& value = table.as_table().at(key);
        const std::string where = fmt::format("{}:{}", origin, line);
        if (value.is_table()) {
            LKS_TRY(collect(value, name + ".", origin, into));
            continue;
        }
        Assignment read = LKS_TRY(read_value(name, {}, where));
        auto text = to_text(value);
        if (!text.has_value()) {
            return invalid_argument("{}: {} is not: {}", where, name, describe_type(*read.setting));
        }
        read.text = std::move(*text);
        into.push_back(std::move(read));
    }
    return {};
}

/// What the parser says quotes the file: without control characters, and not all of a binary one.
std::string printable(std::string_view text) {
    constexpr std::size_t bytes_max = 600;
    std::string out;
    for (const char c : text.substr(0, bytes_max)) {
        const bool plain = c == '\n' || (c >= ' ' && c <= '~');
        out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return text.size() > bytes_max ? out + "..." : out;
}

}  // namespace

Result<std::vector<Assignment>> read_toml(const std::string& text, const std::string& origin) {
    if (text.size() > toml_bytes_max) {
        return invalid_argument(
            "{}: settings of more than {} KiB are not read", origin, toml_bytes_max >> 10
        );
    }
    LKS_TRY(Scan(text, origin).run());
    std::istringstream in(text);
    toml::value root;
    try {
        root = toml::parse(in, origin);
    } catch (const std::exception& e) {  // toml11 reports by throwing
        return invalid_argument("{}", printable(e.what()));
    }
    std::vector<Assignment> out;
    LKS_TRY(collect(root, "", origin, out));
    return out;
}

}  // namespace lakestream::server
