#!/usr/bin/env bash
# demo.sh [--run FILE] [--trace FILE] [--speed FACTOR] [--text PATH]
# Replays a recorded day on three private Slurm clusters of this machine and trains a small model in its windows.
# Ends with a table, results/<run>/report.html and a sample of text. Nothing is left running, also after Ctrl-C.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
run=inputs/runs/demo.json
trace=signals/mci_2026-01-11.csv
speed=300
text=
while [ $# -gt 0 ]; do
    case $1 in
        --run) run=$2; shift 2 ;;
        --trace) trace=$2; shift 2 ;;
        --speed) speed=$2; shift 2 ;;
        --text) text=$2; shift 2 ;;
        -h | --help) sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) echo "demo.sh: unknown option $1; see demo.sh --help" >&2; exit 64 ;;
    esac
done
bin=${CURTAIL_BUILD:-build/release}/bin
name=$(basename "$run" .json)
out=results/$name
seed=1

say() { echo "demo: $*" >&2; }
[ -x "$bin/curtail-poll" ] || { echo "demo.sh: $bin/curtail-poll is not there; run \`make build\` first" >&2; exit 69; }
[ -z "$text" ] || [ -e "$text" ] || { echo "demo.sh: there is no text at $text; name a file or folder of UTF-8 text (TEXT=path)" >&2; exit 66; }

mkdir -p results
exec 9> "results/.$name.lock"
flock -n 9 || { echo "demo.sh: another demo is running in $here (it holds results/.$name.lock); wait for it or stop it with Ctrl-C" >&2; exit 75; }

# A run is a chain of records that only grows: a new demo is a new run, and the last one is kept beside it.
if [ -e "$out/clock.json" ] || [ -e "$out/store" ]; then
    rm -rf "$out.previous"
    mkdir "$out.previous"
    for part in "$out"/*; do
        case $part in */data | */text) ;; *) mv "$part" "$out.previous/" ;; esac
    done
    say "the last run is kept in $out.previous"
fi
mkdir -p "$out"

if [ -z "$text" ]; then
    text=$out/text
    [ -e "$text/.complete" ] || { say "extracting English prose from Debian's perl-doc"; scripts/demo_text.sh "$text" && touch "$text/.complete"; }
fi
"$bin/curtail-data" prepare "$text" --out "$out/data" --vocabulary 2048 --held-out 0.05 --seed $seed --replace

clusters=no
finish() {
    local status=$?
    trap '' INT TERM
    [ $clusters = no ] || slurm/private_clusters.sh down || true
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM
clusters=yes
slurm/private_clusters.sh up || { clusters=no; exit 75; }

say "replaying $trace at $speed times real speed; decisions follow"
# Ctrl-C reaches the poller too: it drains what runs and leaves with 130 before this script goes on.
"$bin/curtail-poll" "$run" --watch --trace "$trace" --speed "$speed"
slurm/private_clusters.sh down
clusters=no

"$bin/curtail-model" evaluate "$run" --out "$out/evaluation.json" --quiet > /dev/null
"$bin/curtail-status" "$run" --verify
"$bin/curtail-report" "$run" --trace "$trace"
say "a sample of what it learned:"
"$bin/curtail-model" sample "$run" --prompt "The " --tokens 120 --temperature 0.8 --seed 1
say "report: $out/report.html"
