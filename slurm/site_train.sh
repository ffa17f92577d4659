#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=curtail-train
#SBATCH --signal=B:USR1@120
#SBATCH --open-mode=append
#SBATCH --requeue
# The job of one site: trains a run under mpirun until it is asked to stop.
#
#   sbatch -n 2 slurm/site_train.sh inputs/runs/demo.json [SITE]
#
# -n is the number of ranks, each with a CPU of its own. Without it they are as many as the site's file says, on the one CPU that Slurm gives.
# SITE is the second argument, else the entry of the run that is called as this cluster (SLURM_CLUSTER_NAME).
# Asking it to stop: scancel --batch --signal=USR1 JOB. Slurm does the same 120 s before the time limit. See docs/slurm.md.
#
#   CURTAIL_BUILD      folder with the programs in its bin/ [build/release of the checkout that was submitted from]
#   CURTAIL_PROLOGUE   file that is sourced first, such as one with `module load openmpi` [none]
set -euo pipefail

# A stop that comes before mpirun runs has nothing to save. Once mpirun runs, it passes the signal to every rank.
trap 'echo "site_train.sh: asked to stop before the start"; exit 0' USR1

readonly EX_USAGE=64 EX_NOINPUT=66 EX_UNAVAILABLE=69
die() { local code=$1; shift; echo "site_train.sh: $*" >&2; exit "$code"; }

readonly usage="usage: sbatch -n RANKS slurm/site_train.sh RUN.json [SITE]"
case ${1:-} in
-h | --help)
    echo "$usage"
    echo "Trains a run at one site under mpirun until it is asked to stop (scancel --batch --signal=USR1 JOB). SITE may be left out where"
    echo "the cluster is called as the site. Without -n the ranks are those of the site's file and share the one CPU that Slurm gives."
    echo "CURTAIL_BUILD: folder with the programs in its bin/ [build/release of the checkout that was submitted from]. Exit codes:"
    echo "those of curtail-train; 64 wrong command line, 66 no such run, 69 a program is missing."
    exit 0
    ;;
-*) die $EX_USAGE "unknown option $1; $usage" ;;
esac
(($# >= 1 && $# <= 2)) || die $EX_USAGE "$usage"
run=$1
site=${2:-}
[[ -r $run ]] || die $EX_NOINPUT "cannot read run $run (from folder $PWD); give its path from where sbatch was called, or an absolute one"

if [[ -n ${CURTAIL_PROLOGUE:-} ]]; then
    [[ -r $CURTAIL_PROLOGUE ]] || die $EX_NOINPUT "cannot read the prologue $CURTAIL_PROLOGUE"
    # Environment modules are not written for these.
    set +euo pipefail
    # shellcheck source=/dev/null
    source "$CURTAIL_PROLOGUE"
    prologue_code=$?
    set -euo pipefail
    ((prologue_code == 0)) || die "$prologue_code" "the prologue $CURTAIL_PROLOGUE failed (exit code $prologue_code)"
fi

# Slurm runs a copy of this script, so its own place says nothing there.
find_build() {
    local candidate
    for candidate in "${CURTAIL_BUILD:-}" "${SLURM_SUBMIT_DIR:-.}/build/release" "$(dirname -- "$0")/../build/release"; do
        if [[ -n $candidate && -x $candidate/bin/curtail-train && -x $candidate/bin/curtail-poll ]]; then
            (cd -- "$candidate/bin" && pwd -P)
            return 0
        fi
    done
    return 1
}
build=$(find_build) ||
    die $EX_UNAVAILABLE "cannot find curtail-train and curtail-poll; set CURTAIL_BUILD to the folder with their bin/, or submit from the top of a checkout where they are built (make)"
command -v mpirun >/dev/null || die $EX_UNAVAILABLE "mpirun is not on the PATH; install openmpi-bin, or load its module in a prologue (CURTAIL_PROLOGUE; launcher.prologue of the site)"

wanted=${site:-${SLURM_CLUSTER_NAME:-}}
[[ -n $wanted ]] || die $EX_USAGE "which site? give it as the second argument"
line=$("$build/curtail-poll" "$run" --job-line "$wanted") || exit $?
read -r site site_ranks <<<"$line"
ranks=${SLURM_NTASKS:-$site_ranks}
cpus=$((${SLURM_CPUS_ON_NODE:-ranks} * ${SLURM_JOB_NUM_NODES:-1}))
((ranks <= cpus)) || echo "site_train.sh: $ranks ranks share the $cpus CPU(s) of this job and wait for each other; ask for more: sbatch -n $ranks" >&2

# mpirun keeps files there, and Slurm brought it along from where the job was submitted.
if [[ -n ${TMPDIR:-} && ! (-d $TMPDIR && -w $TMPDIR && -x $TMPDIR) ]]; then
    echo "site_train.sh: TMPDIR=$TMPDIR is no folder of $(hostname -s) that can be written: using /tmp" >&2
    unset TMPDIR
fi

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Ranks beside ranks: threads of their own would only wait for each other's cores.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}
# Several sites may share this machine's cores: a waiting rank gives its core away.
export OMPI_MCA_mpi_yield_when_idle=1
if ((${SLURM_JOB_NUM_NODES:-1} == 1)); then
    export OMPI_MCA_btl=self,vader OMPI_MCA_oob_tcp_if_include=lo
fi
# Left from `sbatch --export=LIST`; it would strip the environment of what mpirun starts on other nodes.
unset SLURM_EXPORT_ENV

# The local launcher tells the job's name in CURTAIL_JOB.
job=${SLURM_JOB_ID:-${CURTAIL_JOB:-}}

echo "site_train.sh: site $site, $ranks ranks, job ${job:-none} on $(hostname -s)"
# exec, so that a signal to the batch script is one to mpirun. env keeps USR1 pending while a rank loads its libraries;
# curtail-train unblocks it once it can listen.
exec mpirun -n "$ranks" --bind-to none --oversubscribe \
    env --block-signal=USR1 "$build/curtail-train" "$run" --site "$site" --job "$job" --threads "${OMP_NUM_THREADS%%,*}"
