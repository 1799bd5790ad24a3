// SPDX-License-Identifier: Apache-2.0
// Mapping keys and registrations of logs.
#include "catalog/log_owner.h"

#include <gtest/gtest.h>

#include "catalog/json_records.h"

namespace lakestream::catalog {
namespace {

TEST(LogOwner, mapping_keys_name_a_partition) {
    EXPECT_EQ(
        parse_mapping_key("lakestream-native/default/orders/partition-12").value(),
        (LogOwner{{"default", "orders"}, 12})
    );
    EXPECT_EQ(
        parse_mapping_key("lakestream-native/a/b/partition-x/partition-0").value(),
        (LogOwner{{"a/b", "partition-x"}, 0})
    );
    for (const char* key :
         {"",
          "lakestream-native/orders/partition-1",
          "lakestream-native/default/orders/partition-",
          "lakestream-native/default/orders/partition-1x",
          "lakestream-native/default/orders/partition-01",
          "lakestream-native/default//partition-1",
          "lakestream-native//orders/partition-1",
          "other/default/orders/partition-1"}) {
        EXPECT_FALSE(parse_mapping_key(key).ok()) << key;
    }
}

TEST(LogOwner, registrations_round_trip) {
    const std::string key = "lakestream-native/default/orders/partition-0";
    EXPECT_EQ(parse_log_registration(log_registration_json(key)).value(), key);
    EXPECT_EQ(parse_log_registration("{}").value(), "");
    EXPECT_FALSE(parse_log_registration("[]").ok());
    EXPECT_FALSE(parse_log_registration("{\"key\":7}").ok());
}

}  // namespace
}  // namespace lakestream::catalog
