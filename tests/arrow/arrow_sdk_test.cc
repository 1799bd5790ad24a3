// SPDX-License-Identifier: Apache-2.0
// The Arrow SDK keeps its OpenSSL to itself, the program uses the system's, and both work.
#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/io/memory.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace {

std::string library_of(const void* symbol) {
    Dl_info info{};
    return dladdr(symbol, &info) != 0 ? info.dli_fname : "";
}

std::shared_ptr<arrow::Table> small_table() {
    arrow::Int64Builder values;
    EXPECT_TRUE(values.AppendValues({3, 1, 2}).ok());
    const auto schema = arrow::schema({arrow::field("offset", arrow::int64(), false)});
    return arrow::Table::Make(schema, {values.Finish().ValueOrDie()});
}

TEST(ArrowSdk, OurOpenSslIsTheSystems) {
    const std::string library = library_of(reinterpret_cast<const void*>(&EVP_DigestInit_ex));
    EXPECT_NE(library.find("libcrypto.so.3"), std::string::npos) << library;

    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    ASSERT_EQ(EVP_Digest("abc", 3, digest.data(), &size, EVP_sha256(), nullptr), 1);
    EXPECT_EQ(size, 32U);
    EXPECT_EQ(digest[0], 0xba);
}

TEST(ArrowSdk, ItsForeignSymbolsAreHidden) {
    const auto* symbol = reinterpret_cast<const void*>(&parquet::arrow::WriteTable);
    const std::string parquet = library_of(symbol);
    ASSERT_NE(parquet.find("libparquet"), std::string::npos) << parquet;
    void* handle = dlopen(parquet.c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(handle, nullptr);
    EXPECT_EQ(dlsym(handle, "EVP_DigestInit_ex"), nullptr);
    EXPECT_EQ(dlsym(handle, "SSL_new"), nullptr);
    dlclose(handle);
}

TEST(ArrowSdk, ParquetIsWrittenReadAndSorted) {
    ASSERT_TRUE(arrow::compute::Initialize().ok());
    const auto table = small_table();
    const auto properties =
        parquet::WriterProperties::Builder().compression(parquet::Compression::ZSTD)->build();
    auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
    const auto written =
        parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink, 1024, properties);
    ASSERT_TRUE(written.ok()) << written.ToString();

    auto source = std::make_shared<arrow::io::BufferReader>(sink->Finish().ValueOrDie());
    auto reader =
        parquet::arrow::OpenFile(std::move(source), arrow::default_memory_pool()).ValueOrDie();
    const auto read = reader->ReadTable().ValueOrDie();
    EXPECT_TRUE(read->Equals(*table));

    const auto order = arrow::compute::SortIndices(*read->column(0)).ValueOrDie();
    const auto sorted = arrow::compute::Take(read->column(0), order).ValueOrDie();
    EXPECT_EQ(sorted.chunked_array()->GetScalar(0).ValueOrDie()->ToString(), "1");
}

}  // namespace
