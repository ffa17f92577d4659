# SPDX-License-Identifier: Apache-2.0
# cmake --install BUILD --prefix PREFIX, and CPack's tarball. The installed tree can be moved:
# programs find its files relative to themselves. LibTorch is not copied unless
# CURTAIL_INSTALL_TORCH is on.
include(GNUInstallDirs)
set(_share ${CMAKE_INSTALL_DATADIR}/curtail)

# Named one by one: these folders may also hold files of the user.
install(PROGRAMS slurm/site_train.sh slurm/private_clusters.sh DESTINATION ${_share}/slurm)
install(FILES slurm/curtail.cron slurm/job_submit.lua DESTINATION ${_share}/slurm)
install(DIRECTORY slurm/private_clusters DESTINATION ${_share}/slurm FILES_MATCHING PATTERN "*.sh")
install(FILES modules/curtail.lua modules/curtail.tcl DESTINATION ${_share}/modules)
install(FILES inputs/runs/demo.json DESTINATION ${_share}/inputs/runs)
install(DIRECTORY inputs/examples DESTINATION ${_share}/inputs)
foreach(_site caiso_north nem_sa spp_tx)
    install(FILES inputs/sites/${_site}.json DESTINATION ${_share}/inputs/sites)
endforeach()
foreach(_model demo d4 d12 d20)
    install(FILES inputs/models/${_model}.json DESTINATION ${_share}/inputs/models)
endforeach()
install(FILES README.md CHANGELOG.md LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md"
    PATTERN "*.png")

if(CURTAIL_COMPONENTS STREQUAL "all")
    install(DIRECTORY results/reference DESTINATION ${_share}/results
        PATTERN "__pycache__" EXCLUDE)
    install(FILES signals/mci_2026-01-11.csv DESTINATION ${_share}/signals)
    install(FILES ${CURTAIL_PLOTLY} DESTINATION ${_share}/.deps/site/plotly/package_data)
    if(CURTAIL_INSTALL_TORCH)
        # CMAKE_INSTALL_RPATH names this folder.
        install(DIRECTORY ${CURTAIL_TORCH_ROOT}/lib/ ${CURTAIL_CUDA_RUNTIME}/ DESTINATION
            lib/curtail
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
