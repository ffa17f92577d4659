#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source is as clang-format writes it, the page's scripts too.
set -euo pipefail
find src tests '(' -name '*.?pp' -o -name '*.js' ')' -print0 | xargs -0 -P 2 -n 16 clang-format --dry-run --Werror
