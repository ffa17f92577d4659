#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh [--dry-run]   Installs what Curtail needs to build and run on Debian 12: the packages of scripts/setup-packages.txt
# that are missing, and the pinned wheels of scripts/wheels.txt into .deps/site. May be run as often as you like.
# Without root (or sudo) it changes no packages, prints what each is for and the command that would, and ends with 69 or 77 when the
# wheels are there. With CURTAIL_TORCH_ROOT (another LibTorch) only the report's plotly.js is fetched.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD
site=$here/.deps/site
stamp=$site/.wheels.sha256
readonly WHEELS_MB=2000 # while the wheels are fetched and unpacked
dry_run=no
for word in "$@"; do
    case $word in
        --dry-run) dry_run=yes ;;
        -h | --help) sed -n '3,7s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) echo "setup.sh: unknown option $word; did you mean --dry-run?" >&2; exit 64 ;;
    esac
done

say() { echo "setup: $*" >&2; }
fail() { local code=$1; shift; echo "setup.sh: $*" >&2; exit "$code"; }

# One line each, what it is for and the package: the list says `demo`, `tests` or `speed`, else it is for the build.
missing_packages() {
    local package use
    while read -r package use; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || echo "${use:-build} $package"
    done < scripts/setup-packages.txt
}

# Debian starts daemons as soon as they are installed, and at each boot. Ours are private to a run: none may start here. A policy of
# somebody else stays as it is; ours is known by its second line, and goes whatever ends us.
policy=${CURTAIL_POLICY_RC:-/usr/sbin/policy-rc.d} # another place for tests
policy_mark='# made by scripts/setup.sh of Curtail while it installs packages'
as_root=()
become_root() { # answers 69 where there is no way, 77 where sudo refuses
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo > /dev/null || return 69
    sudo -n true 2> /dev/null || { [ -t 0 ] && sudo -v; } || return 77
    as_root=(sudo)
}
policy_is_ours() { [ "$(sed -n 2p "$policy" 2> /dev/null)" = "$policy_mark" ]; }
remove_policy() { ! policy_is_ours || "${as_root[@]}" rm -f "$policy"; }
# Of those that were installed just now; somebody else's stay as they are.
disable_services() {
    local daemon
    command -v systemctl > /dev/null || return 0
    for daemon in munge slurmctld slurmd; do
        case " ${packages[*]} " in
            *" $daemon "*) "${as_root[@]}" systemctl --quiet disable "$daemon" > /dev/null 2>&1 || say "$daemon may start at the next boot; systemctl disable $daemon" ;;
        esac
    done
}
without_services() {
    local status=0
    trap 'trap "" INT TERM HUP; remove_policy' EXIT
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\n%s\nexit 101\n' "$policy_mark" | "${as_root[@]}" tee "$policy" > /dev/null || fail 73 "cannot write $policy"
        "${as_root[@]}" chmod 755 "$policy"
    fi
    "$@" || status=$?
    remove_policy
    trap - EXIT
    return $status
}

lacking=0 # the exit code where packages stay missing: the wheels come all the same
why=      # and what to do about it
cannot_install() { # WHY
    why="packages are missing and $1; ask your administrator for: apt-get install --no-install-recommends ${packages[*]}"
    grep -q '^build ' <<< "$missing" || why="$why; the programs can be built without: cmake --preset release -DCURTAIL_TESTS=OFF && cmake --build --preset release"
}

missing= # lines as of missing_packages
packages=()
install_packages() {
    local use names
    if ! command -v dpkg-query > /dev/null; then
        lacking=69
        why="dpkg-query is not there: this is not Debian; install the like of: $(cut -d ' ' -f 1 scripts/setup-packages.txt | tr '\n' ' ')"
        return
    fi
    missing=$(missing_packages)
    if [ -z "$missing" ]; then
        say "all Debian packages are there"
        if [ $dry_run = no ] && policy_is_ours; then
            { become_root && remove_policy; } || say "$policy was left by a killed set-up; remove it as root"
        fi
        return
    fi
    mapfile -t packages < <(cut -d ' ' -f 2 <<< "$missing")
    say "Debian packages to install: ${packages[*]}"
    for use in "build to build and run" "demo for the demo" "tests for the tests" "speed to build faster"; do
        if names=$(grep "^${use%% *} " <<< "$missing"); then say "  ${use#* }: $(cut -d ' ' -f 2 <<< "$names" | tr '\n' ' ')"; fi
    done
    [ $dry_run = no ] || return 0
    become_root || lacking=$?
    case $lacking in
        69) cannot_install "this is neither root nor is there sudo"; return ;;
        77) cannot_install "sudo refuses, or wants a password and there is no terminal"; return ;;
    esac
    # Both print what is wrong by themselves.
    "${as_root[@]}" apt-get update -qq || fail 69 "apt-get update failed, see above: no network, a wrong sources.list, or another apt at work"
    without_services "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" > /dev/null < /dev/null 9>&- ||
        fail 69 "apt-get could not install, see above: ${packages[*]}"
    disable_services
}

wanted_wheels() {
    if [ -n "${CURTAIL_TORCH_ROOT:-}" ]; then grep '^plotly==' scripts/wheels.txt; else cat scripts/wheels.txt; fi
}

check_room() {
    [ -z "${CURTAIL_TORCH_ROOT:-}" ] || return 0
    [ "$(uname -m)" = x86_64 ] || fail 69 "the pinned wheels are for x86-64, this machine is $(uname -m); build LibTorch 2.11.0 and set CURTAIL_TORCH_ROOT to it"
    local free
    free=$(df -Pm .deps | awk 'NR == 2 {print $4}')
    [ "$free" -ge $WHEELS_MB ] || fail 73 "$here/.deps has $free MB of free space, the wheels need $WHEELS_MB; make room, or let .deps be a link to a folder on another disk"
}

# The wheels are those of Debian 12's Python, whichever Python runs pip: nothing of them is ever imported.
install_wheels() {
    local wanted there size python=python3 fresh=$here/.deps/site.new
    wanted=$(wanted_wheels | sha256sum)
    there=$(cat "$stamp" 2> /dev/null || true)
    # All of them serve as well where plotly.js alone is wanted.
    if [ "$there" = "$wanted" ] || [ "$there" = "$(sha256sum < scripts/wheels.txt)" ]; then say "the wheels are in .deps/site"; return; fi
    size=$([ -n "${CURTAIL_TORCH_ROOT:-}" ] && echo 10 || echo 560)
    say "unpacking into .deps/site, about $size MB to fetch: $(wanted_wheels | sed -n 's/ --hash.*//p' | tr '\n' ' ')"
    [ $dry_run = no ] || return 0
    check_room
    $python -m pip --version > /dev/null 2>&1 || python=/usr/bin/python3
    $python -m pip --version > /dev/null 2>&1 || fail 69 "there is no pip for python3; apt-get install python3-pip"
    rm -rf "$fresh"
    $python -m pip install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action ignore --no-deps --no-compile --require-hashes \
        --only-binary :all: --implementation cp --python-version 3.11 --abi cp311 --abi none \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
        --target "$fresh" -r <(wanted_wheels) || fail 69 "pip could not install the wheels, see above: no network, no room in ${TMPDIR:-/tmp}, or another file than the pinned one"
    rm -rf "$site"
    mv "$fresh" "$site"
    echo "$wanted" > "$stamp"
}

# bash waits for apt-get and pip before it acts on a signal; a terminal's Ctrl-C reaches them too.
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
if [ $dry_run = no ]; then
    { mkdir -p .deps && [ -w .deps ]; } 2> /dev/null || fail 73 "cannot write in $here/.deps; is the checkout yours, and its disk writable?"
    exec 9> .deps/.setup.lock
    flock -n 9 || { say "another set-up of this checkout is at work, waiting for it"; flock 9; }
fi
install_packages
# Before the wheels, which may need one of these packages.
[ -z "$why" ] || say "$why"
install_wheels
exit "$lacking"
