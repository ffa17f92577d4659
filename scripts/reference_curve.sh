#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reference_curve.sh REFERENCE
# Trains d4 on one million tokens: with Curtail, and with the reference's Python from the same
# weights in the same order of tokens, with Muon and with AdamW. Then compares the last losses.
# REFERENCE is a clone of github.com/exalsius/curtail-llm. CURTAIL_PEER_PYTHON names a Python with
# torch 2.11.0, numpy, h5py, filelock and matplotlib. Rerun to resume. Each curve takes six to ten
# minutes of one core. Settings and results are in results/reference-curve.
set -euo pipefail

die() { local code=$1; shift; echo "reference_curve.sh: $*" >&2; exit "$code"; }

case ${1-} in
    -h | --help) sed -n '3,8s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) die 64 "unknown option $1; see reference_curve.sh --help" ;;
esac
if [ $# -ne 1 ]; then echo "usage: reference_curve.sh REFERENCE" >&2; exit 64; fi
reference=$(realpath "$1")
[ -f "$reference/scripts/base_train.py" ] || die 66 "$1 is not a clone of curtail-llm"
python=${CURTAIL_PEER_PYTHON:-}
[ -n "$python" ] || die 64 "set CURTAIL_PEER_PYTHON; see reference_curve.sh --help"
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
bin=${CURTAIL_BUILD:-$here/build/release}/bin
[ -x "$bin/curtail-train" ] || die 69 "$bin/curtail-train is missing; run \`make build\` first"
site=CAISO_NORTH
export OMP_NUM_THREADS=1

cd "$here/results/reference-curve"
work=../../build/reference-curve
mkdir -p "$work"
[ -d "$work/text" ] || "$here/scripts/demo_text.sh" "$work/text"
"$bin/curtail-data" prepare "$work/text" --run run.json > "$work/data.log"
for run in initial run rule; do "$bin/curtail-train" "$run.json" --site "$site" --alone; done

# train_reference RUN CURVE [OPTION...]
train_reference() {
    local run=$1 curve=$2
    shift 2
    [ ! -e "$curve.json" ] || return 0
    echo "reference_curve.sh: $curve" >&2
    "$python" -u "$here/bench/peers/reference_curve.py" "$reference" "$run.json" \
        "$work/initial/sites/$site/snapshot-a.0of1.h5" "$curve.csv" "$@" \
        > "$work/${curve//\//-}.log"
}

mkdir -p rule
train_reference run reference-muon
# The reference against itself: other vector instructions round differently.
ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 train_reference run reference-muon-avx2
for rate in 0.0003 0.001 0.003 0.01; do
    train_reference run "reference-adamw-$rate" --adamw-rate "$rate"
done
train_reference rule rule/reference-muon
table=$here/bench/peers/reference_curve_table.py
"$python" "$table" "$work/run/sites/$site/metrics.jsonl" .
"$python" "$table" "$work/rule/sites/$site/metrics.jsonl" rule
