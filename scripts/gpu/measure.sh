#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# measure.sh FOLDER SECONDS [OPTION...]
# Measures this machine's GPU within SECONDS: machine, kernels, operations, training with its stop,
# NCCL, peers, in the order of their value; if the time is short, the last ones are left out. Writes
# log.txt, results.jsonl, metrics.jsonl and stderr.txt to FOLDER; each figure is there as soon as it
# is known. Uses the libraries of the machine's PyTorch (see env.sh). The options are those of
# measure.py, which --help lists.
# Exit codes: 0; 64 usage error; 69 there is no GPU, no PyTorch or no program; 70 a part failed; 73
# FOLDER cannot be written to.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
case " $* " in
    *" --device cpu "* | *" --device=cpu "* | *" --help "* | *" -h "*) ;;
    *)
        # shellcheck source=scripts/gpu/env.sh
        source "$here/env.sh" || exit $?
        ;;
esac
exec python3 -B "$here/measure.py" "$@"
