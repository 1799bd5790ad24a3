// SPDX-License-Identifier: Apache-2.0
// The border to Arrow: its exceptions and statuses become ours, our files become its.
#pragma once

#include <arrow/io/file.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/status.h>
#include <parquet/exception.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "lakestream/result.h"
#include "table/files.h"

namespace lakestream::table {

/// All memory of the module: the process's allocator, so that it is accounted with the rest.
inline ::arrow::MemoryPool* pool() {
    return ::arrow::system_memory_pool();
}

/// An Arrow status as our error: `exhausted` (memory, disk), else `otherwise`.
Error error_of(const ::arrow::Status& status, std::string_view path, ErrorCode otherwise);
/// The exception being handled, likewise.
Error current_error(std::string_view path, ErrorCode otherwise);

/// Run `function`, which returns a Result; an exception becomes its error.
template <class Function>
auto guarded(std::string_view path, ErrorCode otherwise, Function function)
    -> decltype(function()) {
    try {
        return function();
    } catch (...) {
        return current_error(path, otherwise);
    }
}

/// A file being written; gone when it is dropped before `keep()`.
class LocalFile {
  public:
    /// Create or replace. Errors: `exhausted`, `unsupported` (the path).
    static Result<LocalFile> create(std::string path);
    LocalFile(LocalFile&& other) noexcept
        : path_(std::exchange(other.path_, {})), stream_(std::move(other.stream_)) {}
    LocalFile& operator=(LocalFile&&) = delete;
    ~LocalFile();

    const std::string& path() const { return path_; }
    const std::shared_ptr<::arrow::io::FileOutputStream>& stream() const { return stream_; }
    /// Close; the file's size.
    Result<std::int64_t> close();
    /// From here on the file stays; its path. Precondition: closed.
    std::string keep() { return std::exchange(path_, {}); }

  private:
    LocalFile(std::string path, std::shared_ptr<::arrow::io::FileOutputStream> stream)
        : path_(std::move(path)), stream_(std::move(stream)) {}

    std::string path_;
    std::shared_ptr<::arrow::io::FileOutputStream> stream_;
};

/// A RandomFile as Arrow reads it. Its errors are kept, as Arrow would lose the code.
class StoredFile : public ::arrow::io::RandomAccessFile {
  public:
    explicit StoredFile(std::unique_ptr<RandomFile> file) : file_(std::move(file)) {}

    /// The first error since this was last called.
    std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }

    ::arrow::Result<std::int64_t> GetSize() override;
    ::arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t count, void* out)
        override;
    ::arrow::Result<std::shared_ptr<::arrow::Buffer>> ReadAt(
        std::int64_t position, std::int64_t count
    ) override;
    ::arrow::Result<std::int64_t> Read(std::int64_t count, void* out) override;
    ::arrow::Result<std::shared_ptr<::arrow::Buffer>> Read(std::int64_t count) override;
    ::arrow::Status Seek(std::int64_t position) override;
    ::arrow::Result<std::int64_t> Tell() const override { return position_; }
    ::arrow::Status Close() override;
    bool closed() const override { return closed_; }

  private:
    ::arrow::Result<Bytes> read(std::int64_t position, std::int64_t count);

    std::unique_ptr<RandomFile> file_;
    std::optional<Error> error_;
    std::int64_t position_ = 0;
    bool closed_ = false;
};

/// Run `function` over `file`: what failed below Parquet is told as it was, all else is `corrupt`.
template <class Function>
auto guarded_read(StoredFile& file, Function function) -> decltype(function()) {
    auto result = guarded("", ErrorCode::corrupt, std::move(function));
    auto below = file.take_error();
    if (!result.ok() && below.has_value()) {
        return std::move(*below);
    }
    return result;
}

}  // namespace lakestream::table
