// SPDX-License-Identifier: Apache-2.0
// One pair of functions per codec, around the libraries' streaming interfaces.
#include "codec/compress.h"

#include <lz4frame.h>
#include <snappy.h>
#define ZLIB_CONST  // zlib then takes its input as const
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::codec {

namespace {

const char* chars(const std::byte* bytes) {
    return reinterpret_cast<const char*>(bytes);
}
char* chars(std::byte* bytes) {
    return reinterpret_cast<char*>(bytes);
}

Error malformed(Compression codec, std::string_view why) {
    return corrupt("malformed {} data: {}", to_string(codec), why);
}

/// Where decompressed bytes go: grows by doubling up to one byte above the limit, so that a decoder
/// always has room to reach its end in, and too much is told from just enough.
class Output {
  public:
    Output(Compression codec, std::size_t input_size, std::size_t size_max)
        : codec_(codec), size_max_(size_max) {
        constexpr std::size_t usual_ratio = 4;
        constexpr std::size_t smallest = 1024;
        buffer_.resize(std::min(size_max + 1, std::max(smallest, input_size * usual_ratio)));
    }

    std::byte* free_space() { return buffer_.data() + used_; }
    std::size_t free_size() const { return buffer_.size() - used_; }
    void advance(std::size_t count) { used_ += count; }

    /// Make free space of at least `count` bytes, unless that breaks the limit.
    Status reserve(std::size_t count) {
        if (used_ + count > size_max_ + 1) {
            return too_large();
        }
        if (free_size() < count) {
            buffer_.resize(std::min(size_max_ + 1, std::max(buffer_.size() * 2, used_ + count)));
        }
        return {};
    }

    Result<Bytes> finish() {
        if (used_ > size_max_) {
            return too_large();
        }
        buffer_.resize(used_);
        if (buffer_.capacity() > 2 * used_) {
            buffer_.shrink_to_fit();
        }
        return Bytes::own(std::move(buffer_));
    }

  private:
    Error too_large() const {
        return exhausted("{} data gives more than {} bytes", to_string(codec_), size_max_);
    }

    Compression codec_;
    std::size_t size_max_;
    std::vector<std::byte> buffer_;
    std::size_t used_ = 0;
};

struct InflateEnd {
    void operator()(z_stream* stream) const { inflateEnd(stream); }
};

// The largest window; zlib tells the wrapper by what is added or by the sign.
constexpr int gzip_window_bits = 15 + 16;
constexpr int raw_window_bits = -15;

Result<Bytes> unzip(const Bytes& input, int window_bits, std::size_t size_max) {
    z_stream stream{};
    LKS_ASSERT(inflateInit2(&stream, window_bits) == Z_OK);
    const std::unique_ptr<z_stream, InflateEnd> guard(&stream);
    stream.next_in = reinterpret_cast<const Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    Output output(Compression::gzip, input.size(), size_max);
    while (true) {
        const std::size_t room = output.free_size();
        stream.next_out = reinterpret_cast<Bytef*>(output.free_space());
        stream.avail_out = static_cast<uInt>(room);
        const int code = inflate(&stream, Z_NO_FLUSH);
        output.advance(room - stream.avail_out);
        if (code == Z_STREAM_END) {
            if (stream.avail_in == 0) {
                return output.finish();
            }
            if (window_bits == raw_window_bits) {
                return malformed(Compression::gzip, "bytes after its end");
            }
            inflateReset(&stream);
        } else if (code != Z_OK && code != Z_BUF_ERROR) {
            return malformed(Compression::gzip, stream.msg != nullptr ? stream.msg : "bad stream");
        } else if (stream.avail_out == 0) {
            LKS_TRY(output.reserve(1));
        } else {
            return malformed(Compression::gzip, "cut short");
        }
    }
}

struct ZstdFree {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

Result<Bytes> unzstd(const Bytes& input, std::size_t size_max) {
    const std::unique_ptr<ZSTD_DCtx, ZstdFree> context(ZSTD_createDCtx());
    LKS_ASSERT(context != nullptr);
    Output output(Compression::zstd, input.size(), size_max);
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    while (true) {
        ZSTD_outBuffer out{output.free_space(), output.free_size(), 0};
        const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
        output.advance(out.pos);
        if (ZSTD_isError(left) != 0) {
            return malformed(Compression::zstd, ZSTD_getErrorName(left));
        }
        if (left == 0 && in.pos == in.size) {
            return output.finish();
        }
        if (out.pos == out.size) {
            LKS_TRY(output.reserve(1));
        } else if (in.pos == in.size) {
            return malformed(Compression::zstd, "cut short");
        }
    }
}

struct Lz4Free {
    void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
};

Result<Bytes> unlz4(const Bytes& input, std::size_t size_max) {
    LZ4F_dctx* raw = nullptr;
    LKS_ASSERT(LZ4F_isError(LZ4F_createDecompressionContext(&raw, LZ4F_VERSION)) == 0);
    const std::unique_ptr<LZ4F_dctx, Lz4Free> context(raw);
    Output output(Compression::lz4, input.size(), size_max);
    std::size_t at = 0;
    while (true) {
        std::size_t produced = output.free_size();
        std::size_t consumed = input.size() - at;
        const std::size_t left = LZ4F_decompress(
            context.get(), output.free_space(), &produced, input.data() + at, &consumed, nullptr
        );
        if (LZ4F_isError(left) != 0) {
            return malformed(Compression::lz4, LZ4F_getErrorName(left));
        }
        at += consumed;
        output.advance(produced);
        if (left == 0 && at == input.size()) {
            return output.finish();
        }
        if (output.free_size() == 0) {
            LKS_TRY(output.reserve(1));
        } else if (at == input.size()) {
            return malformed(Compression::lz4, "cut short");
        }
    }
}

/// snappy-java's framing: magic, version, lowest version able to read, then raw blocks, each with
/// its size in front; all numbers big-endian.
constexpr std::string_view xerial_magic("\x82SNAPPY\0", 8);
constexpr std::int32_t xerial_version = 1;
constexpr std::size_t xerial_header_bytes = 16;
constexpr std::size_t xerial_block_bytes = 32 * 1024;

Status unsnappy_block(std::span<const std::byte> block, Output& output) {
    // No element of the format gives more than 64 bytes for two of input.
    constexpr std::size_t ratio_max = 32;
    std::size_t size = 0;
    if (!snappy::GetUncompressedLength(chars(block.data()), block.size(), &size)) {
        return malformed(Compression::snappy, "no length");
    }
    if (size > block.size() * ratio_max) {
        return malformed(Compression::snappy, "length that its data cannot have");
    }
    LKS_TRY(output.reserve(size));
    if (!snappy::RawUncompress(chars(block.data()), block.size(), chars(output.free_space()))) {
        return malformed(Compression::snappy, "bad block");
    }
    output.advance(size);
    return {};
}

Result<Bytes> unsnappy(const Bytes& input, std::size_t size_max) {
    Output output(Compression::snappy, input.size(), size_max);
    if (!input.view().starts_with(xerial_magic) || input.size() < xerial_header_bytes) {
        LKS_TRY(unsnappy_block(input.span(), output));
        return output.finish();
    }
    Reader reader(input.span());
    reader.skip(xerial_header_bytes);
    while (reader.remaining() > 0) {
        const auto block = reader.span(reader.uint32());
        LKS_TRY(reader.status("snappy framing"));
        LKS_TRY(unsnappy_block(block, output));
    }
    return output.finish();
}

Bytes zip(const Bytes& input, int window_bits) {
    z_stream stream{};
    constexpr int memory_level = 8;  // zlib's default
    LKS_ASSERT(
        deflateInit2(
            &stream,
            Z_DEFAULT_COMPRESSION,
            Z_DEFLATED,
            window_bits,
            memory_level,
            Z_DEFAULT_STRATEGY
        ) == Z_OK
    );
    std::vector<std::byte> out(deflateBound(&stream, static_cast<uLong>(input.size())));
    stream.next_in = reinterpret_cast<const Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    LKS_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return Bytes::own(std::move(out));
}

Bytes snappy_framed(const Bytes& input) {
    Writer writer;
    writer.raw(xerial_magic);
    writer.int32(xerial_version);
    writer.int32(xerial_version);
    std::vector<std::byte> block(snappy::MaxCompressedLength(xerial_block_bytes));
    for (std::size_t at = 0; at < input.size(); at += xerial_block_bytes) {
        const auto part = input.span().subspan(at, std::min(xerial_block_bytes, input.size() - at));
        std::size_t size = 0;
        snappy::RawCompress(chars(part.data()), part.size(), chars(block.data()), &size);
        writer.uint32(static_cast<std::uint32_t>(size));
        writer.raw(std::span(block).first(size));
    }
    return writer.finish().join();
}

Bytes lz4(const Bytes& input) {
    LZ4F_preferences_t preferences{};
    preferences.frameInfo.blockMode = LZ4F_blockIndependent;
    preferences.frameInfo.blockSizeID = LZ4F_max64KB;
    std::vector<std::byte> out(LZ4F_compressFrameBound(input.size(), &preferences));
    const std::size_t size =
        LZ4F_compressFrame(out.data(), out.size(), input.data(), input.size(), &preferences);
    LKS_ASSERT(LZ4F_isError(size) == 0);
    out.resize(size);
    return Bytes::own(std::move(out));
}

Bytes zstd(const Bytes& input) {
    std::vector<std::byte> out(ZSTD_compressBound(input.size()));
    const std::size_t size =
        ZSTD_compress(out.data(), out.size(), input.data(), input.size(), ZSTD_CLEVEL_DEFAULT);
    LKS_ASSERT(ZSTD_isError(size) == 0);
    out.resize(size);
    return Bytes::own(std::move(out));
}

constexpr std::size_t input_bytes_end = 1UL << 31;

}  // namespace

std::string_view to_string(Compression codec) noexcept {
    switch (codec) {
        case Compression::none: return "none";
        case Compression::gzip: return "gzip";
        case Compression::snappy: return "snappy";
        case Compression::lz4: return "lz4";
        case Compression::zstd: return "zstd";
    }
    LKS_UNREACHABLE();
}

Result<Bytes> decompress(Compression codec, const Bytes& input, std::size_t size_max) {
    if (input.size() >= input_bytes_end) {
        return exhausted("{} data of {} bytes", to_string(codec), input.size());
    }
    const std::size_t output_max = std::min(size_max, input_bytes_end - 1);
    switch (codec) {
        case Compression::none:
            if (input.size() > output_max) {
                return exhausted("{} bytes; at most {} may be", input.size(), output_max);
            }
            return input;
        case Compression::gzip: return unzip(input, gzip_window_bits, output_max);
        case Compression::snappy: return unsnappy(input, output_max);
        case Compression::lz4: return unlz4(input, output_max);
        case Compression::zstd: return unzstd(input, output_max);
    }
    LKS_UNREACHABLE();
}

Bytes compress(Compression codec, const Bytes& input) {
    LKS_ASSERT(input.size() < input_bytes_end);
    switch (codec) {
        case Compression::none: return input;
        case Compression::gzip: return zip(input, gzip_window_bits);
        case Compression::snappy: return snappy_framed(input);
        case Compression::lz4: return lz4(input);
        case Compression::zstd: return zstd(input);
    }
    LKS_UNREACHABLE();
}

Result<Bytes> inflate_raw(const Bytes& input, std::size_t size_max) {
    if (input.size() >= input_bytes_end) {
        return exhausted("deflate data of {} bytes", input.size());
    }
    return unzip(input, raw_window_bits, std::min(size_max, input_bytes_end - 1));
}

Bytes deflate_raw(const Bytes& input) {
    LKS_ASSERT(input.size() < input_bytes_end);
    return zip(input, raw_window_bits);
}

}  // namespace lakestream::codec
