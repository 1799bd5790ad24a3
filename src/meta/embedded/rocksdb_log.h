// SPDX-License-Identifier: Apache-2.0
// What RocksDB has to say, in the process's log.
#pragma once

#include <rocksdb/env.h>

#include <cstdarg>

namespace lakestream::meta::embedded {

/// Passes warnings and errors on, and writes no file: RocksDB's own log file ends the process when
/// the disk is full. Thread-safe.
class RocksdbLog final : public rocksdb::Logger {
  public:
    RocksdbLog() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

    using Logger::Logv;
    void Logv(rocksdb::InfoLogLevel level, const char* format, std::va_list arguments) override;
    void LogHeader(const char*, std::va_list) override {}
};

}  // namespace lakestream::meta::embedded
