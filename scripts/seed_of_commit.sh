#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# seed_of_commit.sh: prints the first seed of this commit's random tests, a positive number below
# 2^28. So each commit tries new seeds, and a failure can be repeated. Without git: 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
hash=0
if [ -e .git ]; then hash=$(git rev-parse HEAD 2> /dev/null) || hash=0; fi
seed=$((16#${hash:0:7}))
echo $((seed > 0 ? seed : 1))
