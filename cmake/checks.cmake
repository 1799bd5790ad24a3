# The ctest cases that check the tree itself, and the target `fuzzers`.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

# lks_check(NAME COMMAND...): a ctest case in the source folder.
function(lks_check name)
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS house TIMEOUT 120)
endfunction()

# The checks belong to one build: running them in each would tell nothing new.
if(LKS_HOUSE_CHECKS)
    lks_check(tidy ${Python3_EXECUTABLE} tools/tidy.py)
    lks_check(tidy.self ${Python3_EXECUTABLE} tools/tidy_test.py)
    lks_check(format tools/format.sh --check)
    lks_check(clang_tidy ${Python3_EXECUTABLE} tools/clang_tidy_changed.py
        --build ${CMAKE_BINARY_DIR} --seconds 900)
    set_tests_properties(clang_tidy PROPERTIES TIMEOUT 1000 PROCESSORS 2)
    lks_check(clang_tidy.self ${Python3_EXECUTABLE} tools/clang_tidy_changed_test.py)
    lks_check(fuzz.smoke ${Python3_EXECUTABLE} tools/fuzz_smoke.py)
    set_tests_properties(fuzz.smoke PROPERTIES TIMEOUT 1800 PROCESSORS 2)
endif()

if(LKS_FUZZ)
    get_property(fuzzers GLOBAL PROPERTY LKS_FUZZERS)
    add_custom_target(fuzzers DEPENDS ${fuzzers})
    list(TRANSFORM fuzzers REPLACE "(.+)" "$<TARGET_FILE:\\1>\n" OUTPUT_VARIABLE programs)
    list(JOIN programs "" programs)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/fuzzers.txt CONTENT "${programs}")
endif()
