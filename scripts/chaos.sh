#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# chaos.sh [--foreground] [--status] [--seed N [--short]]
# Runs the fixed chaos runs of tests/system/chaos_seeds.txt and those of 200 seeds in the
# background, about two hours on an idle machine of two cores (docs/chaos.md). The seeds begin with
# the commit's. With --foreground it runs them in this terminal. With --status it prints the results
# so far. With --seed it repeats one run in this terminal, whatever its result was; --short as
# `make test` does. FIRST=1 COUNT=80 in the environment runs 80 seeds from 1 on. So several clones
# can share the seeds. If you start it again on the same commit, it skips the seeds that passed.
# Results are in results/chaos/<commit>/: a log and a line of summary.jsonl per seed, the losses of
# undisturbed runs, and the folders of failed runs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
list=chaos
slurm_every=7 # the sites of these seeds are jobs of Slurm; chaos_test.py has this number too
first=${FIRST:-$(scripts/seed_of_commit.sh)}
count=${COUNT:-200}
# shellcheck source=scripts/items.sh
source scripts/items.sh

run_seed() { # SEED [OPTION...]
    local seed=$1
    shift
    env CURTAIL_BUILD="$build" /usr/bin/python3 tests/system/chaos_test.py --seed "$seed" \
        --folder "$out" "$@"
}

for number in "$first" "$count"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] || die 64 "FIRST and COUNT must be numbers from 1 on"
done
case ${1:-} in
    "" | --foreground) [ $# -le 1 ] || die 64 "too many arguments"; begin "$@" ;;
    --status) show_status ;;
    --seed)
        [[ ${2:-} =~ ^[0-9]+$ && ${3:---short} = --short ]] ||
            die 64 "--seed needs a number; after it may be --short"
        mkdir -p "$out"
        run_seed "${@:2}"
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

start_clusters() {
    [ -e "$CURTAIL_CLUSTERS" ] ||
        slurm/private_clusters.sh up A B C > "$out/clusters.log" 2>&1 9>&- ||
        die 71 "the clusters did not start: $out/clusters.log"
}

item build cmake --build "$build"
trap stop_servers EXIT
start_gateway > "$out/gateway.log" 2>&1 || die 71 "the gateway did not start: $out/gateway.log"
run_item() { # SEED [--short]
    local options=(--gateway "$servers/rgw")
    if [ $(($1 % slurm_every)) = 0 ] && [ $# = 1 ]; then
        start_clusters
        options+=(--clusters "$CURTAIL_CLUSTERS")
    fi
    item "chaos-$1${2:-}" run_seed "$@" "${options[@]}"
}
while read -r seed option _; do
    run_item "$seed" ${option:+"$option"}
done < <(sed 's/#.*//; /^ *$/d' tests/system/chaos_seeds.txt)
for seed in $(seq "$first" $((first + count - 1))); do run_item "$seed"; done
finish
