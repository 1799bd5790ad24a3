// SPDX-License-Identifier: Apache-2.0
// Positions, and what may be appended at one.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "table/iceberg/commit.h"
#include "table/iceberg/json_fields.h"

namespace lakestream::table::iceberg {

namespace {

AppendPlan suspended(std::string reason) {
    return {.verdict = Verdict::suspended, .reason = std::move(reason)};
}

/// Where each log would stand after the files taken so far.
class Cursor {
  public:
    explicit Cursor(const Position& position) : position_(position) {}

    /// Whether the table has all of the file already.
    bool has(const PreparedFile& file) const {
        return std::ranges::all_of(file.ranges, [&](const auto& item) {
            return item.second.end <= position_.of(item.first);
        });
    }

    /// Take the file; the text says why it cannot be.
    std::string take(const PreparedFile& file) {
        for (const auto& [log, range] : file.ranges) {
            const Offset next = position_.of(log);
            if (range.begin != next || range.empty()) {
                return fmt::format(
                    "log {}: the file holds [{}, {}), the table goes on at {}",
                    log.v,
                    range.begin.v,
                    range.end.v,
                    next.v
                );
            }
        }
        for (const auto& [log, range] : file.ranges) {
            position_.next[log] = range.end;
        }
        return {};
    }

    const Position& position() const { return position_; }

  private:
    Position position_;
};

/// Why this is not the table that the stream feeds; empty when it is.
std::string why_foreign(
    const TableMetadata& metadata, const Position& position, const Source& source
) {
    if (!source.table.empty() && source.table != metadata.uuid) {
        return fmt::format("it is table {} now, not {}", metadata.uuid, source.table);
    }
    if (position.table != metadata.uuid) {
        return fmt::format("its position was made for table {}", position.table);
    }
    if (position.stream != source.stream) {
        return fmt::format(
            "it belongs to an earlier topic of this name (stream {}, now {})",
            position.stream,
            source.stream
        );
    }
    return {};
}

/// Whether `position` has some log that `other` has not as far; where.
std::string why_beyond(const Position& position, const Position& other) {
    for (const auto& [log, offset] : position.next) {
        if (offset > other.of(log)) {
            return fmt::format("log {} up to {}, not {}", log.v, offset.v, other.of(log).v);
        }
    }
    return {};
}

/// Why the tag is not on our last commit: main has a later one, whose rows would come again. Looks
/// back from main to the tag; the tag is not among them after main was rolled back, and none is
/// then beyond it. Empty: the tag holds.
std::string why_tag_is_old(const TableMetadata& metadata, const Position& position) {
    const std::int64_t tagged = metadata.refs.at(std::string(position_tag)).snapshot;
    std::optional<std::int64_t> at = metadata.current_snapshot;
    // Parents that foreign hands tied to a ring end too.
    for (std::size_t i = 0; i < metadata.snapshots.size() && at && *at != tagged; ++i) {
        const Snapshot* const snapshot = metadata.find_snapshot(*at);
        if (snapshot == nullptr) {
            break;  // expired
        }
        at = snapshot->parent;
        const auto text = snapshot->summary.find(std::string(position_key));
        if (text == snapshot->summary.end()) {
            continue;  // another engine's
        }
        const Result<Position> there = parse_position(text->second);
        std::string reason;
        if (!there.ok()) {
            reason = there.error().message;
        } else if (there->table != position.table || there->stream != position.stream) {
            reason = fmt::format("stream {} of table {}", there->stream, there->table);
        } else {
            reason = why_beyond(*there, position);
        }
        if (!reason.empty()) {
            return fmt::format(
                "its tag '{}' was moved to snapshot {}: snapshot {} of main has {}",
                position_tag,
                tagged,
                snapshot->id,
                reason
            );
        }
    }
    return {};
}

/// Why the stream's rows must not be appended here as the table is; empty when they may.
std::string why_suspended(
    const TableMetadata& metadata, const Position& position, const Source& source
) {
    std::string reason = why_foreign(metadata, position, source);
    return reason.empty() ? why_tag_is_old(metadata, position) : reason;
}

}  // namespace

Offset Position::of(LogId log) const {
    const auto found = next.find(log);
    return found == next.end() ? Offset(0) : found->second;
}

std::string to_json(const Position& position) {
    Json next = Json::object();
    for (const auto& [log, offset] : position.next) {
        next[std::to_string(log.v)] = offset.v;
    }
    return dump(Json{{"table", position.table}, {"stream", position.stream}, {"next", next}});
}

Result<Position> parse_position(std::string_view text) {
    const Json json = LKS_TRY(parse_object(text, "the table's position"));
    Position out{
        .table = LKS_TRY(text_field(json, "table")), .stream = LKS_TRY(text_field(json, "stream"))
    };
    const Json& next = field(json, "next");
    if (!next.is_object()) {
        return corrupt("the table's position lacks its offsets");
    }
    for (const auto& [name, value] : next.items()) {
        LogId log;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), log.v);
        const std::int64_t offset = LKS_TRY(integer_field(next, name.c_str()));
        if (error != std::errc() || end != name.data() + name.size() || log.v < 0 || offset < 0) {
            return corrupt("the table's position has '{}': {}", name, offset);
        }
        out.next[log] = Offset(offset);
    }
    return out;
}

Result<Position> position_of(const TableMetadata& metadata) {
    const auto tag = metadata.refs.find(std::string(position_tag));
    if (tag == metadata.refs.end() || tag->second.type != "tag") {
        return not_found("its tag '{}' is gone", position_tag);
    }
    const Snapshot* const snapshot = metadata.find_snapshot(tag->second.snapshot);
    if (snapshot == nullptr) {
        return not_found("the snapshot of its tag '{}' is gone", position_tag);
    }
    const auto position = snapshot->summary.find(std::string(position_key));
    if (position == snapshot->summary.end()) {
        return not_found("snapshot {} has no position of ours", snapshot->id);
    }
    return parse_position(position->second);
}

AppendPlan plan_append(
    const TableMetadata& metadata, const Source& source, std::span<const PreparedFile> files
) {
    const Result<Position> position = position_of(metadata);
    if (!position.ok()) {
        return suspended(position.error().message);
    }
    if (std::string reason = why_suspended(metadata, *position, source); !reason.empty()) {
        return suspended(std::move(reason));
    }
    const Result<std::string> misfit = why_rows_do_not_fit(metadata);
    if (!misfit.ok() || !misfit->empty()) {
        return suspended(misfit.ok() ? *misfit : misfit.error().message);
    }
    AppendPlan plan{.verdict = Verdict::nothing_new, .position = *position};
    Cursor cursor(*position);
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (cursor.has(files[i])) {
            continue;
        }
        if (std::string reason = cursor.take(files[i]); !reason.empty()) {
            plan.verdict = Verdict::misaligned;
            plan.reason = std::move(reason);
            plan.position = *position;
            plan.files.clear();
            return plan;
        }
        plan.verdict = Verdict::append;
        plan.files.push_back(i);
    }
    plan.position = cursor.position();
    return plan;
}

AppendPlan plan_take_over(const TableMetadata& metadata, std::string stream) {
    const Result<std::string> misfit = why_rows_do_not_fit(metadata);
    if (!misfit.ok() || !misfit->empty()) {
        return suspended(misfit.ok() ? *misfit : misfit.error().message);
    }
    Position start{.table = metadata.uuid, .stream = std::move(stream), .next = {}};
    const Result<Position> now = position_of(metadata);
    if (now.ok() && why_suspended(metadata, *now, {.table = {}, .stream = start.stream}).empty()) {
        return {.verdict = Verdict::nothing_new, .reason = {}, .position = *now, .files = {}};
    }
    return {
        .verdict = Verdict::append,
        .rows = RowsBefore::dropped,
        .reason = {},
        .position = std::move(start),
        .files = {},
    };
}

}  // namespace lakestream::table::iceberg
