#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_format.sh FILE...: fails if clang-format would change any of the files.
set -euo pipefail
clang-format --dry-run --Werror "$@" || { echo "run \`make format\`" >&2; exit 1; }
