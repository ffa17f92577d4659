# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The process table $root/processes, one line "NAME PID STARTED" per daemon. STARTED is field 22 of
# /proc/PID/stat, so that a reused pid is never mistaken for a daemon.

readonly STOP_SECONDS=5 # from TERM to KILL of a daemon

# Sets `start_time` to that of the process PID; fails if the process is gone or a zombie. It starts
# no other process, because the loops below call it often.
find_start_time() { # PID
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    stat=${stat##*) }
    local -a field
    read -ra field <<<"$stat"
    [[ ${field[0]} != Z ]] && start_time=${field[19]}
}

is_alive() { # PID STARTED
    local start_time=
    find_start_time "$1" && [[ $start_time == "$2" ]]
}

start() { # NAME COMMAND...: runs a daemon in its own session and records it
    local name=$1 pid start_time=
    shift
    setsid "$@" </dev/null >>"$root/$name.out" 2>&1 9>&- &
    pid=$!
    disown
    find_start_time $pid || return 1
    echo "$name $pid $start_time" >>"$root/processes"
}

stop() { # PID STARTED: TERM, then KILL
    local i
    is_alive "$1" "$2" || return 0
    kill "$1" 2>/dev/null || true
    for ((i = 0; i < STOP_SECONDS * 20; ++i)); do
        is_alive "$1" "$2" || return 0
        sleep 0.05
    done
    kill -9 "$1" 2>/dev/null || true
}

count_alive() {
    local name pid started alive=0
    [[ -f $root/processes ]] || { echo 0; return; }
    while read -r name pid started; do
        if is_alive "$pid" "$started"; then alive=$((alive + 1)); fi
    done <"$root/processes"
    echo $alive
}

is_running() { # NAME
    local name pid started
    while read -r name pid started; do
        if [[ $name == "$1" ]] && is_alive "$pid" "$started"; then return 0; fi
    done <"$root/processes"
    return 1
}

stop_one() { # NAME: stops this daemon, if it runs, and forgets it
    local name pid started kept=
    while read -r name pid started; do
        if [[ $name == "$1" ]]; then
            stop "$pid" "$started"
        else
            kept+="$name $pid $started"$'\n'
        fi
    done <"$root/processes"
    printf %s "$kept" >"$root/processes"
}
