# Finds the Arrow SDK that `tools/bootstrap.sh arrow` makes: Arrow::arrow, Arrow::compute and
# Parquet::parquet. Looks in ARROW_SDK_ROOT only: another Arrow would export symbols that clash
# (docs/adr/0006-arrow-sdk.md).
set(ARROW_SDK_ROOT ${CMAKE_SOURCE_DIR}/build/arrow-sdk CACHE PATH "The Arrow SDK")

find_path(ArrowSdk_INCLUDE_DIR arrow/api.h HINTS ${ARROW_SDK_ROOT}/include NO_DEFAULT_PATH)
if(NOT ArrowSdk_INCLUDE_DIR)
    message(FATAL_ERROR "No Arrow in ${ARROW_SDK_ROOT}: run tools/bootstrap.sh arrow")
endif()
file(STRINGS ${ArrowSdk_INCLUDE_DIR}/arrow/util/config.h version
    REGEX "define ARROW_VERSION_STRING")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" ArrowSdk_VERSION "${version}")

# The wheel has no CMake files of its own: one imported target per library.
function(_arrow_sdk_library target name)
    find_library(ArrowSdk_${name}_LIBRARY ${name}
        HINTS ${ARROW_SDK_ROOT}/lib NO_DEFAULT_PATH REQUIRED)
    if(NOT TARGET ${target})
        file(REAL_PATH ${ArrowSdk_${name}_LIBRARY} file)
        cmake_path(GET file FILENAME soname)
        add_library(${target} SHARED IMPORTED GLOBAL)
        set_target_properties(${target} PROPERTIES
            IMPORTED_LOCATION ${file}
            IMPORTED_SONAME ${soname}
            SYSTEM ON
            INTERFACE_INCLUDE_DIRECTORIES ${ArrowSdk_INCLUDE_DIR}
            INTERFACE_LINK_LIBRARIES "${ARGN}")
    endif()
endfunction()
_arrow_sdk_library(Arrow::arrow arrow)
_arrow_sdk_library(Arrow::compute arrow_compute Arrow::arrow)
_arrow_sdk_library(Parquet::parquet parquet Arrow::arrow)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowSdk
    REQUIRED_VARS ArrowSdk_INCLUDE_DIR VERSION_VAR ArrowSdk_VERSION)
