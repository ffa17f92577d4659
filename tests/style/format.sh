#!/usr/bin/env bash
# Every source is as clang-format writes it.
set -euo pipefail
find src tests -name '*.?pp' -print0 | xargs -0 -P 2 -n 16 clang-format --dry-run --Werror
