# SPDX-License-Identifier: Apache-2.0
# External libraries as imported targets: Debian 12 packages, and LibTorch from the pinned wheel
# (scripts/setup.sh).
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(RapidJSON REQUIRED)
find_package(CLI11 REQUIRED)
find_package(pugixml REQUIRED)

add_library(curtail_rapidjson INTERFACE)
target_include_directories(curtail_rapidjson SYSTEM INTERFACE ${RapidJSON_INCLUDE_DIRS})
target_compile_definitions(curtail_rapidjson INTERFACE RAPIDJSON_HAS_STDSTRING=1)

if(CURTAIL_COMPONENTS STREQUAL "all")
    set(OMPI_CXX_SKIP TRUE)
    set(MPI_CXX_SKIP_MPICXX TRUE)
    find_package(MPI REQUIRED COMPONENTS CXX)
    find_package(HDF5 REQUIRED COMPONENTS C)

    add_library(curtail_hdf5 INTERFACE)
    target_include_directories(curtail_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
    target_link_libraries(curtail_hdf5 INTERFACE ${HDF5_LIBRARIES})

    add_library(curtail_mpi INTERFACE)
    target_link_libraries(curtail_mpi INTERFACE MPI::MPI_CXX)
    target_compile_definitions(curtail_mpi INTERFACE OMPI_SKIP_MPICXX=1)

    include(CurtailTorch)
    if(CURTAIL_GPU)
        include(CurtailCuda)
    endif()
endif()
if(CURTAIL_TESTS)
    find_package(GTest REQUIRED)
endif()
