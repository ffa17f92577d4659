# SPDX-License-Identifier: Apache-2.0
# With CURTAIL_GPU: the language CUDA, LibTorch's CUDA libraries, the CUDA runtime and NCCL.
# nvcc is that of a CUDA toolkit 13 (CUDA_HOME or PATH), or else of the wheels in .deps/gpu.
if(NOT EXISTS ${CURTAIL_TORCH_ROOT}/lib/libtorch_cuda.so)
    message(FATAL_ERROR "LibTorch in ${CURTAIL_TORCH_ROOT} has no CUDA (lib/libtorch_cuda.so is "
        "missing); set CURTAIL_TORCH_ROOT to one for CUDA 13, or unset it")
endif()
if(NOT CMAKE_CUDA_COMPILER)
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/setup/find_cuda_tool.sh nvcc
        OUTPUT_VARIABLE CMAKE_CUDA_COMPILER OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT CMAKE_CUDA_COMPILER)
        message(FATAL_ERROR "no nvcc 13; run scripts/setup.sh --gpu, or set CUDA_HOME to a CUDA "
            "toolkit 13")
    endif()
endif()
# "90" adds PTX, which newer GPUs compile when the program starts.
set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "GPUs to compile the kernels for")
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
if(CURTAIL_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CURTAIL_CCACHE})
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know nvcc's
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD ${CMAKE_CXX_STANDARD})
set(CMAKE_CUDA_RUNTIME_LIBRARY None) # the runtime is linked by name below

add_library(curtail_cuda_flags INTERFACE)
target_compile_options(curtail_cuda_flags INTERFACE
    -Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow,-Wnon-virtual-dtor
    -Xcompiler=-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
    -Xcompiler=-D_GLIBCXX_ASSERTIONS,-fstack-protector-strong,-fcf-protection)
if(CURTAIL_WERROR)
    target_compile_options(curtail_cuda_flags INTERFACE -Werror=all-warnings -Xcompiler=-Werror)
endif()

# Kernels register with the runtime that LibTorch uses, so the runtime is a shared library.
get_filename_component(_cuda_root ${CMAKE_CUDA_COMPILER}/../.. REALPATH)
find_library(CURTAIL_CUDART NAMES libcudart.so.13 libcudart.so REQUIRED NO_DEFAULT_PATH
    PATHS ${CURTAIL_CUDA_RUNTIME} ${_cuda_root}/lib64 ${_cuda_root}/lib)
add_library(curtail_cudart INTERFACE)
target_include_directories(curtail_cudart SYSTEM INTERFACE
    ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_link_libraries(curtail_cudart INTERFACE ${CURTAIL_CUDART})

set(CURTAIL_NCCL_ROOT "${PROJECT_SOURCE_DIR}/.deps/gpu/nvidia/nccl" CACHE PATH
    "NCCL: a folder with include/ and lib/")
find_library(CURTAIL_NCCL NAMES libnccl.so.2 libnccl.so REQUIRED NO_DEFAULT_PATH
    PATHS ${CURTAIL_NCCL_ROOT}/lib)
add_library(curtail_nccl INTERFACE)
target_include_directories(curtail_nccl SYSTEM INTERFACE ${CURTAIL_NCCL_ROOT}/include)
target_link_libraries(curtail_nccl INTERFACE curtail_cudart ${CURTAIL_NCCL})

# Programs start with scripts/gpu/run.sh, which finds the LibTorch of the machine's PyTorch. In a
# bundle they find all other libraries by DT_RPATH. It also holds for the libraries of libraries,
# which DT_RUNPATH does not.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
target_link_options(curtail_flags INTERFACE -Wl,--disable-new-dtags)

# Nothing calls LibTorch's CUDA library by name; it registers itself when it is loaded. Its own
# libraries (cuBLAS, cuDNN, ...) need not be here: the machine with the GPU has them.
target_link_options(curtail_torch INTERFACE -Wl,--unresolved-symbols=ignore-in-shared-libs)
target_link_libraries(curtail_torch INTERFACE
    "-Wl,--push-state,--no-as-needed,${CURTAIL_TORCH_ROOT}/lib/libtorch_cuda.so,${CURTAIL_TORCH_ROOT}/lib/libc10_cuda.so,--pop-state"
    curtail_cudart)
