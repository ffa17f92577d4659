#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every file that can hold a comment names its license in one of its first ten lines.
set -euo pipefail
missing=$({
    find . '(' -path ./.git -o -path ./.deps -o -path ./build -o -path ./results -o \
        -path ./inputs -o -path ./signals -o -path ./tests/golden -o -name __pycache__ ')' -prune \
        -o -type f ! -name LICENSE ! -name '*.md' ! -name '*.txt' ! -name '*.json*' \
        ! -name '*.csv' ! -name '*.png' ! -name '*.h5' ! -name '*.xz' -print0
    find . -path ./.deps -prune -o -path ./build -prune -o -name CMakeLists.txt -print0
} | xargs -0 awk '
    function report() { if (file && !named) print file ": no SPDX-License-Identifier line" }
    FNR == 1 { report(); file = FILENAME; named = 0 }
    /SPDX-License-Identifier: Apache-2.0/ { named = 1 }
    named || FNR == 10 { nextfile }
    END { report() }')
[ -z "$missing" ] || { echo "$missing"; exit 1; }
