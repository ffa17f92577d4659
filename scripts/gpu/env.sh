# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# source env.sh
# Lets the programs for GPUs find the libraries of the machine's PyTorch 2.11 for CUDA 13. Bash
# sources it, in run.sh or in the prologue of a site (docs/gpu.md). Sets PATH, LD_LIBRARY_PATH and
# CURTAIL_BUILD and, in a bundle, the variables with which Open MPI finds its files. If PyTorch is
# missing or has another version, it sets nothing, says why, and returns 69. Also lets mpirun work
# as root and, outside a job of Slurm, without ssh and network.
# CURTAIL_TORCH_ROOT names the folder `torch` of a PyTorch. By default it is that of python3.

curtail_complain() { echo "curtail: $*" >&2; return 69; }

# The folder whose bin/ contains the programs: the bundle, or build/gpu of the checkout.
curtail_root() { # FOLDER of this file
    if [ -d "$1/bin" ]; then echo "$1"; else echo "$(cd "$1/../.." && pwd)/build/gpu"; fi
}

curtail_check_glibc() { # ROOT
    local needed found
    [ -r "$1/share/curtail/glibc" ] || return 0
    needed=$(< "$1/share/curtail/glibc")
    found=$(getconf GNU_LIBC_VERSION 2> /dev/null)
    found=${found#glibc }
    [ "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" = "$needed" ] ||
        curtail_complain "these programs need glibc $needed and this machine has" \
            "${found:-another C library}; make the bundle on a system as old as this one"
}

curtail_find_torch() { # prints the folder torch
    local torch=${CURTAIL_TORCH_ROOT:-}
    # Importing torch would take seconds.
    [ -n "$torch" ] || torch=$(python3 -c 'import importlib.util
print(*importlib.util.find_spec("torch").submodule_search_locations)' 2> /dev/null) ||
        { curtail_complain "python3 has no PyTorch; activate an environment with PyTorch 2.11 for" \
            "CUDA 13, or set CURTAIL_TORCH_ROOT to the folder torch of one"; return; }
    [ -r "$torch/version.py" ] ||
        { curtail_complain "$torch is not the folder of a PyTorch (version.py is missing);" \
            "set CURTAIL_TORCH_ROOT to the folder torch of PyTorch 2.11"; return; }
    echo "$torch"
}

curtail_check_torch() { # TORCH
    local version cuda
    version=$(sed -n "s/^__version__ = '\(.*\)'$/\1/p" "$1/version.py")
    cuda=$(sed -n "s/^cuda.* = '\(.*\)'$/\1/p" "$1/version.py")
    [[ $version == 2.11.* ]] ||
        curtail_complain "$1 is PyTorch ${version:-of an unknown version} and these programs need" \
            "2.11; pip install torch==2.11.0, or set CURTAIL_TORCH_ROOT to another PyTorch" ||
        return
    [[ $cuda == 13.* && -e $1/lib/libtorch_cuda.so ]] ||
        curtail_complain "$1 is PyTorch $version for ${cuda:+CUDA }${cuda:-CPUs} and these" \
            "programs need CUDA 13; install PyTorch for CUDA 13"
}

curtail_set_environment() { # ROOT TORCH
    local folder libraries=$2/lib
    for folder in "$2"/../nvidia/*/lib; do
        [ ! -d "$folder" ] || libraries+=:$folder
    done
    export CURTAIL_BUILD=$1 PATH=$1/bin:$PATH
    export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    # Without it, activations of changing sizes fragment the memory of the GPU.
    export PYTORCH_ALLOC_CONF=${PYTORCH_ALLOC_CONF:-expandable_segments:True}
    [ ! -e "$1/bin/orted" ] || export OPAL_PREFIX=$1 OPAL_SYSCONFDIR=$1/etc \
        PMIX_PKGLIBDIR=$1/lib/curtail/pmix PMIX_PKGDATADIR=$1/share/pmix \
        HWLOC_PLUGINS_PATH=$1/lib/curtail/hwloc
}

# mpirun refuses to run as root without the first two. Outside a job of Slurm, where all ranks are
# on this machine, it would need ssh without the third.
curtail_set_open_mpi() {
    [ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    [ -n "${SLURM_JOB_ID:-}" ] || export OMPI_MCA_plm=${OMPI_MCA_plm:-isolated}
}

curtail_use_torch() { # FOLDER of this file
    local root torch
    root=$(curtail_root "$1")
    curtail_check_glibc "$root" && torch=$(curtail_find_torch) && curtail_check_torch "$torch" &&
        curtail_set_environment "$root" "$torch" && curtail_set_open_mpi
}

curtail_use_torch "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
