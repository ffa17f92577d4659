#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# chaos.sh [--foreground] [--status] [--seed N]
# Runs the chaos runs of the seeds 1 to 200 in the background, about two hours on an idle machine of
# two cores (docs/chaos.md). With --foreground it runs them in this terminal. With --status it
# prints the results so far. With --seed it repeats one run in this terminal, whatever its result
# was. If you start it again on the same commit, it skips the seeds that passed. Results are in
# results/chaos/<commit>/: a log and a line of summary.jsonl per seed, the losses of undisturbed
# runs, and the folders of failed runs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
list=chaos
seeds=200
# shellcheck source=scripts/items.sh
source scripts/items.sh

run_seed() { # SEED [OPTION...]
    local seed=$1
    shift
    env CURTAIL_BUILD="$build" /usr/bin/python3 tests/system/chaos_test.py --seed "$seed" \
        --folder "$out" "$@"
}

# One gateway serves all runs; it ends with this process.
start_gateway() {
    local site
    gateway=$(mktemp -d -t curtail-rgw-XXXXXX)/rgw
    trap 'scripts/rgw.sh down "$gateway"; rmdir "${gateway%/rgw}"' EXIT
    scripts/rgw.sh up --while $$ "$gateway" 9>&- || die 71 "the gateway did not start"
    for site in A B C; do scripts/rgw.sh user $site "$gateway"; done
}

case ${1:-} in
    "" | --foreground) [ $# -le 1 ] || die 64 "too many arguments"; begin "$@" ;;
    --status) show_status ;;
    --seed)
        [[ ${2:-} =~ ^[0-9]+$ ]] || die 64 "--seed needs a number"
        mkdir -p "$out"
        run_seed "$2"
        exit ;;
    -h | --help) sed -n '3,11s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die 64 "unknown option $1; see chaos.sh --help" ;;
esac

item build cmake --build "$build"
start_gateway > "$out/gateway.log" 2>&1
for seed in $(seq $seeds); do
    item "chaos-$seed" run_seed "$seed" --gateway "$gateway"
done
finish
