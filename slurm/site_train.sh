#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=curtail-train
#SBATCH --output=%x-%N-%j.out
#SBATCH --signal=B:USR1@120
#SBATCH --open-mode=append
#SBATCH --requeue
# The job of one site: trains a run under mpirun until it gets a stop signal.
#
#   sbatch -n 2 slurm/site_train.sh inputs/mine/run.json [SITE]
#
# -n is the number of ranks, each with its own CPU. Without -n, the number comes from the site's
# file and all ranks share the one CPU that Slurm allocates. SITE defaults to the run's site whose
# name is the cluster's (SLURM_CLUSTER_NAME).
# To stop a job of the poller: curtail-poll RUN --pause SITE --reason TEXT. To stop a job of your
# own: scancel JOB; Slurm kills it after KillWait. Slurm itself sends USR1 120 s before the time
# limit.
# See docs/slurm.md, and --help for the environment.
set -euo pipefail

# Before mpirun starts, there is nothing to save.
trap 'echo "site_train.sh: stopped before training started"; exit 0' USR1 TERM

readonly EX_USAGE=64 EX_NOINPUT=66 EX_UNAVAILABLE=69
say() { echo "site_train.sh: $*" >&2; }
die() { local code=$1; shift; say "$*"; exit "$code"; }

readonly usage="usage: sbatch -n RANKS slurm/site_train.sh [--without-poller] RUN.json [SITE]"
help() {
    cat <<EOT
$usage
Trains a run at one site under mpirun. Contributes its work and stops at TERM (scancel JOB) or USR1.
SITE may be omitted if the cluster has the site's name. Without -n, the number of ranks comes from
the site's file and all ranks share the one CPU that Slurm allocates.
If a poller serves the site, training needs its permission and stops when the permission ends.
With --without-poller, it does not.

Environment:
  CURTAIL_BUILD         folder whose bin/ contains the programs [build/release of the checkout from
                        which the job was submitted]
  CURTAIL_PROLOGUE      file to source first, e.g. with \`module load openmpi\` [none]
  CURTAIL_CORE_LIMIT    largest core dump of a rank, in KiB, or \`unlimited\` [0: no core dumps]
  CURTAIL_MPI_MESSAGES  1: mpirun adds its own messages to the errors of the ranks [0]

Exit codes: 64 usage error; 66 the run file or prologue cannot be read; 69 a program is missing,
the folder for temporary files has no space, or mpirun fails or hangs at its start; 75 the poller
does not permit the site to train now; 77 others can change what the job reads or runs; otherwise
those of curtail-train or of the prologue.
EOT
}
without_poller=()
while [[ ${1:-} == -* ]]; do
    case $1 in
    -h | --help) help; exit 0 ;;
    --without-poller) without_poller=(--without-poller) ;;
    *) die $EX_USAGE "unknown option $1; $usage" ;;
    esac
    shift
done
(($# >= 1 && $# <= 2)) || die $EX_USAGE "$usage"
run=$1
site=${2:-}
[[ -r $run ]] || die $EX_NOINPUT "cannot read run $run (in folder $PWD);" \
    "give a path relative to the folder where sbatch was called, or an absolute path"

has_programs() { # FOLDER
    local name
    for name in curtail-train curtail-poll curtail-block-signals curtail-forward-stop; do
        [[ -x $1/bin/$name ]] || return 1
    done
}

# Slurm runs a copy of this script, so the path of the script does not lead to the checkout.
find_build() {
    local folder here=.
    [[ $0 != */* ]] || here=${0%/*}
    for folder in "${SLURM_SUBMIT_DIR:-.}/build/release" "$here/../build/release"; do
        [[ -z ${CURTAIL_BUILD:-} ]] || folder=$CURTAIL_BUILD
        if has_programs "$folder"; then
            (cd -- "$folder/bin" && pwd -P)
            return 0
        fi
    done
    return 1
}

wanted=${site:-${SLURM_CLUSTER_NAME:-}}
[[ -n $wanted ]] || die $EX_USAGE "which site? name it as the second argument"

# What others can change is refused with 77 before it runs. A changed curtail-poll could say anything.
check_access() {
    CURTAIL_BUILD=${build%/bin} "$build/curtail-poll" "$run" --check-access --site "$wanted"
}

if [[ -n ${CURTAIL_PROLOGUE:-} ]]; then
    [[ -f $CURTAIL_PROLOGUE && -r $CURTAIL_PROLOGUE ]] ||
        die $EX_NOINPUT "cannot read the prologue $CURTAIL_PROLOGUE"
    if build=$(find_build); then
        access_code=0
        check_access || access_code=$?
        # 127: the program may need libraries of the prologue.
        ((access_code == 0 || access_code == 127)) || exit "$access_code"
    fi
    # Environment modules do not work under these options.
    set +euo pipefail
    # shellcheck source=/dev/null
    source "$CURTAIL_PROLOGUE"
    prologue_code=$?
    set -euo pipefail
    ((prologue_code == 0)) ||
        die "$prologue_code" "the prologue $CURTAIL_PROLOGUE failed (exit code $prologue_code)"
fi

if ! build=$(find_build); then
    [[ -z ${CURTAIL_BUILD:-} ]] || die $EX_UNAVAILABLE "CURTAIL_BUILD=$CURTAIL_BUILD does not" \
        "lead to the programs: its bin/ has no curtail-train, curtail-poll, curtail-block-signals or" \
        "curtail-forward-stop; correct or unset it"
    die $EX_UNAVAILABLE "cannot find curtail-train, curtail-poll," \
        "curtail-block-signals and curtail-forward-stop; set CURTAIL_BUILD to the folder with" \
        "their bin/, or submit from the top of a checkout that has been built (make)"
fi
check_access || exit $?
command -v mpirun >/dev/null || die $EX_UNAVAILABLE "mpirun is not on the PATH; install" \
    "openmpi-bin, or load its module in a prologue (launcher.prologue of the site, or" \
    "CURTAIL_PROLOGUE)"

# mpirun keeps 8 MB of files in TMPDIR, and fails or hangs without this space. Slurm sets TMPDIR as
# it was where the job was submitted.
readonly tmp_need_mb=16
lacks_space() { # FOLDER; sets free_mb
    free_mb=$(timeout -k 1 10 df -Pk -- "$1" | awk 'NR == 2 { print int($4 / 1024) }') || free_mb=
    [[ -n $free_mb ]] && ((free_mb < tmp_need_mb))
}
unusable=
if [[ -z ${TMPDIR:-} ]]; then
    :
elif [[ ! (-d $TMPDIR && -w $TMPDIR && -x $TMPDIR) ]]; then
    unusable="is not a writable folder"
elif lacks_space "$TMPDIR"; then
    unusable="has $free_mb MB free, and mpirun needs $tmp_need_mb MB,"
fi
if [[ -n $unusable ]]; then
    say "TMPDIR=$TMPDIR $unusable on $(hostname -s): using /tmp"
    unset TMPDIR
fi
if [[ -z ${TMPDIR:-} ]] && lacks_space /tmp; then
    die $EX_UNAVAILABLE "/tmp has $free_mb MB free on $(hostname -s), and mpirun needs" \
        "$tmp_need_mb MB; delete files there, or set TMPDIR to a folder with space"
fi

# Exits with 75 if the poller does not permit the site to train.
line=$("$build/curtail-poll" "$run" --job-line "$wanted" "${without_poller[@]}") || exit $?
read -r site site_ranks permission <<<"$line"
ranks=${SLURM_NTASKS:-$site_ranks}
cpus=$((${SLURM_CPUS_ON_NODE:-ranks} * ${SLURM_JOB_NUM_NODES:-1}))
((ranks <= cpus)) || say "$ranks ranks share the $cpus CPU(s) of this job and wait for each" \
    "other; request more with sbatch -n $ranks"

# 64 ranks that dump 20 GB each would fill the file system.
ulimit -c "${CURTAIL_CORE_LIMIT:-0}" 2>/dev/null || say "cannot set the limit of core dumps to" \
    "$CURTAIL_CORE_LIMIT; it stays at $(ulimit -c)"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Ranks share the node: more threads than CPUs per rank would only compete for cores.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}
# Several sites may share this machine's cores: a waiting rank yields its core.
export OMPI_MCA_mpi_yield_when_idle=1
if ((${SLURM_JOB_NUM_NODES:-1} == 1)); then
    export OMPI_MCA_btl=self,vader OMPI_MCA_oob_tcp_if_include=lo
else
    # TERM must not end the daemons that mpirun starts on the other nodes, either.
    export PATH=$build:$PATH
    agent="curtail-block-signals TERM -- orted"
    export OMPI_MCA_orte_launch_agent=${OMPI_MCA_orte_launch_agent:-$agent}
fi
# How long Slurm waits between TERM and KILL; empty if it does not say.
kill_wait=
if [[ -n ${SLURM_JOB_ID:-} ]]; then
    kill_wait=$(timeout 5 scontrol show config 2>/dev/null |
        sed -n 's/^KillWait *= *\([1-9][0-9]*\) sec.*/\1/p') || kill_wait=
fi
# mpirun's explanation of a rank's exit code would hide the rank's own error.
quiet=-q
[[ ${CURTAIL_MPI_MESSAGES:-0} == 0 ]] || quiet=
# Set by `sbatch --export=LIST`; it would remove variables that mpirun needs on other nodes.
unset SLURM_EXPORT_ENV

# The local launcher passes the job's name in CURTAIL_JOB.
job=${SLURM_JOB_ID:-${CURTAIL_JOB:-}}

echo "site_train.sh: site $site, $ranks ranks, job ${job:-none} on $(hostname -s)"
# With exec, a signal to the batch script reaches curtail-forward-stop. It makes mpirun pass USR1 on
# to every rank, or USR2 for TERM. The signals stay pending while a rank loads its libraries;
# curtail-train unblocks them once its handlers are installed (docs/adr/0004).
exec "$build/curtail-forward-stop" mpirun -n "$ranks" ${quiet:+"$quiet"} --bind-to none \
    --oversubscribe "$build/curtail-block-signals" USR1 USR2 TERM -- "$build/curtail-train" \
    "$run" --site "$site" --job "$job" --permission "$permission" \
    ${kill_wait:+--kill-wait "$kill_wait"} --threads "${OMP_NUM_THREADS%%,*}"
