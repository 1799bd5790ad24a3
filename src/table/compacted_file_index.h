// SPDX-License-Identifier: Apache-2.0
// Which compacted object holds an offset: the text beside a compacted range's index record.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lakestream/types.h"

namespace lakestream::table {

/// Keys of the text in an index record's extra data; the older one is read only.
inline constexpr std::string_view file_index_key = "CompactedObjectFileIndex";
inline constexpr std::string_view file_index_key_old = "ManagedTableFileIndex";

/// File names below the log's compacted folder, by the last offset each holds.
class CompactedFileIndex {
  public:
    /// `last` is inclusive; a name added under the same offset replaces the earlier one.
    void add(Offset last, std::string name) { files_[last] = std::move(name); }

    /// The file that holds `offset`. Errors: `out_of_range`.
    Result<std::string> find(Offset offset) const;
    const std::map<Offset, std::string>& files() const { return files_; }

    /// The stored text, Base64.
    std::string encode() const;
    /// What comes after the last complete entry is ignored. Errors: `corrupt` (not Base64).
    static Result<CompactedFileIndex> decode(std::string_view text);

    friend bool operator==(const CompactedFileIndex&, const CompactedFileIndex&) = default;

  private:
    std::map<Offset, std::string> files_;
};

}  // namespace lakestream::table
