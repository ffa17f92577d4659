#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh [--store folder|s3] [--transport store|mpi] [--run FILE] [--trace FILE] [--speed FACTOR]
#         [--text PATH]
# Replays 18 recorded hours on three private Slurm clusters on this machine. Trains a small model
# while windows are open. Then prints the report's tables and a sample of text, and writes
# report.html into the run's folder. On Ctrl-C, TERM or a closed terminal, drains the jobs and stops
# the clusters; nothing is left running. A second signal cancels the jobs instead of draining them.
# With --store s3, the sites share nothing but a bucket of a private Ceph gateway; each has a folder
# and a key of its own. The demo then fails if a process of a site names a path of another site.
# With --transport mpi, the sites also exchange payloads over MPI; the demo fails if none do.
# With --store s3, root may add --users A,B,C: the first site then belongs to the user A, and so on.
set -euo pipefail
umask 077

caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD

# Writing fails once the terminal has closed; that must not stop the script half way.
say() { echo "demo: $*" >&2 || true; }
die() { local code=$1; shift; echo "demo.sh: $*" >&2; exit "$code"; }
usage() { die 64 "$*; see demo.sh --help"; }

# shellcheck source=scripts/demo/options.sh
source scripts/demo/options.sh
# shellcheck source=scripts/demo/commands.sh
source scripts/demo/commands.sh
# shellcheck source=scripts/demo/last_run.sh
source scripts/demo/last_run.sh

parse_options "$@"
bin=${CURTAIL_BUILD:-$here/build/release}/bin
forget_other_options
export CURTAIL_CACHE=none # each demo begins the same run again
if [ "$(id -u)" = 0 ]; then
    say "you are root: the jobs run as root, too (CURTAIL_ALLOW_ROOT=1)"
    export CURTAIL_ALLOW_ROOT=1
fi
check_inputs
close_to_others
if [ "$store" = s3 ]; then
    export CURTAIL_BUILD=${bin%/bin}
    exec scripts/demo/s3/demo.py --run "$run" --trace "$trace" --speed "$speed" \
        ${text:+--text "$text"} ${users:+--users "$users"}
fi

clusters=no # whether this script has started them

finish() {
    local status=$?
    trap '' INT TERM HUP
    if [ $clusters = yes ] && ! setsid -w slurm/private_clusters.sh down 9>&-; then
        say "the clusters did not stop; try \`make cluster-down\`"
        [ $status != 0 ] || status=71
    fi
    settle_last_run || say "the last run is in $aside; the next demo restores it"
    exit $status
}
trap 'on_signal 130' INT
trap 'on_signal 143' TERM
trap 'on_signal 129' HUP
trap '' PIPE # the reader of our output may have exited; the poller must still drain
trap finish EXIT

find_folders
[ ! -d "$out" ] || chmod -R go-w "$out" # an earlier demo may have made it under another umask
lock_run
check_last_run

make_text() {
    [ -z "$text" ] || return 0
    text=$out/text
    [ ! -d "$text" ] || return 0
    say "extracting English prose from Debian's perl-doc"
    run_group scripts/demo_text.sh "$text"
}
show_payloads_by_mpi() {
    "$bin/curtail-status" "$run" --json | scripts/demo/payloads_by_mpi.py ||
        die 70 "no payload came by MPI; see docs/mpi.md and the logs of the jobs in $out/sites"
}

make_text
run_group "$bin/curtail-data" prepare "$text" --run "$run" --held-out 0.05 --replace

run_to_end slurm/private_clusters.sh up
clusters=yes
set_last_run_aside
say "replaying $trace at $speed times real speed; decisions follow"
# On a signal the poller drains all jobs, waits for them and exits with 130.
run_alone "$bin/curtail-poll" "$run" --watch --trace "$trace" --speed "$speed"
run_to_end slurm/private_clusters.sh down
clusters=no

run_group "$bin/curtail-model" evaluate "$run" --out "$out/evaluation.json" --quiet > /dev/null
run_group "$bin/curtail-status" "$run" --verify
[ "$transport" = store ] || show_payloads_by_mpi
run_group "$bin/curtail-report" "$run" --trace "$trace"
say "a sample of text from the trained model:"
run_group "$bin/curtail-model" sample "$run" --prompt "The " --tokens 120 --temperature 0.8 --seed 1
say "report: $out/report.html"
