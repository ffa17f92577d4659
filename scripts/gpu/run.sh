#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh PROGRAM [ARGUMENT...]
# Runs a program for GPUs, or any other command, with the libraries of the machine's PyTorch (see
# env.sh). Exit codes: 64 usage error; 69 PyTorch 2.11 for CUDA 13 is missing; otherwise those of
# the program.
set -euo pipefail
case ${1:-} in
    -h | --help) sed -n '3,6s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    '' | -*) echo "usage: run.sh PROGRAM [ARGUMENT...]" >&2; exit 64 ;;
esac
# shellcheck source=scripts/gpu/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh" || exit $?
exec "$@"
