// SPDX-License-Identifier: Apache-2.0
// How fast data files and compacted pairs are written and read: value bytes per CPU-second.
//   lakestream_tables_bench FOLDER [VALUE_BYTES [ZSTD_LEVEL]]
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "table/files.h"

namespace lakestream::table {
namespace {

constexpr std::uint64_t total_bytes = std::uint64_t{512} << 20;
constexpr std::size_t entry_records = 100;

double cpu_seconds() {
    return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

/// JSON events: a few fields that repeat, a few that do not.
std::vector<std::string> make_values(std::size_t size) {
    std::vector<std::string> values;
    std::uint32_t state = 1;
    const auto next = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
    for (int i = 0; i < 4096; ++i) {
        std::string value = fmt::format(
            R"({{"id":{},"type":"PushEvent","actor":{{"login":"user{}","url":"https://example.com/)",
            next(),
            next() % 5000
        );
        while (value.size() < size) {
            value += fmt::format(
                R"(u/{:x}","sha":"{:08x}{:08x}","message":"fix the )", next() % 997, next(), next()
            );
            value += std::string_view("build of the tests in the next release").substr(next() % 20);
        }
        value.resize(size);
        values.push_back(std::move(value));
    }
    return values;
}

class DiskFile : public RandomFile {
  public:
    explicit DiskFile(const std::string& path) : file_(path, std::ios::binary | std::ios::ate) {
        size_ = static_cast<std::uint64_t>(file_.tellg());
    }
    std::uint64_t size() const override { return size_; }
    Result<Bytes> read(std::uint64_t offset, std::uint64_t count) override {
        std::vector<std::byte> bytes(count);
        file_.seekg(static_cast<std::streamoff>(offset));
        file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
        return Bytes::own(std::move(bytes));
    }

  private:
    std::ifstream file_;
    std::uint64_t size_ = 0;
};

void report(std::string_view what, double cpu, std::int64_t stored) {
    std::cout << fmt::format(
        "{:<22} {:7.0f} MB/s of values per CPU-second, {:.3f} s, {} MB stored\n",
        what,
        static_cast<double>(total_bytes) / 1e6 / cpu,
        cpu,
        stored / 1'000'000
    );
}

Status bench_data_file(TableFiles& files, const std::string& folder, std::size_t size, int level) {
    const auto values = make_values(size);
    const std::string path = folder + "/bench.parquet";
    double began = cpu_seconds();
    auto writer = LKS_TRY(files.write_data_file(path, level));
    const std::uint64_t rows = total_bytes / size;
    for (std::uint64_t i = 0; i < rows; ++i) {
        LKS_TRY(writer->add(
            {.partition = 0,
             .offset = static_cast<std::int64_t>(i),
             .timestamp_ms = 1782961445000 + static_cast<std::int64_t>(i / 50),
             .key = {},
             .value = std::as_bytes(std::span(values[i % values.size()])),
             .headers = {}}
        ));
    }
    const DataFile file = LKS_TRY(writer->finish());
    report("data file, write", cpu_seconds() - began, file.size_bytes);
    began = cpu_seconds();
    auto reader = LKS_TRY(files.read_data_file(std::make_unique<DiskFile>(path)));
    while (LKS_TRY(reader->next()).has_value()) {
    }
    report("data file, read", cpu_seconds() - began, file.size_bytes);
    return {};
}

Status bench_compacted(TableFiles& files, const std::string& folder, std::size_t size) {
    std::string payload;
    for (const std::string& value : make_values(size)) {
        if (payload.size() < entry_records * size) {
            payload += value;
        }
    }
    const Bytes shared = Bytes::own(std::move(payload));
    double began = cpu_seconds();
    auto writer = LKS_TRY(files.write_compacted(folder, "bench", LogId(1)));
    std::int64_t offset = 0;
    for (std::uint64_t bytes = 0; bytes < total_bytes; bytes += shared.size()) {
        LKS_TRY(writer->add(
            {.range = {.begin = Offset(offset), .end = Offset(offset + 100)},
             .timestamp_ms = 1782961445000,
             .cumulative_size = static_cast<std::int64_t>(bytes),
             .payload = shared}
        ));
        offset += 100;
    }
    const CompactedPair pair = LKS_TRY(writer->finish());
    report("compacted pair, write", cpu_seconds() - began, pair.parquet_bytes);
    began = cpu_seconds();
    DiskFile parquet(pair.parquet_path);
    DiskFile index(pair.index_path);
    constexpr std::uint64_t tail_bytes = 64 << 10;
    const Bytes tail = LKS_TRY(parquet.read(parquet.size() - tail_bytes, tail_bytes));
    const Bytes headers = LKS_TRY(index.read(0, index.size()));
    const auto reader = LKS_TRY(files.read_compacted(parquet.size(), tail, headers));
    for (Offset at(0); at.v < offset;) {
        const RowGroup group = LKS_TRY(reader->find(at));
        const Bytes stored = LKS_TRY(parquet.read(group.begin, group.end - group.begin));
        const auto rows = LKS_TRY(reader->open(group, stored));
        for (auto read = rows->read(at, 1 << 20); read.ok(); read = rows->read(at, 1 << 20)) {
            at = read->back().range.end;
        }
    }
    report("compacted pair, read", cpu_seconds() - began, pair.parquet_bytes);
    return {};
}

Status run(std::span<char*> arguments) {
    if (arguments.size() < 2) {
        return invalid_argument("usage: lakestream_tables_bench FOLDER [VALUE_BYTES [ZSTD_LEVEL]]");
    }
    std::size_t size = 1024;
    int level = 1;
    const auto number = [&](std::size_t at, auto& value) {
        if (arguments.size() > at) {
            const std::string_view text = arguments[at];
            std::from_chars(text.data(), text.data() + text.size(), value);
        }
    };
    number(2, size);
    number(3, level);
    const auto files = LKS_TRY(load_table_files());
    LKS_TRY(bench_data_file(*files, arguments[1], size, level));
    return bench_compacted(*files, arguments[1], size);
}

}  // namespace
}  // namespace lakestream::table

int main(int count, char** arguments) {
    const auto done = lakestream::table::run({arguments, static_cast<std::size_t>(count)});
    if (!done.ok()) {
        std::cerr << done.error().to_string() << "\n";
        return 1;
    }
    return 0;
}
