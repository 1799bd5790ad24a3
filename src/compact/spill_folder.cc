// SPDX-License-Identifier: Apache-2.0
// Spill segments as files of a local folder.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/result.h"
#include "compact/local_file.h"
#include "compact/spill.h"

namespace lakestream::compact {

namespace {

class SpillFolder final : public SpillFiles {
  public:
    explicit SpillFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

    Status append(std::uint64_t segment, const Bytes& bytes) override {
        if (!out_.is_open() || open_segment_ != segment) {
            out_.close();
            out_.clear();
            out_.open(path(segment), std::ios::binary | std::ios::app);
            open_segment_ = segment;
        }
        out_.write(bytes.view().data(), static_cast<std::streamsize>(bytes.size()));
        out_.flush();
        if (!out_) {
            out_.close();
            return exhausted(
                "spill file {} cannot be written ({}); free disk space or move the spill folder",
                path(segment).string(),
                std::strerror(errno)
            );
        }
        return {};
    }

    Result<Bytes> read(std::uint64_t segment, std::uint64_t begin, std::uint64_t count) override {
        std::ifstream in(path(segment), std::ios::binary);
        in.seekg(static_cast<std::streamoff>(begin));
        std::string bytes;
        bytes.resize_and_overwrite(count, [&](char* to, std::size_t size) {
            in.read(to, static_cast<std::streamsize>(size));
            return static_cast<std::size_t>(in.gcount());
        });
        if (bytes.size() != count) {
            return unavailable("spill file {} ends too early", path(segment).string());
        }
        return Bytes::own(std::move(bytes));
    }

    void remove(std::uint64_t segment) override {
        std::error_code ignored;  // swept at the next start
        std::filesystem::remove(path(segment), ignored);
    }

  private:
    std::filesystem::path path(std::uint64_t segment) const {
        return folder_ / ("spill-" + std::to_string(segment));
    }

    const std::filesystem::path folder_;
    std::ofstream out_;
    std::uint64_t open_segment_ = 0;
};

}  // namespace

Result<std::unique_ptr<SpillFiles>> open_spill_folder(std::string path) {
    LKS_TRY(make_empty_folder(path));
    return std::make_unique<SpillFolder>(std::move(path));
}

}  // namespace lakestream::compact
