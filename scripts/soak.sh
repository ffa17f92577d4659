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
commit=$(git rev-parse --short=12 HEAD 2> /dev/null || echo unknown)
# Every state of a modified tree has a result folder of its own.
if [ -n "$(git status --porcelain --untracked-files=no 2> /dev/null)" ]; then
    commit=$commit-$(git diff HEAD | sha256sum | cut -c 1-8)
fi
out=results/soak/$commit
build=${CURTAIL_BUILD:-$here/build/release}
seeds=20
disturbed_seeds=100

die() { local code=$1; shift; echo "soak.sh: $*" >&2; exit "$code"; }

# Takes the lock before detaching and passes it on as descriptor 9, so that "running" is true when
# it is printed.
take_lock() {
    mkdir -p "$out"
    [ /proc/self/fd/9 -ef "$out/lock" ] || exec 9> "$out/lock"
    flock -n 9 ||
        die 75 "already running on commit $commit; scripts/soak.sh --status shows its progress"
}

[ $# -le 1 ] || die 64 "expected at most one option; see soak.sh --help"
case ${1:-} in
    "" | --foreground)
        [ -e "$build/CMakeCache.txt" ] || die 69 "$build is missing; run \`make build\` first"
        take_lock
        if [ -z "${1:-}" ]; then
            setsid nohup scripts/soak.sh --foreground > "$out/soak.log" 2>&1 < /dev/null &
            echo "soak: running in the background as process $!;" \
                "progress: scripts/soak.sh --status, log: $out/soak.log"
            exit 0
        fi ;;
    --status)
        [ -e "$out/summary.jsonl" ] || { echo "soak: no results yet for commit $commit"; exit 0; }
        cat "$out/summary.jsonl"; exit 0 ;;
    -h | --help) sed -n '3,10s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die 64 "unknown option $1; see soak.sh --help" ;;
esac

failed=0

# item NAME COMMAND...: skipped if it has already passed on this commit.
item() {
    local name=$1 status=0 passed=true started
    shift
    if grep -qs "\"item\":\"$name\",\"passed\":true" "$out/summary.jsonl"; then return; fi
    started=$(date +%s)
    "$@" > "$out/$name.log" 2>&1 < /dev/null 9>&- || status=$?
    [ $status = 0 ] || passed=false
    printf '{"item":"%s","passed":%s,"seconds":%s,"time":"%s","host":"%s"}\n' \
        "$name" $passed $(($(date +%s) - started)) "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
        "$(uname -srm)" >> "$out/summary.jsonl"
    [ $status = 0 ] || { failed=1; echo "soak: $name failed, see $out/$name.log"; }
}

unset CURTAIL_BUILD MAKEFLAGS MFLAGS MAKELEVEL PRESET # set by the calling make
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
item rounds-simulator env CURTAIL_SOAK_SEEDS=20000 "$build/tests/test_rounds" \
    --file tests/rounds/simulation.cpp
item unit-asan make --no-print-directory test-asan
[ $failed = 0 ] && result='everything passed' || result='with failures'
echo "soak: done, $result; $out/summary.jsonl"
exit $failed
