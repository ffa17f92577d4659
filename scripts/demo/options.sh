# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The demo's options and their checks.

# Paths on the command line are relative to the caller's folder; the defaults, to the checkout.
absolute() { case $1 in /*) echo "$1" ;; *) echo "$caller/$1" ;; esac; }

parse_options() { # sets store, transport, run, trace, speed, text and users
    store=folder
    transport=store
    run=
    trace=signals/mci_2026-01-11.csv
    speed=300
    text=
    users=
    while [ $# -gt 0 ]; do
        case $1 in
            -h | --help) sed -n '3,15s/^# //p' scripts/demo.sh; exit 0 ;;
            --store | --transport | --run | --trace | --speed | --text | --users)
                [ -n "${2-}" ] || usage "$1 needs a value" ;;
            *) usage "unknown option $1" ;;
        esac
        case $1 in
            --store) store=$2 ;;
            --transport) transport=$2 ;;
            --run) run=$(absolute "$2") ;;
            --trace) trace=$(absolute "$2") ;;
            --speed) speed=$2 ;;
            --text) text=$(absolute "$2") ;;
            --users) users=$2 ;;
        esac
        shift 2
    done
    case $transport in
        store) ;;
        mpi) run=${run:-inputs/runs/demo-mpi.json} ;;
        *) usage "unknown transport $transport; write store or mpi" ;;
    esac
    [ "$transport-$store" != mpi-s3 ] ||
        usage "the demo has --transport mpi or --store s3, not both"
    case $store in
        folder) run=${run:-inputs/runs/demo.json} ;;
        s3) run=${run:-inputs/runs/demo-s3.json} ;;
        *) usage "unknown store $store; write folder or s3" ;;
    esac
    [ -z "$users" ] || [ "$store" = s3 ] || usage "--users needs --store s3"
}

# Programs also read options from the environment; the caller's must not change the demo.
forget_other_options() {
    local name
    for name in "${!CURTAIL_@}"; do
        case $name in CURTAIL_BUILD | CURTAIL_CLUSTER*) ;; *) unset "$name" ;; esac
    done
}

# Under the umask 002, a clone is open to a group, and the programs refuse to run what others can
# change.
close_to_others() {
    local open torch=.deps/site/torch/lib
    local folders=(inputs slurm "$bin")
    [ ! -d "$torch" ] || folders+=("$torch")
    open=$(find "${folders[@]}" -user "$(id -un)" ! -type l -perm /022 | wc -l)
    [ "$open" -gt 0 ] || return 0
    say "others could change $open files of the demo: chmod -R go-w ${folders[*]}"
    chmod -R go-w "${folders[@]}" || die 77 "cannot take that right from others"
}

check_inputs() {
    [ -x "$bin/curtail-poll" ] || die 69 "$bin/curtail-poll is missing; run \`make build\` first"
    [ -z "$text" ] || [ -e "$text" ] ||
        die 66 "no text at $text; name a file or folder of UTF-8 text (TEXT=path)"
    [ -e "$trace" ] || die 66 "no trace at $trace; name a recorded trace (--trace FILE)"
}
