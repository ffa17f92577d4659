#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# chaos.sh [--foreground] [--status] [--seed N]
# Runs the chaos runs of the seeds 1 to 200 in the background, about two hours on an idle machine of
# two cores (docs/chaos.md). With --foreground it runs them in this terminal. With --status it
# prints the results so far. With --seed it repeats one run in this terminal, whatever its result
# was. EVERY=3 in the environment runs every third seed; with EVERY=2, all stores would be buckets.
# FIRST=1 LAST=80 in the environment runs these seeds only. So several clones can share the seeds.
# If you start it again on the same commit, it skips the seeds that passed. Results are in
# results/chaos/<commit>/: a log and a line of summary.jsonl per seed, the losses of undisturbed
# runs, and the folders of failed runs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
list=chaos
local_seeds=170 # sites of greater seeds are jobs of Slurm; chaos_test.py has this number too
seeds=200
every=${EVERY:-1}
first=${FIRST:-1}
last=${LAST:-$seeds}
# shellcheck source=scripts/items.sh
source scripts/items.sh

run_seed() { # SEED [OPTION...]
    local seed=$1
    shift
    env CURTAIL_BUILD="$build" /usr/bin/python3 tests/system/chaos_test.py --seed "$seed" \
        --folder "$out" "$@"
}

for number in "$every" "$first" "$last"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] || die 64 "EVERY, FIRST and LAST must be numbers from 1 on"
done
((first <= last && last <= seeds)) || die 64 "FIRST must be at most LAST, and LAST at most $seeds"
case ${1:-} in
    "" | --foreground) [ $# -le 1 ] || die 64 "too many arguments"; begin "$@" ;;
    --status) show_status ;;
    --seed)
        [[ ${2:-} =~ ^[0-9]+$ ]] || die 64 "--seed needs a number"
        mkdir -p "$out"
        run_seed "$2"
        exit ;;
    -h | --help) sed -n '3,13s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die 64 "unknown option $1; see chaos.sh --help" ;;
esac

# One gateway and one set of clusters serve all runs.
servers=$(mktemp -d /tmp/curtail-chaos-XXXXXX) # a short path, for the socket of munge
export CURTAIL_CLUSTERS=$servers/c
# shellcheck disable=SC2317 # called by the trap
stop_servers() {
    slurm/private_clusters.sh down
    scripts/rgw.sh down "$servers/rgw"
    rm -rf -- "$servers"
}

start_gateway() {
    local site
    scripts/rgw.sh up --disk --while $$ "$servers/rgw" 9>&-
    for site in A B C; do scripts/rgw.sh user $site "$servers/rgw"; done
}

item build cmake --build "$build"
trap stop_servers EXIT
start_gateway > "$out/gateway.log" 2>&1 || die 71 "the gateway did not start: $out/gateway.log"
for seed in $(seq "$first" "$every" $((last < local_seeds ? last : local_seeds))); do
    item "chaos-$seed" run_seed "$seed" --gateway "$servers/rgw"
done
if ((last <= local_seeds)); then finish; fi
slurm/private_clusters.sh up A B C > "$out/clusters.log" 2>&1 9>&- ||
    die 71 "the clusters did not start: $out/clusters.log"
first_slurm=$((first > local_seeds ? first : local_seeds + 1))
for seed in $(seq "$first_slurm" "$every" "$last"); do
    item "chaos-$seed" run_seed "$seed" --gateway "$servers/rgw" --clusters "$CURTAIL_CLUSTERS"
done
finish
