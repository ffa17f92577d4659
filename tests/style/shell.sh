#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every shell script passes shellcheck, together with the files that it sources.
set -euo pipefail
find scripts slurm tests .ci -type f ! -name "*.py" -exec grep -lZE -m1 "^#!.*\b(ba)?sh$" {} + |
    xargs -0 shellcheck --external-sources --check-sourced
