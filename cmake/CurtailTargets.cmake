# SPDX-License-Identifier: Apache-2.0
# curtail_library, curtail_program and curtail_test: the three kinds of targets.

# Sources share one precompiled header and tests another. In the folders that compute with LibTorch,
# both have its most frequent headers, which take several seconds to parse. Executables are compiled
# with -fPIC, like libraries, because a precompiled header is valid only for the same code model.
# The lists name no file of the checkout, so that ccache serves every clone. A source still includes
# what it uses: `make compilers` checks that.
set(CURTAIL_PRECOMPILED <fmt/format.h> <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem>
    <functional> <map> <memory> <optional> <set> <span> <stdexcept> <string> <string_view>
    <tl/expected.hpp> <utility> <variant> <vector>)
set(CURTAIL_PRECOMPILED_TORCH <ATen/core/Tensor.h> <ATen/ops/empty.h> <ATen/ops/zeros.h>
    <c10/core/InferenceMode.h>)
set(CURTAIL_TORCH_FOLDERS model optim evaluate follow engine rounds job)

# _curtail_precompiled(TARGET HEADERS header... LINKS target...)
function(_curtail_precompiled target)
    cmake_parse_arguments(ARG "" "" "HEADERS;LINKS" ${ARGN})
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/${target}.cpp CONTENT "")
    add_library(${target} STATIC ${PROJECT_BINARY_DIR}/generated/${target}.cpp)
    target_link_libraries(${target} PRIVATE curtail_flags fmt::fmt tl::expected ${ARG_LINKS})
    target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
endfunction()

# _curtail_use_precompiled(TARGET KIND FOLDER)   KIND is curtail or curtail_test.
function(_curtail_use_precompiled target kind folder)
    if(NOT CURTAIL_PRECOMPILED_HEADERS)
        return()
    endif()
    if(folder IN_LIST CURTAIL_TORCH_FOLDERS)
        target_precompile_headers(${target} REUSE_FROM ${kind}_torch_pch)
    else()
        target_precompile_headers(${target} REUSE_FROM ${kind}_pch)
    endif()
endfunction()

# _curtail_precompile(KIND HEADERS header... LINKS target...)   Defines both headers of a kind.
function(_curtail_precompile kind)
    cmake_parse_arguments(ARG "" "" "HEADERS;LINKS" ${ARGN})
    _curtail_precompiled(${kind}_pch HEADERS ${CURTAIL_PRECOMPILED} ${ARG_HEADERS}
        LINKS ${ARG_LINKS})
    if(CURTAIL_COMPONENTS STREQUAL "all")
        _curtail_precompiled(${kind}_torch_pch
            HEADERS ${CURTAIL_PRECOMPILED} ${ARG_HEADERS} ${CURTAIL_PRECOMPILED_TORCH}
            LINKS ${ARG_LINKS} curtail_torch)
    endif()
endfunction()

if(CURTAIL_PRECOMPILED_HEADERS)
    _curtail_precompile(curtail)
    if(CURTAIL_TESTS)
        _curtail_precompile(curtail_test HEADERS <gmock/gmock.h> <gtest/gtest.h>
            LINKS GTest::gtest GTest::gmock curtail_test_flags)
    endif()
endif()
add_custom_target(programs)

# curtail_library(DEPENDS library... USES external... PUBLIC_USES external...)
#   Builds the sources of the current folder, FOLDER, and its subfolders as the static library
#   curtail::FOLDER. It may include headers only from the libraries that DEPENDS lists, and from
#   those that they list. USES and PUBLIC_USES name external libraries. In tests/, it builds the
#   folder without its subfolders: its program and its tests.
function(curtail_library)
    cmake_parse_arguments(ARG "" "" "DEPENDS;USES;PUBLIC_USES" ${ARGN})
    get_filename_component(name ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    _curtail_path(path "")
    if(path STREQUAL "tests/${name}")
        file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    else()
        file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    endif()
    add_library(curtail_${name} STATIC ${sources})
    add_library(curtail::${name} ALIAS curtail_${name})
    target_include_directories(curtail_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    if(path STREQUAL "tests/${name}")
        target_include_directories(curtail_${name} PUBLIC ${PROJECT_SOURCE_DIR}/tests)
    endif()
    target_link_libraries(curtail_${name} PRIVATE curtail_flags ${ARG_USES})
    foreach(dependency ${ARG_DEPENDS})
        target_link_libraries(curtail_${name} PUBLIC curtail::${dependency})
    endforeach()
    target_link_libraries(curtail_${name} PUBLIC ${ARG_PUBLIC_USES})
    _curtail_use_precompiled(curtail_${name} curtail ${name})
    if(CURTAIL_GPU)
        _curtail_add_cuda(${name})
    endif()
    _curtail_record_dependencies(${name} "" ${ARG_DEPENDS})
endfunction()

# Adds the CUDA sources (*.cu) of the current folder to its library. nvcc does not understand
# curtail_flags, so they are a target of their own.
function(_curtail_add_cuda name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)
    if(NOT sources)
        return()
    endif()
    add_library(curtail_${name}_cuda STATIC ${sources})
    target_include_directories(curtail_${name}_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(curtail_${name}_cuda PRIVATE curtail_cuda_flags PUBLIC curtail_cudart)
    target_link_libraries(curtail_${name} PRIVATE curtail_${name}_cuda)
endfunction()

# curtail_program(curtail-NAME [FOLDER folder] DEPENDS library...)
#   Builds NAME/*.cpp of the current folder, or FOLDER/*.cpp.
function(curtail_program program)
    cmake_parse_arguments(ARG "" "FOLDER" "DEPENDS" ${ARGN})
    string(REPLACE "curtail-" "" name ${program})
    string(REPLACE "-" "_" name ${name})
    if(ARG_FOLDER)
        set(name ${ARG_FOLDER})
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
    add_executable(${program} ${sources})
    add_dependencies(programs ${program})
    install(TARGETS ${program})
    set_target_properties(${program} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${program} PRIVATE -fPIC)
    target_link_libraries(${program} PRIVATE curtail_flags)
    foreach(dependency ${ARG_DEPENDS})
        target_link_libraries(${program} PRIVATE curtail::${dependency})
    endforeach()
    if(ARG_DEPENDS)
        _curtail_use_precompiled(${program} curtail ${name})
    endif()
    _curtail_record_dependencies(${program} /${name} ${ARG_DEPENDS})
endfunction()

# _curtail_path(OUT SUBFOLDER)
#   Sets OUT to the path of the current folder from the top of the tree.
function(_curtail_path out subfolder)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}${subfolder})
    set(${out} ${path} PARENT_SCOPE)
endfunction()

# Writes the allowed dependencies to a file, one line per library and program, for the test that
# checks every #include: `src/base/http http: core`.
function(_curtail_record_dependencies name subfolder)
    _curtail_path(path "${subfolder}")
    list(JOIN ARGN " " dependencies)
    set_property(GLOBAL APPEND_STRING PROPERTY CURTAIL_DEPENDENCIES
        "${path} ${name}: ${dependencies}\n")
endfunction()
function(curtail_write_dependencies)
    get_property(dependencies GLOBAL PROPERTY CURTAIL_DEPENDENCIES)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/dependencies.txt CONTENT "${dependencies}")
endfunction()

set(CURTAIL_TEST_ENVIRONMENT CURTAIL_TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR}
    CURTAIL_TEST_BIN_DIR=${PROJECT_BINARY_DIR}/bin)
set(CURTAIL_MPIRUN_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo)

# Files of a test lie in memory if there is enough: a shared disk may stand still for seconds.
# Tests in these folders use the disk, because they test how files reach it.
set(CURTAIL_TESTS_OF_DISKS core store tensors snapshot payload s3 journal)
execute_process(COMMAND df --output=avail -BG /dev/shm OUTPUT_VARIABLE memory ERROR_QUIET)
if(memory MATCHES "([0-9]+)G" AND CMAKE_MATCH_1 GREATER 4)
    set(CURTAIL_TESTS_IN_MEMORY TMPDIR=/dev/shm)
endif()

# _curtail_test_executable(TARGET MAIN)   An executable to which curtail_test adds sources.
function(_curtail_test_executable target main)
    add_executable(${target})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
        POSITION_INDEPENDENT_CODE OFF)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${target} PRIVATE curtail_flags curtail_test_flags ${main} GTest::gtest
        GTest::gmock curtail::core)
    # The linker keeps the first copy of an inline function. With this library before the tests,
    # which are compiled without optimization, the sources keep those that are optimized.
    target_link_options(${target} PRIVATE LINKER:--whole-archive $<TARGET_FILE:curtail_core>
        LINKER:--no-whole-archive)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:curtail_core>)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    _curtail_use_precompiled(${target} curtail_test ${folder})
endfunction()

# curtail_test(FOLDER_FILE [WAITS] [EACH] [STORAGE] [SOURCE file...] [LINKS target...] [RANKS n...]
#              [PROGRAMS program...] [LABELS label...] [TIMEOUT seconds] [COST seconds]
#              [ENVIRONMENT K=V...])
#   Adds FILE.cpp of the current folder of tests/ to the folder's executable, and a test that runs
#   what this file defines. LINKS names libraries of ours (`rounds`) or other targets [FOLDER].
#   PROGRAMS are built before the test. With RANKS the files become an executable of their own,
#   which runs under mpirun once for each number of ranks. Only such a test has several files. ctest
#   counts in fifths of a core. WAITS: the test mostly waits, so it shares a core with four
#   others. EACH: each case is a test of its own. STORAGE: it uses the S3 server that ctest starts
#   for several tests. COST: how long it takes, if that is long; such tests begin before others.
function(curtail_test name)
    cmake_parse_arguments(ARG "WAITS;EACH;STORAGE" "TIMEOUT;COST"
        "SOURCE;LINKS;RANKS;PROGRAMS;LABELS;ENVIRONMENT" ${ARGN})
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    string(REGEX REPLACE "^[a-z0-9]+_(.*)$" "\\1" file ${name})
    foreach(default "SOURCE;${file}.cpp" "LINKS;${folder}" "TIMEOUT;60" "LABELS;unit")
        list(POP_FRONT default option)
        if(NOT ARG_${option})
            set(ARG_${option} ${default})
        endif()
    endforeach()
    if(ARG_RANKS)
        set(target test_${name})
        _curtail_test_executable(${target} curtail_test_mpi_main)
    else()
        set(target test_${folder})
        if(NOT TARGET ${target})
            _curtail_test_executable(${target} curtail_test_main)
        endif()
    endif()
    list(TRANSFORM ARG_SOURCE PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
    target_sources(${target} PRIVATE ${sources})
    foreach(link ${ARG_LINKS})
        if(TARGET curtail_${link})
            set(link curtail_${link})
        endif()
        target_link_libraries(${target} PRIVATE ${link})
    endforeach()
    if(ARG_PROGRAMS)
        add_dependencies(${target} ${ARG_PROGRAMS})
    endif()
    set(command $<TARGET_FILE:${target}>)
    if(NOT ARG_RANKS)
        _curtail_path(source /${ARG_SOURCE})
        list(APPEND command --file ${source})
    endif()
    set(environment ${CURTAIL_TEST_ENVIRONMENT} ${ARG_ENVIRONMENT})
    if(NOT folder IN_LIST CURTAIL_TESTS_OF_DISKS)
        list(APPEND environment ${CURTAIL_TESTS_IN_MEMORY})
    endif()
    set(properties LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
    if(ARG_COST)
        list(APPEND properties COST ${ARG_COST})
    endif()
    if(ARG_STORAGE)
        list(APPEND environment CURTAIL_TEST_SHARED=${PROJECT_BINARY_DIR}/tests/shared)
        list(APPEND properties FIXTURES_REQUIRED storage)
    endif()
    if(ARG_RANKS)
        foreach(ranks ${ARG_RANKS})
            set(fifths 4)
            if(ARG_WAITS)
                set(fifths 2)
            endif()
            add_test(NAME ${name}_${ranks} COMMAND mpirun --bind-to none --oversubscribe -n ${ranks}
                ${command})
            set_tests_properties(${name}_${ranks} PROPERTIES ${properties} PROCESSORS ${fifths}
                ENVIRONMENT "${environment};${CURTAIL_MPIRUN_ENVIRONMENT}")
        endforeach()
        return()
    endif()
    # Two tests that compute leave room for one that replays a day.
    set(fifths 4)
    if(ARG_WAITS)
        set(fifths 1)
    endif()
    if(ARG_EACH)
        file(STRINGS ${ARG_SOURCE} cases REGEX "^TEST(_F)?\\(")
        list(TRANSFORM cases REPLACE "^.*, *([A-Za-z0-9]+)\\).*" "\\1")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARG_SOURCE})
        foreach(case IN LISTS cases)
            add_test(NAME ${name}.${case}
                COMMAND $<TARGET_FILE:${target}> --gtest_filter=*.${case})
            list(APPEND tests ${name}.${case})
        endforeach()
    else()
        add_test(NAME ${name} COMMAND ${command})
        set(tests ${name})
    endif()
    set_tests_properties(${tests} PROPERTIES ${properties} PROCESSORS ${fifths}
        ENVIRONMENT "${environment}")
endfunction()

# curtail_test_library(NAME [OPTIMIZED] SOURCES file... LINKS target...)
#   Code that several tests share, as the library curtail_test_NAME. It is compiled like the tests
#   or, with OPTIMIZED, like the sources.
function(curtail_test_library name)
    cmake_parse_arguments(ARG "OPTIMIZED" "" "SOURCES;LINKS" ${ARGN})
    set(target curtail_test_${name})
    add_library(${target} STATIC ${ARG_SOURCES})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${target} PRIVATE curtail_flags PUBLIC ${ARG_LINKS} fmt::fmt)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    if(ARG_OPTIMIZED)
        _curtail_use_precompiled(${target} curtail ${folder})
    else()
        target_link_libraries(${target} PRIVATE curtail_test_flags PUBLIC GTest::gtest)
        _curtail_use_precompiled(${target} curtail_test ${folder})
    endif()
endfunction()
