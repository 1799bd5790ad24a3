// SPDX-License-Identifier: Apache-2.0
// Reads a table's data file back, row by row, columns by field id.
#pragma once

#include <memory>

#include "table/files.h"

namespace lakestream::table {

/// Columns may be optional or required, and in any order. Memory: one page of each column.
Result<std::unique_ptr<DataFileReader>> open_data_file(std::unique_ptr<RandomFile> file);

}  // namespace lakestream::table
