#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak.sh [--foreground] [--status]
# Repeats long tests in the background: the kill test with twenty seeds, the disturbed runs with a
# hundred, the tests of ranks and the fail-safe tests at the times of a real centre, the simulator
# of the round protocol with many seeds, and the unit tests under sanitizers. With --foreground it
# runs them in this terminal. With --status it prints the results so far. The build, each test, and
# each seed of the kill test and of the disturbed runs are separate items. If you start it again on
# the same commit, it skips the items that passed. Results are in results/soak/<commit>/: a log and
# a line of summary.jsonl per item.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
list=soak
seeds=20
disturbed_seeds=100
# shellcheck source=scripts/items.sh
source scripts/items.sh

[ $# -le 1 ] || die 64 "expected at most one option; see soak.sh --help"
case ${1:-} in
    "" | --foreground) begin "$@" ;;
    --status) show_status ;;
    -h | --help) sed -n '3,10s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die 64 "unknown option $1; see soak.sh --help" ;;
esac

item build cmake --build "$build"
for seed in $(seq $seeds); do
    item "kill-$seed" env CURTAIL_BUILD="$build" \
        python3 tests/system/kill_test.py --seed "$seed"
done
for seed in $(seq $disturbed_seeds); do
    item "disturbed-$seed" env CURTAIL_BUILD="$build" \
        python3 tests/system/disturbed_test.py --seed "$seed"
done
item ranks env CURTAIL_BUILD="$build" python3 tests/system/ranks_test.py --long
item fail-safe env CURTAIL_BUILD="$build" python3 tests/system/fail_safe_test.py --long
item fail-safe-signal env CURTAIL_BUILD="$build" python3 tests/system/fail_safe_signal_test.py --long
item rounds-simulator "$build/bin/curtail-sim" rounds --seeds 1000-20999
item unit-asan make --no-print-directory test-asan
finish
