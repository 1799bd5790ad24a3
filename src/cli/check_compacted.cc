// SPDX-License-Identifier: Apache-2.0
// check: compacted pairs.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/format.h"
#include "cli/check_parts.h"
#include "codec/record_batch.h"
#include "compact/intent.h"
#include "server/blocking.h"
#include "table/compacted_index.h"
#include "table/whole_pair.h"

namespace lakestream::cli {

namespace {

constexpr std::string_view parquet_suffix = ".parquet";
constexpr std::uint64_t read_bytes = 1 << 20;

/// Why an entry's batches are not what its header says; empty when they are.
std::string why_bad(const table::CompactedEntry& entry) {
    std::int64_t records = 0;
    for (auto rest = entry.payload.span(); !rest.empty();) {
        const auto header = codec::read_batch_header(rest);
        if (!header.ok()) {
            return header.error().message;
        }
        if (const Status crc = codec::check_batch_crc(*header, rest); !crc.ok()) {
            return crc.error().message;
        }
        records += header->last_offset_delta + 1;
        rest = rest.subspan(header->size());
    }
    return records == entry.range.count()
               ? ""
               : fmt::format("{} records, not {}", records, entry.range.count());
}

class PairChecker {
  public:
    PairChecker(
        server::Leaves& leaves,
        compact::TableFilesLoader& loader,
        const CompactedClaim& claim,
        Report& report
    )
        : leaves_(leaves), loader_(loader), claim_(claim), report_(report) {}

    Status run() {
        if (!claim_.name.ends_with(parquet_suffix)) {
            problem(claim_.name, "its name does not end in .parquet");
            return report_.output();
        }
        const std::string index_name =
            claim_.name.substr(0, claim_.name.size() - parquet_suffix.size()) + ".index";
        const auto parquet = LKS_TRY(load(claim_.name));
        const auto index = LKS_TRY(load(index_name));
        if (!parquet.has_value() || !index.has_value()) {
            return report_.output();
        }
        const auto headers = table::decode_compacted_index(*index);
        if (!headers.ok()) {
            problem(index_name, headers.error().to_string());
            return report_.output();
        }
        table::TableFiles* const files = LKS_TRY(loader_.get());
        auto pair = table::WholePair::open(*files, *parquet, *index);
        if (!pair.ok()) {
            problem(claim_.name, pair.error().to_string());
            return report_.output();
        }
        check_log(*pair);
        check_ranges(*headers, index_name);
        read_entries(*pair, *headers);
        return report_.output();
    }

  private:
    void problem(const std::string& name, const std::string& what) {
        report_.problem(
            "compacted object {}: {}; index {} needs it: restore it from a copy, offsets {} to {} "
            "of log {} cannot be read until then",
            name,
            what,
            claim_.key,
            claim_.range.begin,
            claim_.range.end - 1,
            claim_.log
        );
    }

    /// None when it is missing or damaged, which has been said.
    Result<std::optional<Bytes>> load(const std::string& name) {
        auto bytes =
            server::run_blocking(leaves_.loops()[0], leaves_.compacted().get(name, std::nullopt));
        if (bytes.ok()) {
            return std::optional(std::move(*bytes));
        }
        if (!bytes.is(ErrorCode::not_found) && !bytes.is(ErrorCode::corrupt)) {
            return bytes.error();
        }
        problem(name, bytes.is(ErrorCode::not_found) ? "missing" : bytes.error().to_string());
        return std::optional<Bytes>();
    }

    /// Other writers do not say whose it is.
    void check_log(const table::WholePair& pair) {
        const auto footer = pair.footer();
        const auto log = footer.find("lakestream.log");
        if (log != footer.end() && log->second != std::to_string(claim_.log.v)) {
            problem(claim_.name, fmt::format("holds log {}", log->second));
        }
    }

    void check_ranges(const std::vector<table::EntryHeader>& headers, const std::string& name) {
        std::vector<OffsetRange> gaps;
        Offset at = claim_.range.begin;
        std::int64_t bytes = 0;
        std::int64_t cumulative = 0;
        for (const table::EntryHeader& header : headers) {
            if (header.offset > at) {
                gaps.push_back({at, header.offset});
            }
            at = std::max(at, header.range().end);
            bytes += header.size_bytes;
            if (header.cumulative_size < cumulative + header.size_bytes) {
                problem(name, fmt::format("sizes do not add up at offset {}", header.offset));
                return;
            }
            cumulative = header.cumulative_size;
        }
        if (at < claim_.range.end) {
            gaps.push_back({at, claim_.range.end});
        }
        if (!headers.empty() &&
            (headers.front().offset < claim_.range.begin || at > claim_.range.end)) {
            problem(
                name,
                fmt::format(
                    "holds offsets {} to {}", headers.front().offset, headers.back().range().end - 1
                )
            );
        }
        // The fold forgets voids once they are compacted; the index record keeps their checksum.
        const bool differs = (claim_.voids.has_value() && gaps != *claim_.voids) ||
                             (claim_.voids_checksum != 0 &&
                              compact::voids_checksum(claim_.range, gaps) != claim_.voids_checksum);
        if (differs) {
            problem(name, fmt::format("lacks offsets: {}", gaps_text(gaps)));
        }
        if (bytes != claim_.payload_bytes || cumulative > claim_.cumulative) {
            problem(
                name,
                fmt::format(
                    "holds {} bytes of payload up to {}, the index record says {} up to {}",
                    bytes,
                    cumulative,
                    claim_.payload_bytes,
                    claim_.cumulative
                )
            );
        }
    }

    static std::string gaps_text(const std::vector<OffsetRange>& gaps) {
        if (gaps.empty()) {
            return "none, but some are void";
        }
        return fmt::format("{} to {}", gaps.front().begin, gaps.back().end - 1);
    }

    void read_entries(table::WholePair& pair, const std::vector<table::EntryHeader>& headers) {
        for (std::size_t i = 0; i < headers.size();) {
            const auto entries = pair.read(headers[i].offset, read_bytes);
            if (!entries.ok()) {
                problem(claim_.name, entries.error().to_string());
                return;
            }
            for (const table::CompactedEntry& entry : *entries) {
                if (const std::string why = why_bad(entry); !why.empty()) {
                    problem(
                        claim_.name,
                        fmt::format("the entry at offset {}: {}", entry.range.begin, why)
                    );
                    return;
                }
            }
            i += entries->size();
        }
    }

    server::Leaves& leaves_;
    compact::TableFilesLoader& loader_;
    const CompactedClaim& claim_;
    Report& report_;
};

}  // namespace

Status check_compacted(
    server::Leaves& leaves,
    compact::TableFilesLoader& loader,
    const CompactedClaim& claim,
    Report& report
) {
    return PairChecker(leaves, loader, claim, report).run();
}

}  // namespace lakestream::cli
