#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mutant.sh PATCH TREE BUILD
# Builds curtail-sim with PATCH in TREE, a copy of the sources that it makes if it is missing, with
# the LibTorch of BUILD. Then runs seeds. Passes if the first broken invariant is the one that PATCH
# names, and takes the patch back. TREE must be as deep as other build folders, for ccache.
set -euo pipefail
patch=$1
tree=$2
torch=$(sed -n 's/^CURTAIL_TORCH_ROOT:PATH=//p' "$3/CMakeCache.txt")
seeds=$(sed -n 's/^Seeds: //p' "$patch")
seeds=${seeds:-0-399} # a million steps

if [ ! -e "$tree/clean" ]; then
    rm -rf "$tree"
    mkdir -p "$tree"
    cp -a CMakeLists.txt CMakePresets.json LICENSE cmake src tests "$tree"
    (cd "$tree" && cmake --preset release -DCURTAIL_TESTS=OFF -DCURTAIL_TORCH_ROOT="$torch")
fi
rm -f "$tree/clean"
patch -d "$tree" -p1 < "$patch"
cmake --build "$tree/build/release" --target curtail-sim -j 2
found=$("$tree/build/release/bin/curtail-sim" rounds --seeds "$seeds" --steps 1 |
    grep -A1 '^seed ' | head -n 2) || true
patch -d "$tree" -p1 -R < "$patch"
touch "$tree/clean"

echo "${found:-no invariant was broken in the seeds $seeds}"
invariant=$(sed -n 's/^Invariant: //p' "$patch")
[[ $found == *"the invariant \`$invariant\`"* ]] ||
    { echo "the first broken invariant must be \`$invariant\`"; exit 1; }
