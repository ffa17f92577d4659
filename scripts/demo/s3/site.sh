#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# site.sh SITE RUN TRACE SPEED
# What the operator of one site does in the demo over S3: starts the site's cluster, polls, and
# stops the cluster. Prints `ready` when the cluster is up, and `polled` after the last poll. After
# each of the two, waits for a line on stdin. On TERM, drains the jobs and stops the cluster; a
# second TERM cancels the jobs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
exec 9>&1 1>&2 # scripts/demo/commands.sh closes descriptor 9 in each command

say() { echo "$site: $*" >&2 || true; }
site=$1 run=$2 trace=$3 speed=$4

# shellcheck source=scripts/demo/commands.sh
source scripts/demo/commands.sh

cluster=no # whether this script has started it

finish() {
    local status=$?
    trap '' INT TERM HUP
    if [ $cluster = yes ] && ! setsid -w slurm/private_clusters.sh down 9>&-; then
        say "the cluster in $CURTAIL_CLUSTERS did not stop"
        [ $status != 0 ] || status=71
    fi
    exit $status
}
trap 'on_signal 130' INT
trap 'on_signal 143' TERM
trap 'on_signal 129' HUP
trap '' PIPE
trap finish EXIT

report() { # WORD: tells the demo how far this site is, and waits for its answer
    echo "$1" >&9
    read -r || exit "${caught:-75}"
}

run_to_end slurm/private_clusters.sh up "$site"
cluster=yes
report ready
# On a signal the poller drains the site's jobs, waits for them and exits with 130.
run_alone "$CURTAIL_BUILD/bin/curtail-poll" "$run" --site "$site" --watch --trace "$trace" \
    --speed "$speed"
report polled
