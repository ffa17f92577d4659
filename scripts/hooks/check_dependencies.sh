#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_dependencies.sh: fails if a library includes a header that its CMake file does not allow.
# Needs a build with tests in $CURTAIL_BUILD [build/release]; without one it checks nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${CURTAIL_BUILD:-build/release}
[ -x "$build/tests/test_core" ] || {
    echo "check_dependencies.sh: checked nothing, because $build has no tests; run make build" >&2
    exit 0
}
output=$(ctest --test-dir "$build" -R '^core_dependencies$' --output-on-failure 2>&1) ||
    { echo "$output" >&2; exit 1; }
