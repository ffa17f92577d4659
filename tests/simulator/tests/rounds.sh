#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rounds.sh CURTAIL-SIM: simulates the fixed cases, and then 720 seeds from that of the commit on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
sim=$1
grep '^[0-9]' tests/simulator/cases.txt | while read -r seed steps; do
    "$sim" rounds --seeds "$seed" --steps "$steps" --threads 1
done
first=$(scripts/seed_of_commit.sh)
"$sim" rounds --seeds "$first-$((first + 719))" --threads 1 || {
    echo "rounds.sh: add each failed seed to tests/simulator/cases.txt, and mend it first" >&2
    exit 1
}
