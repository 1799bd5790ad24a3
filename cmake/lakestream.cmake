# Compiler settings, and lks_module(): one folder of src/ is one library, its tests one program.
find_program(LKS_CCACHE ccache)
if(LKS_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${LKS_CCACHE})
endif()

add_compile_options(
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror
    -Wno-gnu-statement-expression -Wno-gnu-statement-expression-from-macro-expansion
    -Wno-missing-designated-field-initializers
    -march=x86-64-v2 -fno-omit-frame-pointer)
add_link_options(-fuse-ld=lld-19)
if(LKS_SANITIZE)
    add_compile_options(-fsanitize=${LKS_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${LKS_SANITIZE})
endif()
if(LKS_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
endif()

find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)

# lks_module(NAME [DEPS modules-and-libraries...] [PRIVATE libraries...])
#
# Library lakestream_NAME from every *.cc of the folder but *_test, *_fuzz and *_bench; the test
# program lakestream_NAME_test, one ctest case; with LKS_FUZZ, one program per *_fuzz.cc.
# A folder inside that has a CMakeLists.txt is a module of its own and left out.
function(lks_module name)
    cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE" ${ARGN})
    file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
    file(GLOB_RECURSE inner CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
    foreach(list_file ${inner})
        get_filename_component(folder ${list_file} DIRECTORY)
        list(FILTER all EXCLUDE REGEX "^${folder}/")
    endforeach()
    set(sources ${all})
    list(FILTER sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$")
    set(tests ${all})
    list(FILTER tests INCLUDE REGEX "_test\\.cc$")
    set(fuzzers ${all})
    list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")

    set(target lakestream_${name})
    if(sources)
        add_library(${target} STATIC ${sources})
        set(scope PUBLIC)
    else()
        add_library(${target} INTERFACE)
        set(scope INTERFACE)
    endif()
    target_include_directories(${target} ${scope}
        ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${target} ${scope} ${ARG_DEPS})
    if(ARG_PRIVATE)
        target_link_libraries(${target} PRIVATE ${ARG_PRIVATE})
    endif()

    if(tests)
        add_executable(${target}_test ${tests})
        target_link_libraries(${target}_test PRIVATE
            ${target} ${ARG_PRIVATE} GTest::gtest_main GTest::gmock)
        target_compile_definitions(${target}_test PRIVATE LKS_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
        target_compile_options(${target}_test PRIVATE -Wno-global-constructors)
        add_test(NAME unit.${name} COMMAND ${target}_test --gtest_brief=1)
        set_tests_properties(unit.${name} PROPERTIES TIMEOUT 600 LABELS unit)
    endif()

    if(LKS_FUZZ)
        foreach(source ${fuzzers})
            get_filename_component(fuzzer ${source} NAME_WE)
            add_executable(${fuzzer} ${source})
            target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
            target_link_libraries(${fuzzer} PRIVATE ${target} ${ARG_PRIVATE})
            target_compile_definitions(${fuzzer} PRIVATE LKS_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
            set_property(GLOBAL APPEND PROPERTY LKS_FUZZERS ${fuzzer})
        endforeach()
    endif()
endfunction()
