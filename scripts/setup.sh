#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh [--dry-run] [--gpu]
# Installs what Curtail needs to build and run on Debian 12: the missing packages of
# scripts/setup-packages.txt, the pinned wheels of scripts/wheels.txt into .deps/site, and promtool,
# which a test runs, into .deps. Safe to run again at any time. If packages are missing and it
# cannot become root, it prints what each one is for and the command to install them. It then
# unpacks the rest and exits: with 69 if sudo is missing, with 77 if sudo refuses or cannot ask for
# a password.
# With --dry-run it only prints what is missing.
# With CURTAIL_TORCH_ROOT (another LibTorch) the only wheels it unpacks are plotly and lizard.
# With --gpu it also unpacks NCCL into .deps/gpu and, unless the machine has a CUDA toolkit 13 with
# them, the compiler nvcc and the disassembler cuobjdump (scripts/wheels-gpu.txt).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD
dry_run=no
gpu=no
for argument in "$@"; do
    case $argument in
        --dry-run) dry_run=yes ;;
        --gpu) gpu=yes ;;
        -h | --help) sed -n '3,13s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) echo "setup.sh: unknown option $argument; use --dry-run or --gpu" >&2; exit 64 ;;
    esac
done

say() { echo "setup: $*" >&2; }
fail() { local code=$1; shift; echo "setup.sh: $*" >&2; exit "$code"; }

# shellcheck source=scripts/setup/services.sh
source scripts/setup/services.sh
# shellcheck source=scripts/setup/packages.sh
source scripts/setup/packages.sh
# shellcheck source=scripts/setup/promtool.sh
source scripts/setup/promtool.sh
# shellcheck source=scripts/setup/wheels.sh
source scripts/setup/wheels.sh

lock_checkout() {
    { mkdir -p .deps && [ -w .deps ]; } 2> /dev/null ||
        fail 73 "cannot write to $here/.deps; check its owner and that the disk is writable"
    exec 9> .deps/.setup.lock
    flock -n 9 || { say "waiting for another set-up of this checkout"; flock 9; }
}

# bash waits for apt-get and pip before it handles a signal; Ctrl-C in a terminal reaches them too.
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
[ $dry_run = yes ] || lock_checkout
install_packages
# Printed before the wheels are fetched, because pip may be one of the missing packages.
[ -z "$why" ] || say "$why"
install_promtool
install_wheels
[ $gpu = no ] || install_gpu_wheels
exit "$packages_status"
