// SPDX-License-Identifier: Apache-2.0
// The C functions of liblakestream_tables.so. C++ types cross them, so both sides must have been
// compiled from the same headers: LKS_TABLES_VERSION is a hash of these, made by the build.
#pragma once

#include "table/files.h"

extern "C" {
/// LKS_TABLES_VERSION of the module. Stays as it is forever: it is called before anything is known.
const char* lakestream_tables_version();
/// A new lakestream::table::TableFiles, owned by the caller.
lakestream::table::TableFiles* lakestream_tables_make();
}
