#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu-check.sh                        checks this machine's GPU: kernels, models, training
# gpu-check.sh --kernels [OPTION...]  only curtail-gpu-check, with its options
# gpu-check.sh --training [OPTION...] only training_check.py, with its options
# Uses the libraries of the machine's PyTorch (see env.sh). Exit codes: those of these programs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
golden=$here/share/curtail/golden
[ -d "$golden" ] || golden=$here/../../tests/golden
kernels() { "$here/run.sh" curtail-gpu-check --golden "$golden" "$@"; }
training() { "$here/run.sh" python3 "$here/training_check.py" "$@"; }
case ${1:-} in
    '') kernels; training ;;
    --kernels) shift; kernels "$@" ;;
    --training) shift; training "$@" ;;
    -h | --help) sed -n '3,6s/^# //p' "${BASH_SOURCE[0]}" ;;
    *) echo "gpu-check.sh: unknown option $1; see --help" >&2; exit 64 ;;
esac
