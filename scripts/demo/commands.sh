# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs the demo's commands so that a signal to this script reaches the right processes.

child=   # pid of the command that is running
group=no # whether a signal goes to the command's whole session
caught=  # exit code for the first signal received

signal_child() {
    if [ $group = yes ] && kill -TERM -- "-$child" 2> /dev/null; then return; fi
    kill -TERM "$child" 2> /dev/null || true
}

on_signal() { # CODE
    [ "$1" != 129 ] || exec > /dev/null 2>&1
    [ -n "$caught" ] || say "stopping"
    caught=${caught:-$1}
    [ -z "$child" ] || signal_child
}

# The command runs in a session of its own, because a terminal signals every process of its
# session. It runs in the background, because bash handles a signal only after a foreground command
# has ended. After a signal, the demo ends when the command has ended.
run_signalled() {
    local status=0
    [ -z "$caught" ] || exit "$caught"
    setsid "$@" 9>&- &
    child=$!
    [ -z "$caught" ] || signal_child
    wait "$child" || status=$?
    # After a signal bash may lose the command's status; waiting for its end is then enough.
    while [ -n "$caught" ] && kill -0 "$child" 2> /dev/null; do
        wait "$child" || sleep 0.05 || true
    done
    child=
    [ -z "$caught" ] || exit "$caught"
    return $status
}

# Signals the command and everything that it started.
run_group() { group=yes; run_signalled "$@"; }

# Signals only the command, which stops its own children.
run_alone() { group=no; run_signalled "$@"; }

# Signals nothing: the command is short and must not stop half way. The demo ends after it.
run_to_end() {
    [ -z "$caught" ] || exit "$caught"
    setsid -w "$@" 9>&-
}
