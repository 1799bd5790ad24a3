// SPDX-License-Identifier: Apache-2.0
// Loading the module: where it is looked for, and what is said when it is not right.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "objstore/testing/temp_folder.h"
#include "table/files.h"

namespace lakestream::table {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Run by the tests below, in a copy of this program elsewhere.
TEST(Load, DISABLED_SaysHowItWent) {
    const auto loaded = load_table_files();
    std::cout << (loaded.ok() ? "loaded" : loaded.error().to_string()) << "\n";
}

class LoadElsewhere : public testing::Test {
  protected:
    LoadElsewhere() {
        fs::create_directories(root() / "a/bin");
        fs::create_directories(root() / "lib");
        fs::copy_file("/proc/self/exe", program());
    }

    fs::path root() const { return folder_.path(); }
    fs::path program() const { return root() / "a/bin/program"; }
    fs::path module_above() const { return root() / "lib/liblakestream_tables.so"; }

    std::string said() const {
        const std::string command = fmt::format(
            "{} --gtest_also_run_disabled_tests --gtest_filter=Load.DISABLED_* 2>&1",
            program().string()
        );
        FILE* const pipe = popen(command.c_str(), "r");
        std::string text;
        for (std::array<char, 4096> some; fgets(some.data(), some.size(), pipe) != nullptr;) {
            text += some.data();
        }
        pclose(pipe);
        return text;
    }

    objstore::TempFolder folder_;
};

TEST(Load, TwiceIsFine) {
    EXPECT_TRUE(load_table_files().ok());
    EXPECT_TRUE(load_table_files().ok());
}

TEST_F(LoadElsewhere, AMissingModuleIsNamedWithWhereItBelongs) {
    EXPECT_THAT(
        said(),
        HasSubstr(fmt::format(
            "unsupported: liblakestream_tables.so is neither in {} nor in a folder lib",
            program().parent_path().string()
        ))
    );
}

TEST_F(LoadElsewhere, AModuleThatCannotBeLoadedIsNamed) {
    std::ofstream(module_above()) << "not a library";
    EXPECT_THAT(said(), HasSubstr(fmt::format("cannot load {}", module_above().string())));
}

TEST_F(LoadElsewhere, AModuleOfAnotherBuildIsRefused) {
    std::ifstream maps("/proc/self/maps");
    std::string library;
    for (std::string line; library.empty() && std::getline(maps, line);) {
        if (line.find("/libfmt.so") != std::string::npos) {
            library = line.substr(line.find('/'));
        }
    }
    fs::copy_file(library, module_above());
    EXPECT_THAT(
        said(),
        HasSubstr(fmt::format("{} is of another build (version none, not ", module_above().string())
        )
    );
}

}  // namespace
}  // namespace lakestream::table
