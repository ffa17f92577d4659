#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh [--run FILE] [--trace FILE] [--speed FACTOR] [--text PATH]
# Replays a recorded day on three private Slurm clusters of this machine and trains a small model in its windows.
# Ends with a table, report.html in the run's folder and a sample of text. Ctrl-C, TERM or a closed terminal: jobs are drained,
# clusters go down, nothing is left running; a second signal cancels the jobs instead.
set -euo pipefail

usage() { echo "demo.sh: $*; see demo.sh --help" >&2; exit 64; }

caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD
# Paths on the command line are the caller's; the defaults are the checkout's.
absolute() { case $1 in /*) echo "$1" ;; *) echo "$caller/$1" ;; esac; }
run=inputs/runs/demo.json
trace=signals/mci_2026-01-11.csv
speed=300
text=
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) sed -n '3,6s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
        --run | --trace | --speed | --text) [ -n "${2-}" ] || usage "$1 wants a value" ;;
        *) usage "unknown option $1" ;;
    esac
    case $1 in
        --run) run=$(absolute "$2") ;;
        --trace) trace=$(absolute "$2") ;;
        --speed) speed=$2 ;;
        --text) text=$(absolute "$2") ;;
    esac
    shift 2
done
bin=${CURTAIL_BUILD:-$here/build/release}/bin

# Programs take options from the environment too; those of the caller are not the demo's.
for name in "${!CURTAIL_@}"; do
    case $name in CURTAIL_BUILD | CURTAIL_CLUSTER*) ;; *) unset "$name" ;; esac
done

# A terminal that is gone refuses words; that is no reason to stop half way.
say() { echo "demo: $*" >&2 || true; }
[ -x "$bin/curtail-poll" ] || { echo "demo.sh: $bin/curtail-poll is not there; run \`make build\` first" >&2; exit 69; }
[ -z "$text" ] || [ -e "$text" ] || { echo "demo.sh: there is no text at $text; name a file or folder of UTF-8 text (TEXT=path)" >&2; exit 66; }
[ -e "$trace" ] || { echo "demo.sh: there is no trace at $trace; name a recorded day (--trace FILE)" >&2; exit 66; }

child=   # the process that runs now
group=no # whether a signal is for all of its session
caught=  # exit code that the first signal asks for
clusters=no

tell_child() {
    if [ $group = yes ] && kill -TERM -- "-$child" 2> /dev/null; then return; fi
    kill -TERM "$child" 2> /dev/null || true
}

on_signal() { # CODE
    [ "$1" != 129 ] || exec > /dev/null 2>&1
    [ -n "$caught" ] || say "stopping"
    caught=${caught:-$1}
    [ -z "$child" ] || tell_child
}

# Runs a command in a session of its own, since a terminal would signal everybody at once, and beside this script, since bash looks at
# a signal only when its foreground command has ended. A signal is passed on, and when the command has ended so does the demo.
run_told() {
    local status=0
    [ -z "$caught" ] || exit "$caught"
    setsid "$@" 9>&- &
    child=$!
    [ -z "$caught" ] || tell_child
    wait "$child" || status=$?
    # After a signal bash may lose the command's status; that it ends is enough then.
    while [ -n "$caught" ] && kill -0 "$child" 2> /dev/null; do wait "$child" || sleep 0.05 || true; done
    child=
    [ -z "$caught" ] || exit "$caught"
    return $status
}
# The command and all that it started are told.
run_group() { group=yes; run_told "$@"; }
# The command alone is told, and tells others as it sees fit.
run_alone() { group=no; run_told "$@"; }
# Nobody is told: it is short and must not stop half way. The demo ends after it.
run_whole() {
    [ -z "$caught" ] || exit "$caught"
    setsid -w "$@" 9>&-
}

# While a new run begins, the last one is set aside. The new one has begun when it has a clock: then the last is kept beside it, else it
# comes back. clock.json leaves first and comes back last, so that it tells also after a demo that was killed.
aside=
# What the next run reads too: its data and its text, when they lie in this entry of the run's folder.
read_again() { # ENTRY
    local path
    for path in "$data" "$text" "$out/text"; do
        case $(realpath -m -- "$path")/ in "$(realpath -m -- "$1")"/*) return 0 ;; esac
    done
    return 1
}
set_last_run_aside() {
    local entry
    for entry in "$out/clock.json" "$out"/*; do
        if [ ! -e "$entry" ] || read_again "$entry"; then continue; fi
        run_whole mkdir -p "$aside"
        run_whole mv -t "$aside" -- "$entry"
    done
}
# May be called where `set -e` does not hold: each step only after the one before.
settle_last_run() {
    [ -d "$aside" ] || return 0
    # Nothing had left yet: the clock is the last run's.
    if rmdir "$aside" 2> /dev/null; then return 0; fi
    if [ -e "$out/clock.json" ]; then
        rm -rf "$out.previous" &&
            mv -T "$aside" "$out.previous" &&
            say "the run before is kept in $out.previous"
    else
        find "$aside" -mindepth 1 -maxdepth 1 ! -name clock.json -exec mv -t "$out" -- {} + &&
            { [ ! -e "$aside/clock.json" ] || mv -t "$out" -- "$aside/clock.json"; } &&
            rmdir "$aside"
    fi
}

finish() {
    local status=$?
    trap '' INT TERM HUP
    if [ $clusters = yes ] && ! setsid -w slurm/private_clusters.sh down 9>&-; then
        say "the clusters did not go down; try \`make cluster-down\`"
        [ $status != 0 ] || status=71
    fi
    settle_last_run || say "the last run is in $aside; the next demo puts it in its place"
    exit $status
}
trap 'on_signal 130' INT
trap 'on_signal 143' TERM
trap 'on_signal 129' HUP
trap '' PIPE # whoever read our words may be gone: the poller must drain all the same
trap finish EXIT

paths=$("$bin/curtail-status" "$run" --paths)
out=$(sed -n 's/^folder *//p' <<< "$paths")
data=$(sed -n 's/^data *//p' <<< "$paths")
mkdir -p "$out"
lock=$(dirname "$out")/.$(basename "$out").lock
exec 9> "$lock"
flock -n 9 || { echo "demo.sh: another demo of $run is running (it holds $lock); wait for it or stop it with Ctrl-C" >&2; exit 75; }

# A run is a chain of records that only grows: a new demo is a new run, and the last one is kept beside it. One in use is not touched.
if [ -e "$out/poller/lock" ] && ! flock -n "$out/poller/lock" true; then
    echo "demo.sh: a poller is at work on $run: process $(cat "$out/poller/lock"); stop it (TERM drains its jobs), then \`make cluster-down\`" >&2
    exit 75
fi
aside=$out.last
settle_last_run
if [ ! -e "$out/clock.json" ] && { [ -e "$out/poller" ] || [ -e "$out/sites" ]; }; then
    echo "demo.sh: $out holds a run in real time, which is not for a demo to replace; give the demo's run a \`folder\` of its own, or move that one away" >&2
    exit 78
fi

if [ -z "$text" ]; then
    text=$out/text
    if [ ! -d "$text" ]; then
        say "extracting English prose from Debian's perl-doc"
        run_group scripts/demo_text.sh "$text"
    fi
fi
run_group "$bin/curtail-data" prepare "$text" --run "$run" --held-out 0.05 --replace

run_whole slurm/private_clusters.sh up
clusters=yes
set_last_run_aside
say "replaying $trace at $speed times real speed; decisions follow"
# The poller drains what runs when it is told to stop, and leaves with 130 when everything is gone.
run_alone "$bin/curtail-poll" "$run" --watch --trace "$trace" --speed "$speed"
run_whole slurm/private_clusters.sh down
clusters=no

run_group "$bin/curtail-model" evaluate "$run" --out "$out/evaluation.json" --quiet > /dev/null
run_group "$bin/curtail-status" "$run" --verify
run_group "$bin/curtail-report" "$run" --trace "$trace"
say "a sample of what it learned:"
run_group "$bin/curtail-model" sample "$run" --prompt "The " --tokens 120 --temperature 0.8 --seed 1
say "report: $out/report.html"
