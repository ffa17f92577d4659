#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak.sh [--foreground] [--status]
# Long repetitions of the tests: the kill test at twenty seeds, the round protocol's simulator at many, unit tests under sanitizers. Goes on in
# the background; started again on the same commit it goes on where it was. Results: results/soak/<commit>/, one log and one line each.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
commit=$(git rev-parse --short=12 HEAD 2> /dev/null || echo unknown)
# Each state of a changed tree is a source of its own.
[ -z "$(git status --porcelain --untracked-files=no 2> /dev/null)" ] || commit=$commit-$(git diff HEAD | sha256sum | cut -c 1-8)
out=results/soak/$commit
build=${CURTAIL_BUILD:-$here/build/release}
seeds=20

# The lock is taken before detaching and handed on as descriptor 9: "running" is true when it is said.
take_lock() {
    mkdir -p "$out"
    [ /proc/self/fd/9 -ef "$out/lock" ] || exec 9> "$out/lock"
    flock -n 9 || { echo "soak.sh: already running on commit $commit; scripts/soak.sh --status says how far it is" >&2; exit 75; }
}

[ $# -le 1 ] || { echo "soak.sh: one option at most; see soak.sh --help" >&2; exit 64; }
case ${1:-} in
    "" | --foreground)
        [ -e "$build/CMakeCache.txt" ] || { echo "soak.sh: $build is not there; run \`make build\` first" >&2; exit 69; }
        take_lock
        if [ -z "${1:-}" ]; then
            setsid nohup scripts/soak.sh --foreground > "$out/soak.log" 2>&1 < /dev/null &
            echo "soak: running in the background as process $!; scripts/soak.sh --status says how far it is, $out/soak.log more"
            exit 0
        fi ;;
    --status)
        [ -e "$out/summary.jsonl" ] || { echo "soak: nothing has ended on commit $commit"; exit 0; }
        cat "$out/summary.jsonl"; exit 0 ;;
    -h | --help) sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "soak.sh: unknown option $1; see soak.sh --help" >&2; exit 64 ;;
esac

failed=0

# item NAME COMMAND...: skipped if it has passed on this commit already.
item() {
    local name=$1 status=0 started
    shift
    if grep -q "\"item\":\"$name\",\"passed\":true" "$out/summary.jsonl" 2>/dev/null; then return; fi
    started=$(date +%s)
    "$@" > "$out/$name.log" 2>&1 < /dev/null 9>&- || status=$?
    printf '{"item":"%s","passed":%s,"seconds":%s,"time":"%s","host":"%s"}\n' "$name" "$([ $status = 0 ] && echo true || echo false)" \
        $(($(date +%s) - started)) "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(uname -srm)" >> "$out/summary.jsonl"
    [ $status = 0 ] || { failed=1; echo "soak: $name failed, see $out/$name.log"; }
}

unset CURTAIL_BUILD MAKEFLAGS MFLAGS MAKELEVEL PRESET # of the make that began this
item build cmake --build "$build"
for seed in $(seq $seeds); do item "kill-$seed" env CURTAIL_BUILD="$build" python3 tests/system/kill_test.py --seed "$seed"; done
item rounds-simulator env CURTAIL_SOAK_SEEDS=20000 "$build/tests/test_rounds_simulation"
item unit-asan make --no-print-directory test-asan
echo "soak: done, $([ $failed = 0 ] && echo 'everything passed' || echo 'with failures'); $out/summary.jsonl"
exit $failed
