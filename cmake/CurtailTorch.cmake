# SPDX-License-Identifier: Apache-2.0
# LibTorch as imported targets. find_package(Torch) of a CUDA wheel fails where no CUDA toolkit is found, so the libraries are named one by one.
set(CURTAIL_TORCH_VERSION 2.11.0)
if(NOT EXISTS ${CURTAIL_TORCH_ROOT}/lib/libtorch_cpu.so)
    message(FATAL_ERROR "no LibTorch in ${CURTAIL_TORCH_ROOT} (lib/libtorch_cpu.so is not there); run scripts/setup.sh or pass -DCURTAIL_TORCH_ROOT=...")
endif()
# Every installation says its version in a header: since 2.9 in the first of these, before in the second.
set(_version "")
foreach(_header include/torch/headeronly/version.h include/torch/csrc/api/include/torch/version.h)
    if(NOT _version AND EXISTS ${CURTAIL_TORCH_ROOT}/${_header})
        file(STRINGS ${CURTAIL_TORCH_ROOT}/${_header} _version REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
        list(TRANSFORM _version REPLACE "^[^0-9]+([0-9]+).*$" "\\1")
        list(JOIN _version "." _version)
    endif()
endforeach()
if(NOT _version STREQUAL CURTAIL_TORCH_VERSION)
    message(FATAL_ERROR "LibTorch in ${CURTAIL_TORCH_ROOT} is \"${_version}\", Curtail is built and tested with ${CURTAIL_TORCH_VERSION} "
        "(its headers and its random numbers change between versions); run scripts/setup.sh or point CURTAIL_TORCH_ROOT at ${CURTAIL_TORCH_VERSION}")
endif()

add_library(curtail_torch INTERFACE)
target_include_directories(curtail_torch SYSTEM INTERFACE
    ${CURTAIL_TORCH_ROOT}/include ${CURTAIL_TORCH_ROOT}/include/torch/csrc/api/include)
# LibTorch brings headers of another fmt than the system's, which would win; this folder comes before them.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/system)
get_target_property(_fmt fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(CREATE_LINK ${_fmt}/fmt ${PROJECT_BINARY_DIR}/generated/system/fmt SYMBOLIC)
target_include_directories(curtail_torch SYSTEM BEFORE INTERFACE ${PROJECT_BINARY_DIR}/generated/system)
target_compile_definitions(curtail_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
target_link_libraries(curtail_torch INTERFACE ${CURTAIL_TORCH_ROOT}/lib/libtorch_cpu.so ${CURTAIL_TORCH_ROOT}/lib/libc10.so)
get_filename_component(_site ${CURTAIL_TORCH_ROOT} DIRECTORY)
set(_cuda ${_site}/nvidia/cu13/lib)
target_link_options(curtail_torch INTERFACE -Wl,-rpath,${CURTAIL_TORCH_ROOT}/lib)
if(EXISTS ${_cuda})
    target_link_options(curtail_torch INTERFACE -Wl,-rpath,${_cuda} -Wl,-rpath-link,${_cuda})
endif()
