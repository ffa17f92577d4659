# SPDX-License-Identifier: Apache-2.0
# build_info.cpp is written at build time, so that a new commit needs no new configuration.
set(CURTAIL_MPI_VERSION none)
if(MPIEXEC_EXECUTABLE)
    execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE _mpiexec ERROR_QUIET)
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" CURTAIL_MPI_VERSION "${_mpiexec}")
    string(PREPEND CURTAIL_MPI_VERSION "Open MPI ")
endif()
set(_out ${PROJECT_BINARY_DIR}/generated/build_info.cpp)
add_custom_target(curtail_build_info BYPRODUCTS ${_out}
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
        -DIN=${CMAKE_CURRENT_LIST_DIR}/build_info.cpp.in -DOUT=${_out}
        -DPROJECT_VERSION=${PROJECT_VERSION} -DCMAKE_CXX_COMPILER_ID=${CMAKE_CXX_COMPILER_ID}
            -DCMAKE_CXX_COMPILER_VERSION=${CMAKE_CXX_COMPILER_VERSION}
        -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} "-DCURTAIL_SANITIZE=${_sanitizers}"
            -DCURTAIL_TORCH_VERSION=${CURTAIL_TORCH_VERSION}
        -DHDF5_VERSION=${HDF5_VERSION} "-DCURTAIL_MPI_VERSION=${CURTAIL_MPI_VERSION}" -P
            ${PROJECT_SOURCE_DIR}/cmake/write_build_info.cmake VERBATIM)
add_dependencies(curtail_core curtail_build_info)
target_sources(curtail_core PRIVATE ${_out})
