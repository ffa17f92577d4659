#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# find_nvcc.sh [--toolkit]
# Prints the path of an nvcc 13.x: of CUDA_HOME, of the PATH, or of the wheels in .deps/gpu. With
# --toolkit it does not look in .deps/gpu. Exits with 69 if there is none.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

candidates=()
[ -z "${CUDA_HOME:-}" ] || candidates+=("$CUDA_HOME/bin/nvcc")
! on_path=$(command -v nvcc) || candidates+=("$on_path")
[ "${1:-}" = --toolkit ] || candidates+=("$here/.deps/gpu/nvidia/cu13/bin/nvcc")
for nvcc in "${candidates[@]}"; do
    if [ -x "$nvcc" ] && "$nvcc" --version 2> /dev/null | grep -q 'release 13\.'; then
        echo "$nvcc"
        exit 0
    fi
done
exit 69
