// SPDX-License-Identifier: Apache-2.0
// Writes records to a stream in a folder, reads them back, and reads the stream's Iceberg table.
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "lakestream/engine.h"

namespace {

using lakestream::Bytes;
using lakestream::Error;
using lakestream::ErrorCode;
using lakestream::Log;
using lakestream::Offset;
using lakestream::Record;
using lakestream::Result;
using lakestream::Status;
using lakestream::StreamCatalog;

const lakestream::StreamName name{"greetings"};

std::string text(const std::optional<Bytes>& bytes) {
    return bytes.has_value() ? std::string(bytes->view()) : "-";
}

/// Makes the stream unless an earlier run did.
Result<Log> open_or_create(StreamCatalog& catalog) {
    const auto made =
        catalog.create({.name = name, .logs = 1, .properties = {{"lakestream.table", "true"}}}
        ).get();
    if (!made.ok() && !made.is(ErrorCode::already_exists)) {
        return made.error();
    }
    return catalog.open_log(name).get();
}

Status append(Log& log) {
    const std::vector<Record> records{
        {.key = Bytes::copy("en"), .value = Bytes::copy("hello")},
        {.key = Bytes::copy("de"), .value = Bytes::copy("hallo")},
        {.key = Bytes::copy("fr"), .headers = {{"note", Bytes::copy("no value")}}},
    };
    const auto appended = log.append(records).get();  // durable from here on
    if (!appended.ok()) {
        return appended.error();
    }
    std::cout << "appended " << appended->range.begin.v << " to " << appended->range.end.v << '\n';
    return {};
}

/// Prints all records; the offset behind the last one.
Result<Offset> print_log(Log& log) {
    Offset next(0);
    while (true) {
        const auto batch = log.read(next).get();
        if (!batch.ok()) {
            return batch.error();
        }
        for (const lakestream::Entry& entry : batch->entries) {
            const auto records = lakestream::read_batch(entry.payload, entry.range.begin);
            if (!records.ok()) {
                return records.error();
            }
            for (const auto& [offset, record] : *records) {
                std::cout << "record " << offset.v << ' ' << text(record.key) << ' '
                          << text(record.value) << '\n';
            }
        }
        next = batch->next;
        if (next == batch->bounds.high_watermark) {
            return next;
        }
    }
}

/// Prints the table once it holds the log up to `end`.
Status print_table(StreamCatalog& catalog, const Log& log, Offset end) {
    lakestream::Table table = catalog.table(name);
    if (auto waited = table.wait_for({{log.id(), end}}, std::chrono::minutes(1)).get();
        !waited.ok()) {
        return waited;
    }
    std::cout << "table " << table.location() << '\n';
    auto scan = table.scan().get();
    if (!scan.ok()) {
        return scan.error();
    }
    while (true) {
        const auto rows = scan->next().get();
        if (!rows.ok()) {
            return rows.error();
        }
        if (rows->empty()) {
            return {};
        }
        for (const auto& [partition, stored] : *rows) {
            std::cout << "row " << partition << ' ' << stored.offset.v << ' '
                      << text(stored.record.key) << ' ' << text(stored.record.value) << '\n';
        }
    }
}

Status run(const std::string& folder) {
    auto engine = lakestream::Engine::open(
        {.data_dir = folder, .settings = {{"table.commit_interval", "200ms"}}}
    );
    if (!engine.ok()) {
        return engine.error();
    }
    StreamCatalog catalog = engine->catalog();
    auto log = open_or_create(catalog);
    if (!log.ok()) {
        return log.error();
    }
    if (auto appended = append(*log); !appended.ok()) {
        return appended;
    }
    const auto end = print_log(*log);
    if (!end.ok()) {
        return end.error();
    }
    if (auto printed = print_table(catalog, *log, *end); !printed.ok()) {
        return printed;
    }
    return engine->close();
}

}  // namespace

int main(int argc, char** argv) {
    const Status done = run(argc > 1 ? argv[1] : "first-stream-data");
    if (!done.ok()) {
        std::cerr << "first_stream: " << done.error().to_string() << '\n';
        return 1;
    }
    return 0;
}
