#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mutants.sh [--foreground] [--status]
# Shows in the background that the simulator finds each fault of tests/mutants/: a patch breaks one
# rule of the round protocol (scripts/mutant.sh). Each patch is an item; with ONLY=NAME in the
# environment, only those run whose names begin with NAME. --foreground runs in this terminal,
# --status prints the results so far. If you start it again on the same commit, it skips the items
# that passed. Results are in results/mutants/<commit>/: a log and a line of summary.jsonl per item.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
list=mutants
# shellcheck source=scripts/items.sh
source scripts/items.sh

[ $# -le 1 ] || die 64 "expected at most one option; see mutants.sh --help"
case ${1:-} in
    "" | --foreground) begin "$@" ;;
    --status) show_status ;;
    -h | --help) sed -n '3,8s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die 64 "unknown option $1; see mutants.sh --help" ;;
esac

mkdir -p build/mutants
find build/mutants -mindepth 1 -maxdepth 1 ! -name "$commit" -exec rm -rf {} +
for patch in tests/mutants/*.patch; do
    item "$(basename "$patch" .patch)" scripts/mutant.sh "$patch" "build/mutants/$commit" "$build"
done
finish
