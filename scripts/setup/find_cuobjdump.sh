#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# find_cuobjdump.sh [--toolkit]
# Prints the path of a cuobjdump 13.x with an nvdisasm beside it, which it calls: of CUDA_HOME, of
# the PATH, or of the wheels in .deps/gpu. With --toolkit it does not look in .deps/gpu. Exits with
# 69 if there is none.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

candidates=()
[ -z "${CUDA_HOME:-}" ] || candidates+=("$CUDA_HOME/bin/cuobjdump")
! on_path=$(command -v cuobjdump) || candidates+=("$on_path")
[ "${1:-}" = --toolkit ] || candidates+=("$here/.deps/gpu/nvidia/cu13/bin/cuobjdump")
for cuobjdump in "${candidates[@]}"; do
    if [ -x "$cuobjdump" ] && [ -x "$(dirname "$cuobjdump")/nvdisasm" ] &&
        "$cuobjdump" --version 2> /dev/null | grep -q 'release 13\.'; then
        echo "$cuobjdump"
        exit 0
    fi
done
exit 69
