#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu-check.sh [OPTION...]
# Runs curtail-gpu-check, with its options, with the libraries of the machine's PyTorch.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/run.sh" curtail-gpu-check "$@"
