# SPDX-License-Identifier: Apache-2.0
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE CURTAIL_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _rc)
if(NOT _rc EQUAL 0)
    set(CURTAIL_COMMIT unknown)
else()
    execute_process(COMMAND git --no-optional-locks -C ${SOURCE_DIR} status --porcelain
        --untracked-files=no
        OUTPUT_VARIABLE _changes ERROR_QUIET)
    if(_changes)
        string(APPEND CURTAIL_COMMIT "+")
    endif()
endif()
configure_file(${IN} ${OUT} @ONLY)
