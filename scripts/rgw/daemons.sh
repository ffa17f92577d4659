# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Starts and stops the daemons. $folder and $conf are set. File NAME.pid holds the process id of the
# daemon NAME.
# shellcheck disable=SC2154

port=

listens() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

# Two ports in a row on which nobody listens. Scripts that start at the same time have different
# process ids, so they choose different ports. Private clusters use ports from 23000 on.
choose_port() {
    local attempt
    for ((attempt = 0; attempt < 50; ++attempt)); do
        port=$((12000 + 2 * (($$ + 97 * attempt) % 4000)))
        if ! listens $port && ! listens $((port + 1)); then return 0; fi
    done
    say "found no free port"
    return 1
}

run_daemon() { # NAME PROGRAM ARGUMENT...
    local name=$1
    shift
    "$@" > "$folder/log/$name.out" 2>&1 < /dev/null &
    echo $! > "$folder/$name.pid"
}

# wait_until SECONDS COMMAND...
wait_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

# In a subshell, because a gateway that closes the connection ends the writer by SIGPIPE.
gateway_answers() (
    exec 3<> "/dev/tcp/127.0.0.1/$port" || exit 1
    printf 'GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3
    read -r -t 5 line <&3
    [[ $line == *' 200 '* ]]
) 2> /dev/null

start_gateway() {
    run_daemon rgw radosgw --conf="$conf" --name client.rgw -f
    wait_until 60 gateway_answers
}

start_cluster() {
    local id uuid
    choose_port || return 1
    write_configuration
    id=$(sed -n 's/^fsid = //p' "$conf")
    monmaptool --create --clobber --fsid "$id" --addv a "[v2:127.0.0.1:$((port + 1))]" \
        "$folder/monmap" > /dev/null || return 1
    ceph-mon --conf="$conf" --id a --mkfs --monmap "$folder/monmap" || return 1
    run_daemon mon ceph-mon --conf="$conf" --id a -f
    uuid=$(cat /proc/sys/kernel/random/uuid)
    id=$(timeout 20 ceph --conf="$conf" osd new "$uuid" 2> /dev/null) || return 1
    ceph-osd --conf="$conf" --id "$id" --mkfs --osd-uuid "$uuid" > "$folder/log/mkfs.out" 2>&1 ||
        return 1
    run_daemon osd ceph-osd --conf="$conf" --id "$id" -f
    start_gateway  # it waits for the disk
}

# Ends a process only if it is still ours: the kernel may have reused its id.
is_ours() { tr '\0' ' ' 2> /dev/null < "/proc/$1/cmdline" | grep -qF -- "--conf=$conf"; }
has_ended() { ! is_ours "$1"; }

stop_daemon() { # NAME
    local pid
    pid=$(cat "$folder/$1.pid" 2> /dev/null) || return 0
    if is_ours "$pid"; then
        kill -KILL "$pid" 2> /dev/null || true
        wait_until 10 has_ended "$pid" || true
    fi
    rm -f "$folder/$1.pid"
}

stop_all() {
    local daemon
    for daemon in rgw osd mon; do stop_daemon $daemon; done
}
