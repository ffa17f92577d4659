# SPDX-License-Identifier: Apache-2.0
# cmake --install BUILD --prefix PREFIX, and CPack's tarball. The installed tree can be moved:
# programs find its files relative to themselves. LibTorch is not copied unless
# CURTAIL_INSTALL_TORCH is on.
include(GNUInstallDirs)
set(_share ${CMAKE_INSTALL_DATADIR}/curtail)

install(DIRECTORY slurm modules inputs DESTINATION ${_share} USE_SOURCE_PERMISSIONS)
install(FILES README.md CHANGELOG.md LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md"
    PATTERN "*.png")

if(CURTAIL_COMPONENTS STREQUAL "all")
    install(DIRECTORY results/reference DESTINATION ${_share}/results)
    install(DIRECTORY signals DESTINATION ${_share} FILES_MATCHING PATTERN "*.csv")
    install(FILES ${CURTAIL_PLOTLY} DESTINATION ${_share}/.deps/site/plotly/package_data)
    if(CURTAIL_INSTALL_TORCH)
        install(DIRECTORY ${CURTAIL_TORCH_ROOT}/lib/ ${CURTAIL_CUDA_RUNTIME}/ DESTINATION
            ${CMAKE_INSTALL_LIBDIR}/curtail
            FILES_MATCHING PATTERN "libtorch_cpu.so*" PATTERN "libc10.so*" PATTERN "libgomp*.so*"
                PATTERN "libcudart.so*" PATTERN "libcupti.so*")
    endif()
endif()

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME curtail)
set(CPACK_PACKAGE_VENDOR Curtail)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Carbon-aware pre-training across Slurm sites")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME curtail-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
if(NOT CURTAIL_COMPONENTS STREQUAL "all")
    string(APPEND CPACK_PACKAGE_FILE_NAME -${CURTAIL_COMPONENTS})
endif()
include(CPack)
