// SPDX-License-Identifier: Apache-2.0
// Finds, checks and loads the module that knows Arrow.
#include "table/files.h"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "table/module.h"

namespace lakestream::table {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view module_name = "liblakestream_tables.so";
/// A program in the build tree is at most so many folders below the build's own.
constexpr int folders_up_max = 4;

/// The folder of the program or library that holds this code; empty when it is not known.
fs::path own_folder() {
    Dl_info info{};
    const auto* const here = reinterpret_cast<const void*>(&load_table_files);
    const bool found = dladdr(here, &info) != 0 && info.dli_fname != nullptr;
    // A program's name is what its caller says: only a path that leads somewhere is followed.
    const fs::path file = found ? fs::path(info.dli_fname) : fs::path();
    return file.is_absolute() ? file.parent_path() : fs::path();
}

/// Beside the library that holds this code; beside the program, or in the folder `lib` of the
/// program's folder or of one above it.
Result<fs::path> find_module() {
    std::error_code failed;
    const fs::path own = own_folder();
    if (!own.empty() && fs::exists(own / module_name, failed)) {
        return own / module_name;
    }
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    if (failed) {
        return unsupported("cannot find {}: /proc/self/exe: {}", module_name, failed.message());
    }
    const fs::path folder = program.parent_path();
    if (fs::exists(folder / module_name, failed)) {
        return folder / module_name;
    }
    fs::path above = folder;
    for (int i = 0; i < folders_up_max; ++i, above = above.parent_path()) {
        if (fs::exists(above / "lib" / module_name, failed)) {
            return above / "lib" / module_name;
        }
    }
    return unsupported(
        "{} is neither in {} nor in a folder lib beside or above it: install it with the program, "
        "or start without tables and compaction (roles = [\"broker\"])",
        module_name,
        (own.empty() ? folder : own).string()
    );
}

/// The function `name` of the module, or null.
template <class Function>
Function* function_of(void* module, const char* name) {
    return reinterpret_cast<Function*>(dlsym(module, name));
}

}  // namespace

Result<std::unique_ptr<TableFiles>> load_table_files() {
    const fs::path path = LKS_TRY(find_module());
    // Never unloaded: what it makes may live as long as the process. A second load is the same one.
    void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
        return unsupported("cannot load {}: {}; install it again", path.string(), dlerror());
    }
    const auto version =
        function_of<decltype(lakestream_tables_version)>(module, "lakestream_tables_version");
    const auto make =
        function_of<decltype(lakestream_tables_make)>(module, "lakestream_tables_make");
    const std::string_view found = version == nullptr ? "none" : version();
    if (found != LKS_TABLES_VERSION || make == nullptr) {
        return unsupported(
            "{} is of another build (version {}, not {}): install program and module together",
            path.string(),
            found,
            LKS_TABLES_VERSION
        );
    }
    return std::unique_ptr<TableFiles>(make());
}

}  // namespace lakestream::table
