#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# find_cuda_tool.sh nvcc|cuobjdump [--toolkit]
# Prints the path of this tool of CUDA 13.x: of CUDA_HOME, of the PATH, or of the wheels in
# .deps/gpu. A cuobjdump counts only with an nvdisasm beside it, which it calls. With --toolkit it
# does not look in .deps/gpu. Exits with 69 if there is none.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tool=$1
beside=$tool
[ "$tool" != cuobjdump ] || beside=nvdisasm

candidates=()
[ -z "${CUDA_HOME:-}" ] || candidates+=("$CUDA_HOME/bin/$tool")
! on_path=$(command -v "$tool") || candidates+=("$on_path")
[ "${2:-}" = --toolkit ] || candidates+=("$here/.deps/gpu/nvidia/cu13/bin/$tool")
for path in "${candidates[@]}"; do
    if [ -x "$path" ] && [ -x "$(dirname "$path")/$beside" ] &&
        "$path" --version 2> /dev/null | grep -q 'release 13\.'; then
        echo "$path"
        exit 0
    fi
done
exit 69
