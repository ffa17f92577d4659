# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Ends the jobs of all clusters.

kill_wait() { # CONF: seconds between TERM and KILL
    sed -n 's/^KillWait=//p' "$1"
}

cancel_jobs() { # cancels every job and waits until none is left
    local conf i
    local -a confs=()
    end_hooks
    [[ -f $root/processes ]] || return 0
    for conf in "$root"/*/slurm.conf; do
        # Without a controller, Slurm's commands only wait for their timeout.
        if [[ -f $conf ]] && is_running "slurmctld-$(basename "${conf%/slurm.conf}")"; then
            confs+=("$conf")
        fi
    done
    for conf in "${confs[@]}"; do
        SLURM_CONF=$conf timeout 5 scancel -u "$user" 2>/dev/null &
    done
    wait
    for conf in "${confs[@]}"; do
        for ((i = 0; i < ($(kill_wait "$conf") + 10) * 10; ++i)); do
            # An error ends the wait too: this controller will not answer any more.
            [[ -n $(SLURM_CONF=$conf timeout 5 squeue -h 2>/dev/null || true) ]] || break
            sleep 0.1
        done
    done
}

leftover_steps() { # prints the pids of our clusters' job steps: each has its slurmd's log open
    local folder name
    for folder in /proc/[0-9]*; do
        { read -r name <"$folder/comm"; } 2>/dev/null || continue
        [[ $name == slurmstepd ]] || continue
        [[ -z $(find "$folder/fd" -lname "$root/*/log/slurmd-*.log" 2>/dev/null) ]] ||
            echo "${folder#/proc/}"
    done
}

descendants() { # PID
    local child
    local -a children
    read -ra children -d '' < <(cat /proc/"$1"/task/*/children 2>/dev/null) || true
    for child in "${children[@]}"; do
        echo "$child"
        descendants "$child"
    done
}

end_leftover_steps() { # jobs whose controller has died are still running
    local step pid
    for step in $(leftover_steps); do
        for pid in $(descendants "$step"); do kill -9 "$pid" 2>/dev/null || true; done
        sleep 0.2
        kill -9 "$step" 2>/dev/null || true
    done
}
