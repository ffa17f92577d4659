# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The commands up, down, status, env and controller.

check_programs() {
    local program
    for program in munged slurmctld slurmd sinfo scontrol flock setsid; do
        command -v "$program" >/dev/null || die $EX_UNAVAILABLE "$program is not installed;" \
            "run scripts/setup.sh, or apt-get install munge slurmctld slurmd slurm-client" \
            "slurm-wlm-basic-plugins"
    done
}

check_sites() { # SITE...
    local site
    for site in "$@"; do
        [[ $site != -* ]] ||
            die $EX_USAGE "unknown option $site; see private_clusters.sh --help"
        [[ $site =~ ^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$ && $site != munge ]] ||
            die $EX_USAGE "bad site name \"$site\"; use 1 to 32 letters, digits, '_' or '-'"
    done
}

known_hard() { # prints 1 if the clusters of the working folder were started with --hard, else 0
    if [[ -e $root/hard ]]; then echo 1; else echo 0; fi
}

already_up() { # IF_NEEDED SITE...: whether exactly these clusters are up; exits if others are
    local if_needed=$1 alive known=
    shift
    alive=$(count_alive)
    ((alive > 0)) || return 1
    [[ ! -f $root/sites ]] || known=$(<"$root/sites")
    if [[ $known != "$*" || $alive != $(count_daemons $#) || $hard != "$(known_hard)" ]]; then
        die $EX_TEMPFAIL "other or broken clusters are up in $root (sites: $known; $alive daemons" \
            "alive); run \`private_clusters.sh down\` first"
    fi
    ((if_needed)) || die $EX_TEMPFAIL "clusters are already up in $root ($known);" \
        "run \`private_clusters.sh down\` first, or \`up --if-needed\` to use them"
}

start_with_retries() { # SITE...
    local attempt
    trap 'stop_all' EXIT
    rm -f "$root/processes" "$root/hard"
    echo "$*" >"$root/sites"
    ((hard == 0)) || : >"$root/hard"
    for attempt in 1 2 3; do
        if start_all "$@"; then
            trap - EXIT
            return 0
        fi
        say "attempt $attempt: some daemons did not become ready"
        stop_all
    done
    tail -n 5 "$root"/*.out "$root"/*/log/*.log >&2 2>/dev/null || true
    die $EX_OSERR "the clusters did not start; see the logs $root/*.out and $root/SITE/log"
}

command_up() {
    local if_needed=0 state="already up"
    while [[ ${1:-} == --* ]]; do
        case $1 in
        --if-needed) if_needed=1 ;;
        --hard) hard=1 ;;
        *) die $EX_USAGE "unknown option $1; see private_clusters.sh --help" ;;
        esac
        shift
    done
    check_settings
    local -a sites=("$@")
    ((${#sites[@]})) || sites=(CAISO_NORTH SPP_TX NEM_SA)
    check_sites "${sites[@]}"
    check_programs
    check_step_sockets "${sites[@]}"
    make_root
    take_lock
    check_namespaces
    if ! already_up $if_needed "${sites[@]}"; then
        start_with_retries "${sites[@]}"
        state=up
    fi
    make_link
    say "clusters are $state in $root: ${sites[*]}"
}

command_down() {
    (($# == 0)) || die $EX_USAGE "unexpected argument \"$1\": \`down\` takes none"
    if [[ ! -d $root || -L $root ]]; then
        remove_link
        return 0
    fi
    make_root
    take_lock
    cancel_jobs
    end_leftover_steps
    stop_all
    remove_link
    remove_root
}

command_status() {
    local site conf
    (($# == 0)) || die $EX_USAGE "unexpected argument \"$1\": \`status\` takes none"
    if (($(count_alive) == 0)); then
        echo "no clusters are up in $root"
        exit $EX_UNAVAILABLE
    fi
    for site in $(<"$root/sites"); do
        conf=$root/$site/slurm.conf
        echo "== $site  SLURM_CONF=$conf"
        SLURM_CONF=$conf timeout 5 sinfo -N || echo "$site does not answer"
        SLURM_CONF=$conf timeout 5 squeue -o '%.8i %.32j %.10T %.10M %.20S' || true
    done
}

check_cluster() { # SITE
    [[ -f $root/$1/slurm.conf ]] ||
        die $EX_UNAVAILABLE "no cluster $1 in $root; run \`private_clusters.sh up\` first"
}

command_env() {
    (($# == 1)) || die $EX_USAGE "\`env\` takes exactly one site"
    check_cluster "$1"
    echo "export SLURM_CONF=$root/$1/slurm.conf"
}

command_controller() {
    [[ $# == 2 && $1 =~ ^(stop|start)$ ]] ||
        die $EX_USAGE "write \`controller stop SITE\` or \`controller start SITE\`"
    check_sites "$2"
    check_cluster "$2"
    take_lock
    (($(count_alive) > 0)) || die $EX_UNAVAILABLE "no clusters are up in $root"
    if [[ $1 == stop ]]; then
        stop_one "slurmctld-$2"
    elif ! is_running "slurmctld-$2"; then
        stop_one "slurmctld-$2"
        (start_controller "$2" && wait_controller "$2") ||
            die $EX_OSERR "slurmctld did not start; see $root/$2/log/slurmctld.log"
    fi
}
