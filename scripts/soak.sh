#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak.sh [--foreground] [--status]
# Repeats long tests in the background: the tests of ranks and the fail-safe tests at the times of a
# real centre, the simulator of the round protocol with 500 million steps, connections over MPI that
# break at 120 moments, 200 changes of a run's evidence, and the unit tests under sanitizers. `make
# chaos` is a list of its own.
# --foreground runs them in this terminal, --status prints the results so far. The build, each test,
# 2000 seeds of the simulator, and ten moments of MPI are separate items. With ONLY=rounds in the
# environment, it runs only the items whose names begin with `rounds`. If you start it again on the
# same commit, it skips the items that passed. Results are in results/soak/<commit>/: a log and a
# line of summary.jsonl per item.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
list=soak
mpi_parts=12       # of 10 moments at which a process of a connection over MPI is killed or stopped
simulated_parts=100 # of 2000 seeds, or five million steps
# shellcheck source=scripts/items.sh
source scripts/items.sh

[ $# -le 1 ] || die 64 "expected at most one option; see soak.sh --help"
case ${1:-} in
    "" | --foreground) begin "$@" ;;
    --status) show_status ;;
    -h | --help) sed -n '3,12s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die 64 "unknown option $1; see soak.sh --help" ;;
esac

item build cmake --build "$build"
item ranks env CURTAIL_BUILD="$build" python3 tests/system/ranks_test.py --long
item fail-safe env CURTAIL_BUILD="$build" python3 tests/system/fail_safe_test.py --long
item fail-safe-signal env CURTAIL_BUILD="$build" \
    python3 tests/system/fail_safe_signal_test.py --long
for part in $(seq $simulated_parts); do
    first=$((part * 2000))
    item "rounds-$part" "$build/bin/curtail-sim" rounds --seeds $first-$((first + 1999))
done
for part in $(seq $mpi_parts); do
    item "mpi-$part" env CURTAIL_BUILD="$build" \
        python3 tests/system/mpi_test.py --seeds $((10 * part - 9))-$((10 * part))
done
item mutations env CURTAIL_TEST_MUTATIONS=200 ctest --test-dir "$build" -R '^account_mutations$'
item unit-asan make --no-print-directory test-asan
finish
