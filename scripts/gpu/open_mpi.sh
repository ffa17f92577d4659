#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts the program of this name of the bundle's Open MPI, wherever the bundle is. The variables
# are those of env.sh, for a node on which nothing has sourced it. A folder of plugins that does not
# exist keeps hwloc from loading those of the machine.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
name=$(basename "$0")
export OPAL_PREFIX=$root OPAL_SYSCONFDIR=$root/etc \
    PMIX_PKGLIBDIR=$root/lib/curtail/pmix PMIX_PKGDATADIR=$root/share/pmix \
    HWLOC_PLUGINS_PATH=$root/lib/curtail/hwloc
export LD_LIBRARY_PATH=$root/lib/curtail${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# With the name alone, Open MPI does not derive its folder from the path.
exec -a "$name" "$root/libexec/curtail/$name" "$@"
