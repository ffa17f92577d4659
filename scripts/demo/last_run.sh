# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Keeps the last run while a new one starts. A run's chain only grows, so every demo is a new run.
# The last run's files are set aside in $aside until the new run has its clock.json. They then
# become $out.previous; if the new run never starts, they go back. clock.json moves out first and
# back last, so that its place is also right after a demo that was killed.

aside=

find_folders() { # sets out, data and aside
    local paths
    paths=$("$bin/curtail-status" "$run" --paths)
    out=$(sed -n 's/^folder *//p' <<< "$paths")
    data=$(sed -n 's/^data *//p' <<< "$paths")
}

lock_run() {
    local lock
    lock=$(dirname "$out")/.$(basename "$out").lock
    mkdir -p "$out"
    exec 9> "$lock"
    flock -n 9 || die 75 "another demo of $run is running (it holds $lock);" \
        "wait until it has finished or stop it with Ctrl-C"
}

# Settles what a killed demo left, and refuses a run that is in use or not a replay.
check_last_run() {
    if [ -e "$out/poller/lock" ] && ! flock -n "$out/poller/lock" true; then
        die 75 "a poller is running on $run: process $(cat "$out/poller/lock");" \
            "stop it with TERM (which drains its jobs), then run \`make cluster-down\`"
    fi
    aside=$out.last
    settle_last_run
    if [ ! -e "$out/clock.json" ] && { [ -e "$out/poller" ] || [ -e "$out/sites" ]; }; then
        die 78 "$out contains a run in real time, which a demo must not replace;" \
            "give the demo's run a \`folder\` of its own, or move that run"
    fi
}

# Whether the new run reads this entry too: its data or text may be in the run's folder.
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
        run_to_end mkdir -p "$aside"
        run_to_end mv -t "$aside" -- "$entry"
    done
}

# Also called where `set -e` has no effect, so each step depends on the one before.
settle_last_run() {
    [ -d "$aside" ] || return 0
    # An empty folder: nothing was moved, and the clock is the last run's.
    if rmdir "$aside" 2> /dev/null; then return 0; fi
    if [ -e "$out/clock.json" ]; then
        rm -rf "$out.previous" &&
            mv -T "$aside" "$out.previous" &&
            say "the previous run is kept in $out.previous"
    else
        find "$aside" -mindepth 1 -maxdepth 1 ! -name clock.json -exec mv -t "$out" -- {} + &&
            { [ ! -e "$aside/clock.json" ] || mv -t "$out" -- "$aside/clock.json"; } &&
            rmdir "$aside"
    fi
}
