#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-format would change no source, including the page's scripts.
set -euo pipefail
find src tests bench '(' -name '*.?pp' -o -name '*.cu*' -o -name '*.js' ')' -print0 |
    xargs -0 -P 2 -n 16 clang-format --dry-run --Werror
