#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every patch of tests/mutants fits the sources, says which rule it breaks and which invariant finds
# it, and is described in docs/simulator.md.
set -euo pipefail

fits() { # PATCH
    # Without a repository of the checkout's own, git would ignore the files of the patch.
    if [ -e .git ] && command -v git > /dev/null; then git apply --check "$1"
    else patch --dry-run --silent --batch --fuzz=0 -p1 < "$1"; fi
}

failed=0
complain() { echo "$1: $2" >&2; failed=1; }
for patch in tests/mutants/*.patch; do
    name=$(basename "$patch" .patch)
    fits "$patch" ||
        complain "$patch" "does not fit; make it again: git diff -U2 of the changed source"
    grep -q '^Breaks: ' "$patch" || complain "$patch" "names no rule (Breaks: ...)"
    invariant=$(sed -n 's/^Invariant: //p' "$patch")
    grep -q "^| \`$name\` | .* | \`$invariant\` |$" docs/simulator.md ||
        complain "$patch" "docs/simulator.md has no row | \`$name\` | ... | \`$invariant\` |"
done
exit $failed
