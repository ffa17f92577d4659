#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every file that can hold a comment names its license in one of its first ten lines.
set -euo pipefail
status=0
while IFS= read -r -d '' file; do
    head -n 10 "$file" | grep -qF 'SPDX-License-Identifier: Apache-2.0' && continue
    echo "$file: no SPDX-License-Identifier line"
    status=1
done < <(
    find . '(' -path ./.git -o -path ./.deps -o -path ./build -o -path ./results -o \
        -path ./inputs -o -path ./signals -o -path ./tests/golden -o -name __pycache__ ')' -prune \
        -o -type f ! -name LICENSE ! -name '*.md' ! -name '*.txt' ! -name '*.json*' \
        ! -name '*.csv' ! -name '*.png' ! -name '*.h5' ! -name '*.xz' -print0
    find . -path ./.deps -prune -o -path ./build -prune -o -name CMakeLists.txt -print0
)
exit "$status"
