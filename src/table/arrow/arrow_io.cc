// SPDX-License-Identifier: Apache-2.0
// Errors and files across the border to Arrow.
#include "table/arrow/arrow_io.h"

#include <arrow/buffer.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

namespace lakestream::table {
namespace {

/// Keeps our bytes alive for as long as Arrow looks at them.
class SharedBuffer : public ::arrow::Buffer {
  public:
    explicit SharedBuffer(Bytes bytes)
        : ::arrow::Buffer(
              reinterpret_cast<const std::uint8_t*>(bytes.data()),
              static_cast<std::int64_t>(bytes.size())
          ),
          bytes_(std::move(bytes)) {}

  private:
    Bytes bytes_;
};

std::string_view separator(std::string_view path) {
    return path.empty() ? "" : ": ";
}

}  // namespace

Error error_of(const ::arrow::Status& status, std::string_view path, ErrorCode otherwise) {
    const int number = ::arrow::internal::ErrnoFromStatus(status);
    const bool full = status.IsOutOfMemory() || number == ENOSPC || number == EDQUOT ||
                      number == EMFILE || number == ENFILE || number == ENOMEM;
    return make_error(
        full ? ErrorCode::exhausted : otherwise, "{}{}{}", path, separator(path), status.message()
    );
}

Error current_error(std::string_view path, ErrorCode otherwise) {
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const parquet::ParquetStatusException& e) {
        return error_of(e.status(), path, otherwise);
    } catch (const std::bad_alloc&) {
        return exhausted("{}{}out of memory", path, separator(path));
    } catch (const std::exception& e) {
        return make_error(otherwise, "{}{}{}", path, separator(path), e.what());
    }
}

Result<LocalFile> LocalFile::create(std::string path) {
    auto opened = ::arrow::io::FileOutputStream::Open(path);
    if (!opened.ok()) {
        return error_of(opened.status(), path, ErrorCode::unsupported);
    }
    return LocalFile(std::move(path), std::move(opened).ValueUnsafe());
}

LocalFile::~LocalFile() {
    if (!path_.empty()) {
        (void)stream_->Close();  // what could not be written is deleted
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
}

Result<std::int64_t> LocalFile::close() {
    const ::arrow::Status closed = stream_->Close();
    if (!closed.ok()) {
        return error_of(closed, path_, ErrorCode::unsupported);
    }
    std::error_code failed;
    const auto size = std::filesystem::file_size(path_, failed);
    if (failed) {
        return unsupported("{}: {}", path_, failed.message());
    }
    return static_cast<std::int64_t>(size);
}

::arrow::Result<Bytes> StoredFile::read(std::int64_t position, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(file_->size());
    if (position < 0 || position > size || count < 0) {
        return ::arrow::Status::IOError("read at ", position, " of a file of ", size, " bytes");
    }
    count = std::min(count, size - position);
    auto bytes =
        file_->read(static_cast<std::uint64_t>(position), static_cast<std::uint64_t>(count));
    if (bytes.ok() && bytes->size() != static_cast<std::size_t>(count)) {
        bytes = corrupt("read {} of {} bytes at {}", bytes->size(), count, position);
    }
    if (!bytes.ok()) {
        if (!error_.has_value()) {
            error_ = bytes.error();
        }
        return ::arrow::Status::IOError(bytes.error().message);
    }
    return std::move(*bytes);
}

::arrow::Result<std::int64_t> StoredFile::GetSize() {
    return static_cast<std::int64_t>(file_->size());
}

::arrow::Result<std::int64_t> StoredFile::ReadAt(
    std::int64_t position, std::int64_t count, void* out
) {
    ARROW_ASSIGN_OR_RAISE(const Bytes bytes, read(position, count));
    if (!bytes.empty()) {
        std::memcpy(out, bytes.data(), bytes.size());
    }
    return static_cast<std::int64_t>(bytes.size());
}

::arrow::Result<std::shared_ptr<::arrow::Buffer>> StoredFile::ReadAt(
    std::int64_t position, std::int64_t count
) {
    ARROW_ASSIGN_OR_RAISE(Bytes bytes, read(position, count));
    return std::make_shared<SharedBuffer>(std::move(bytes));
}

::arrow::Result<std::int64_t> StoredFile::Read(std::int64_t count, void* out) {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t done, ReadAt(position_, count, out));
    position_ += done;
    return done;
}

::arrow::Result<std::shared_ptr<::arrow::Buffer>> StoredFile::Read(std::int64_t count) {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, count));
    position_ += buffer->size();
    return buffer;
}

::arrow::Status StoredFile::Seek(std::int64_t position) {
    position_ = position;
    return ::arrow::Status::OK();
}

::arrow::Status StoredFile::Close() {
    closed_ = true;
    return ::arrow::Status::OK();
}

}  // namespace lakestream::table
