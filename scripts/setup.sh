#!/usr/bin/env bash
# setup.sh [--dry-run]   Installs what Curtail needs to build and run on Debian 12: the packages of scripts/setup-packages.txt
# that are missing, and the pinned wheels of scripts/wheels.txt into .deps/site. May be run as often as you like.
# Without root (or sudo) it changes no packages and prints the command that would.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
site=$here/.deps/site
stamp=$site/.wheels.sha256
dry_run=no
case ${1:-} in
    "") ;;
    --dry-run) dry_run=yes ;;
    -h | --help) sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "setup.sh: unknown option $1; did you mean --dry-run?" >&2; exit 64 ;;
esac

say() { echo "setup: $*" >&2; }
fail() { echo "setup.sh: $*" >&2; exit 69; }

missing_packages() {
    while read -r package; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
    done < "$here/scripts/setup-packages.txt"
}

# Debian starts daemons as soon as they are installed. Ours are private to a run: none may start here.
without_services() {
    local policy=/usr/sbin/policy-rc.d made=no
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy > /dev/null
        "${as_root[@]}" chmod 755 $policy
        made=yes
    fi
    local status=0
    "$@" || status=$?
    [ $made = no ] || "${as_root[@]}" rm -f $policy
    return $status
}

install_packages() {
    local -a packages
    mapfile -t packages < <(missing_packages)
    if [ ${#packages[@]} -eq 0 ]; then say "all Debian packages are there"; return; fi
    say "Debian packages to install: ${packages[*]}"
    [ $dry_run = no ] || return 0
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo > /dev/null; then
        fail "these packages are missing and this is neither root nor is there sudo; ask your administrator for: apt-get install --no-install-recommends ${packages[*]}"
    fi
    local -a as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq || fail "apt-get update failed; is this machine online?"
    without_services "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" > /dev/null < /dev/null ||
        fail "apt-get could not install: ${packages[*]}"
}

# The wheels are those of Debian 12's Python, whichever Python runs pip: nothing of them is ever imported.
install_wheels() {
    local wanted
    wanted=$(sha256sum < "$here/scripts/wheels.txt")
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then say "the wheels are in .deps/site"; return; fi
    say "unpacking the wheels of scripts/wheels.txt into .deps/site (about 560 MB to fetch)"
    [ $dry_run = no ] || return 0
    local python=python3
    $python -m pip --version > /dev/null 2>&1 || python=/usr/bin/python3
    local fresh=$here/.deps/site.new
    rm -rf "$fresh"
    $python -m pip install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action ignore --no-deps --no-compile --require-hashes \
        --only-binary :all: --implementation cp --python-version 3.11 --abi cp311 --abi none \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
        --target "$fresh" -r "$here/scripts/wheels.txt" || fail "pip could not fetch the wheels; is this machine online?"
    rm -rf "$site"
    mv "$fresh" "$site"
    echo "$wanted" > "$stamp"
}

[ "$(uname -m)" = x86_64 ] || fail "the pinned wheels are for x86-64, this machine is $(uname -m); build LibTorch 2.11.0 and pass -DCURTAIL_TORCH_ROOT=..."
install_packages
install_wheels
