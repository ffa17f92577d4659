# SPDX-License-Identifier: Apache-2.0
# How everything of ours is compiled. Nothing here depends on the machine that builds: no
# -march=native.
set(CURTAIL_COMPONENTS all CACHE STRING
    "all, or poller: curtail-poll, curtail-status, curtail-store; no MPI, LibTorch, HDF5")
set_property(CACHE CURTAIL_COMPONENTS PROPERTY STRINGS all poller)
if(NOT CURTAIL_COMPONENTS MATCHES "^(all|poller)$")
    message(FATAL_ERROR "CURTAIL_COMPONENTS is \"${CURTAIL_COMPONENTS}\"; set it to all or poller")
endif()
if(CURTAIL_COMPONENTS STREQUAL "all")
    option(CURTAIL_TESTS "Build the tests" ON)
else()
    set(CURTAIL_TESTS OFF) # they need everything
endif()
option(CURTAIL_GPU "Compile the CUDA kernels and link LibTorch's CUDA libraries" OFF)
option(CURTAIL_INSTALL_TORCH "Install LibTorch's CPU libraries beside the programs" OFF)
option(CURTAIL_PRECOMPILED_HEADERS "Share precompiled headers" ON)
option(CURTAIL_WERROR "Treat warnings as errors" ON)
if(CURTAIL_GPU AND CURTAIL_INSTALL_TORCH)
    message(FATAL_ERROR "CURTAIL_INSTALL_TORCH copies LibTorch for CPUs only; for GPUs, use "
        "make gpu-bundle")
endif()
set(CURTAIL_SANITIZE "" CACHE STRING "Sanitizers for our code: address;undefined or thread")
set(CURTAIL_TORCH_ROOT "${PROJECT_SOURCE_DIR}/.deps/site/torch" CACHE PATH
    "LibTorch: a folder with include/ and lib/")
set(CURTAIL_PLOTLY "${PROJECT_SOURCE_DIR}/.deps/site/plotly/package_data/plotly.min.js"
    CACHE FILEPATH "plotly.min.js for reports")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
# Installed programs find LibTorch beside themselves, or else where it was when they were built.
# Those for GPUs run with the LibTorch of the machine's PyTorch (scripts/gpu/env.sh).
set(CMAKE_INSTALL_RPATH $ORIGIN/../lib/curtail)
if(NOT CURTAIL_INSTALL_TORCH AND NOT CURTAIL_GPU)
    list(APPEND CMAKE_INSTALL_RPATH ${CURTAIL_TORCH_ROOT}/lib)
endif()
# Built programs have the same path. To a path that it replaces at the installation, CMake adds
# colons, and each of them means the current folder, where others may write.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
if(NOT CURTAIL_GPU)
    set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
    file(CREATE_LINK ${CURTAIL_TORCH_ROOT}/lib ${PROJECT_BINARY_DIR}/lib/curtail SYMBOLIC)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")

# Object files name sources relative to the checkout, so that ccache serves every clone from one
# cache.
find_program(CURTAIL_CCACHE ccache)
if(CURTAIL_CCACHE)
    # Without the last two, ccache caches nothing that includes a header younger than a second, such
    # as the precompiled one right after configuration. All build folders are equally deep, so their
    # objects name the same sources (NOHASHDIR).
    set(_launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
        CCACHE_PCH_EXTSUM=true
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${PROJECT_SOURCE_DIR}/cmake/ccache_launcher.sh ${CURTAIL_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${_launcher})
    set(CMAKE_C_COMPILER_LAUNCHER ${_launcher})
endif()
find_program(CURTAIL_MOLD mold)

add_library(curtail_flags INTERFACE)
target_compile_options(curtail_flags INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
    -D_GLIBCXX_ASSERTIONS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(curtail_flags INTERFACE -fpch-preprocess) # for ccache
    # The compiler takes up to 600 MB before it looks for memory to reuse: a tenth faster.
    target_compile_options(curtail_flags INTERFACE --param=ggc-min-heapsize=600000)
    # GCC 12 warns falsely about std::string (its bugs 105329 and 105651). It is silent in system
    # headers, but not in precompiled ones.
    target_compile_options(curtail_flags INTERFACE -Wno-array-bounds -Wno-restrict
        -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(CURTAIL_WERROR)
    target_compile_options(curtail_flags INTERFACE -Werror)
endif()
target_link_options(curtail_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack -pie)
if(CURTAIL_MOLD)
    target_link_options(curtail_flags INTERFACE -fuse-ld=mold)
endif()
if(CURTAIL_SANITIZE)
    list(JOIN CURTAIL_SANITIZE "," _sanitizers)
    target_compile_options(curtail_flags INTERFACE -fsanitize=${_sanitizers} -fno-omit-frame-pointer
        -fno-sanitize-recover=undefined)
    target_link_options(curtail_flags INTERFACE -fsanitize=${_sanitizers})
else()
    target_compile_options(curtail_flags INTERFACE $<$<CONFIG:Release>:-U_FORTIFY_SOURCE
        -D_FORTIFY_SOURCE=2>)
endif()

# Tests are compiled quickly rather than run quickly.
add_library(curtail_test_flags INTERFACE)
target_compile_options(curtail_test_flags INTERFACE -fPIC $<$<CONFIG:Release>:-O0
    -U_FORTIFY_SOURCE>)
