# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by soak.sh, chaos.sh and mutants.sh: a list of items that runs in the background, and that
# can be started again. Its results are in results/$list/<commit>/: a log and a line of
# summary.jsonl per item. The caller sets `list` (its name) and `here` (the checkout), and works in
# the checkout.

commit=$(git rev-parse --short=12 HEAD 2> /dev/null || echo unknown)
# Every state of a modified tree has a result folder of its own.
if [ -n "$(git status --porcelain --untracked-files=no 2> /dev/null)" ]; then
    commit=$commit-$(git diff HEAD | sha256sum | cut -c 1-8)
fi
list=${list:?}
out=results/$list/$commit
build=${CURTAIL_BUILD:-${here:?}/build/release}
failed=0

die() { local code=$1; shift; echo "$list.sh: $*" >&2; exit "$code"; }

# Takes the lock before detaching and passes it on as descriptor 9, so that "running" is true when
# it is printed.
take_lock() {
    mkdir -p "$out"
    [ /proc/self/fd/9 -ef "$out/lock" ] || exec 9> "$out/lock"
    flock -n 9 ||
        die 75 "already running on commit $commit; scripts/$list.sh --status shows its progress"
}

# Takes the lock. Without the option --foreground, continues as another process in the background.
begin() { # [--foreground]
    [ -e "$build/CMakeCache.txt" ] || die 69 "$build is missing; run \`make build\` first"
    take_lock
    if [ -z "${1:-}" ]; then
        setsid nohup "scripts/$list.sh" --foreground > "$out/$list.log" 2>&1 < /dev/null &
        echo "$list: running in the background as process $!;" \
            "progress: scripts/$list.sh --status, log: $out/$list.log"
        exit 0
    fi
    unset CURTAIL_BUILD MAKEFLAGS MFLAGS MAKELEVEL PRESET # set by the calling make
}

show_status() {
    [ -e "$out/summary.jsonl" ] || { echo "$list: no results yet for commit $commit"; exit 0; }
    cat "$out/summary.jsonl"; exit 0
}

# item NAME COMMAND...: skipped if it has already passed on this commit, or if its name does not
# begin with $ONLY.
item() {
    local name=$1 status=0 passed=true started
    shift
    [[ $name == "${ONLY:-}"* || $name == build ]] || return 0
    if grep -qs "\"item\":\"$name\",\"passed\":true" "$out/summary.jsonl"; then return; fi
    started=$(date +%s)
    "$@" > "$out/$name.log" 2>&1 < /dev/null 9>&- || status=$?
    [ $status = 0 ] || passed=false
    printf '{"item":"%s","passed":%s,"seconds":%s,"time":"%s","host":"%s"}\n' \
        "$name" $passed $(($(date +%s) - started)) "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
        "$(uname -srm)" >> "$out/summary.jsonl"
    [ $status = 0 ] || { failed=1; echo "$list: $name failed, see $out/$name.log"; }
}

finish() {
    local result='everything passed'
    [ $failed = 0 ] || result='with failures'
    echo "$list: done, $result; $out/summary.jsonl"
    exit $failed
}
