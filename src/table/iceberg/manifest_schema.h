// SPDX-License-Identifier: Apache-2.0
// The Avro schemas of manifests and manifest lists, format version 2, and their field ids.
#pragma once

#include <cstdint>
#include <string_view>

namespace lakestream::table::iceberg {

/// Field ids of the Iceberg specification, in the order in which we write the fields.
struct EntryField {
    static constexpr std::int32_t status = 0;
    static constexpr std::int32_t snapshot = 1;
    static constexpr std::int32_t sequence_number = 3;
    static constexpr std::int32_t file_sequence_number = 4;
    static constexpr std::int32_t data_file = 2;
};

struct FileField {
    static constexpr std::int32_t content = 134;
    static constexpr std::int32_t path = 100;
    static constexpr std::int32_t format = 101;
    static constexpr std::int32_t partition = 102;
    static constexpr std::int32_t records = 103;
    static constexpr std::int32_t bytes = 104;
    static constexpr std::int32_t column_bytes = 108;
    static constexpr std::int32_t value_counts = 109;
    static constexpr std::int32_t null_counts = 110;
    static constexpr std::int32_t nan_counts = 137;
    static constexpr std::int32_t lower_bounds = 125;
    static constexpr std::int32_t upper_bounds = 128;
    static constexpr std::int32_t key_metadata = 131;
    static constexpr std::int32_t split_offsets = 132;
    static constexpr std::int32_t equality_ids = 135;
    static constexpr std::int32_t sort_order = 140;
    static constexpr std::int32_t referenced_data_file = 143;
};

/// Ids of a map's key and value.
struct MapIds {
    std::int32_t key = 0;
    std::int32_t value = 0;
};

inline constexpr MapIds column_bytes_ids{117, 118};
inline constexpr MapIds value_counts_ids{119, 120};
inline constexpr MapIds null_counts_ids{121, 122};
inline constexpr MapIds nan_counts_ids{138, 139};
inline constexpr MapIds lower_bounds_ids{126, 127};
inline constexpr MapIds upper_bounds_ids{129, 130};

struct ListField {
    static constexpr std::int32_t path = 500;
    static constexpr std::int32_t bytes = 501;
    static constexpr std::int32_t spec = 502;
    static constexpr std::int32_t content = 517;
    static constexpr std::int32_t sequence_number = 515;
    static constexpr std::int32_t min_sequence_number = 516;
    static constexpr std::int32_t added_snapshot = 503;
    static constexpr std::int32_t added_files = 504;
    static constexpr std::int32_t existing_files = 505;
    static constexpr std::int32_t deleted_files = 506;
    static constexpr std::int32_t added_rows = 512;
    static constexpr std::int32_t existing_rows = 513;
    static constexpr std::int32_t deleted_rows = 514;
    static constexpr std::int32_t partitions = 507;
    static constexpr std::int32_t key_metadata = 519;
};

struct SummaryField {
    static constexpr std::int32_t contains_null = 509;
    static constexpr std::int32_t contains_nan = 518;
    static constexpr std::int32_t lower = 510;
    static constexpr std::int32_t upper = 511;
};

inline constexpr std::string_view manifest_entry_schema =
    R"({"type":"record","name":"manifest_entry","fields":[)"
    R"({"name":"status","type":"int","field-id":0},)"
    R"({"name":"snapshot_id","type":["null","long"],"default":null,"field-id":1},)"
    R"({"name":"sequence_number","type":["null","long"],"default":null,"field-id":3},)"
    R"({"name":"file_sequence_number","type":["null","long"],"default":null,"field-id":4},)"
    R"({"name":"data_file","field-id":2,"type":{"type":"record","name":"r2","fields":[)"
    R"({"name":"content","type":"int","field-id":134},)"
    R"({"name":"file_path","type":"string","field-id":100},)"
    R"({"name":"file_format","type":"string","field-id":101},)"
    R"({"name":"partition","type":{"type":"record","name":"r102","fields":[]},"field-id":102},)"
    R"({"name":"record_count","type":"long","field-id":103},)"
    R"({"name":"file_size_in_bytes","type":"long","field-id":104},)"
    R"({"name":"column_sizes","type":["null",{"type":"array","logicalType":"map","items":)"
    R"({"type":"record","name":"k117_v118","fields":[)"
    R"({"name":"key","type":"int","field-id":117},)"
    R"({"name":"value","type":"long","field-id":118}]}}],"default":null,"field-id":108},)"
    R"({"name":"value_counts","type":["null",{"type":"array","logicalType":"map","items":)"
    R"({"type":"record","name":"k119_v120","fields":[)"
    R"({"name":"key","type":"int","field-id":119},)"
    R"({"name":"value","type":"long","field-id":120}]}}],"default":null,"field-id":109},)"
    R"({"name":"null_value_counts","type":["null",{"type":"array","logicalType":"map","items":)"
    R"({"type":"record","name":"k121_v122","fields":[)"
    R"({"name":"key","type":"int","field-id":121},)"
    R"({"name":"value","type":"long","field-id":122}]}}],"default":null,"field-id":110},)"
    R"({"name":"nan_value_counts","type":["null",{"type":"array","logicalType":"map","items":)"
    R"({"type":"record","name":"k138_v139","fields":[)"
    R"({"name":"key","type":"int","field-id":138},)"
    R"({"name":"value","type":"long","field-id":139}]}}],"default":null,"field-id":137},)"
    R"({"name":"lower_bounds","type":["null",{"type":"array","logicalType":"map","items":)"
    R"({"type":"record","name":"k126_v127","fields":[)"
    R"({"name":"key","type":"int","field-id":126},)"
    R"({"name":"value","type":"bytes","field-id":127}]}}],"default":null,"field-id":125},)"
    R"({"name":"upper_bounds","type":["null",{"type":"array","logicalType":"map","items":)"
    R"({"type":"record","name":"k129_v130","fields":[)"
    R"({"name":"key","type":"int","field-id":129},)"
    R"({"name":"value","type":"bytes","field-id":130}]}}],"default":null,"field-id":128},)"
    R"({"name":"key_metadata","type":["null","bytes"],"default":null,"field-id":131},)"
    R"({"name":"split_offsets","type":["null",{"type":"array","items":"long",)"
    R"("element-id":133}],"default":null,"field-id":132},)"
    R"({"name":"equality_ids","type":["null",{"type":"array","items":"int",)"
    R"("element-id":136}],"default":null,"field-id":135},)"
    R"({"name":"sort_order_id","type":["null","int"],"default":null,"field-id":140},)"
    R"({"name":"referenced_data_file","type":["null","string"],"default":null,"field-id":143})"
    R"(]}}]})";

inline constexpr std::string_view manifest_list_schema =
    R"({"type":"record","name":"manifest_file","fields":[)"
    R"({"name":"manifest_path","type":"string","field-id":500},)"
    R"({"name":"manifest_length","type":"long","field-id":501},)"
    R"({"name":"partition_spec_id","type":"int","field-id":502},)"
    R"({"name":"content","type":"int","field-id":517},)"
    R"({"name":"sequence_number","type":"long","field-id":515},)"
    R"({"name":"min_sequence_number","type":"long","field-id":516},)"
    R"({"name":"added_snapshot_id","type":"long","field-id":503},)"
    R"({"name":"added_files_count","type":"int","field-id":504},)"
    R"({"name":"existing_files_count","type":"int","field-id":505},)"
    R"({"name":"deleted_files_count","type":"int","field-id":506},)"
    R"({"name":"added_rows_count","type":"long","field-id":512},)"
    R"({"name":"existing_rows_count","type":"long","field-id":513},)"
    R"({"name":"deleted_rows_count","type":"long","field-id":514},)"
    R"({"name":"partitions","type":["null",{"type":"array","items":)"
    R"({"type":"record","name":"r508","fields":[)"
    R"({"name":"contains_null","type":"boolean","field-id":509},)"
    R"({"name":"contains_nan","type":["null","boolean"],"default":null,"field-id":518},)"
    R"({"name":"lower_bound","type":["null","bytes"],"default":null,"field-id":510},)"
    R"({"name":"upper_bound","type":["null","bytes"],"default":null,"field-id":511}]},)"
    R"("element-id":508}],"default":null,"field-id":507},)"
    R"({"name":"key_metadata","type":["null","bytes"],"default":null,"field-id":519}]})";

}  // namespace lakestream::table::iceberg
