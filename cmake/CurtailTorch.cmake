# SPDX-License-Identifier: Apache-2.0
# LibTorch as imported targets. find_package(Torch) of a CUDA wheel fails without a CUDA toolkit, so
# this file names the libraries.
set(CURTAIL_TORCH_VERSION 2.11.0)
if(NOT EXISTS ${CURTAIL_TORCH_ROOT}/lib/libtorch_cpu.so)
    message(FATAL_ERROR
        "no LibTorch in ${CURTAIL_TORCH_ROOT} (lib/libtorch_cpu.so is missing); "
        "run scripts/setup.sh or pass -DCURTAIL_TORCH_ROOT=...")
endif()
# The header that holds the version: the first one since LibTorch 2.9, the second one before.
set(_version "")
foreach(_header include/torch/headeronly/version.h include/torch/csrc/api/include/torch/version.h)
    if(NOT _version AND EXISTS ${CURTAIL_TORCH_ROOT}/${_header})
        file(STRINGS ${CURTAIL_TORCH_ROOT}/${_header} _version REGEX
            "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
        list(TRANSFORM _version REPLACE "^[^0-9]+([0-9]+).*$" "\\1")
        list(JOIN _version "." _version)
    endif()
endforeach()
if(NOT _version STREQUAL CURTAIL_TORCH_VERSION)
    message(FATAL_ERROR
        "LibTorch in ${CURTAIL_TORCH_ROOT} has version \"${_version}\", but Curtail needs "
        "${CURTAIL_TORCH_VERSION} (headers and random numbers change between versions); "
        "run scripts/setup.sh or set CURTAIL_TORCH_ROOT")
endif()

add_library(curtail_torch INTERFACE)
target_include_directories(curtail_torch SYSTEM INTERFACE
    ${CURTAIL_TORCH_ROOT}/include ${CURTAIL_TORCH_ROOT}/include/torch/csrc/api/include)
# LibTorch ships headers of another version of fmt. This folder comes first, so that the system's
# fmt wins.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/system)
get_target_property(_fmt fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(CREATE_LINK ${_fmt}/fmt ${PROJECT_BINARY_DIR}/generated/system/fmt SYMBOLIC)
target_include_directories(curtail_torch SYSTEM BEFORE INTERFACE
    ${PROJECT_BINARY_DIR}/generated/system)
target_link_libraries(curtail_torch INTERFACE ${CURTAIL_TORCH_ROOT}/lib/libtorch_cpu.so
    ${CURTAIL_TORCH_ROOT}/lib/libc10.so)
# libtorch_cpu.so needs two CUDA libraries also on CPUs. It finds them beside itself, but the
# linker needs their folder.
get_filename_component(CURTAIL_CUDA_RUNTIME ${CURTAIL_TORCH_ROOT}/../nvidia/cu13/lib ABSOLUTE)
if(EXISTS ${CURTAIL_CUDA_RUNTIME})
    target_link_options(curtail_torch INTERFACE -Wl,-rpath-link,${CURTAIL_CUDA_RUNTIME})
endif()
