// SPDX-License-Identifier: Apache-2.0
// Object names: reading a date never crashes, and a date that is read is written back the same.
#include "base/assert.h"
#include "wal/object_name.h"

using namespace lakestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view name(reinterpret_cast<const char*>(data), size);
    if (const auto date = wal::object_date(name)) {
        constexpr std::size_t date_size = std::string_view("YYYY/MM/DD/HH/mm/ss/").size();
        const std::string again = wal::make_object_name(*date, {});
        LKS_ASSERT(again.substr(0, date_size) == name.substr(0, date_size));
    }
    return 0;
}
