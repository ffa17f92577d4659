# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Unpacks the pinned wheels into .deps/site. They are for Debian 12's Python whichever Python runs
# pip, because Python never imports them.

readonly WHEELS_MB=2000 # free space needed while the wheels are fetched and unpacked
readonly site=$here/.deps/site
readonly stamp=$site/.wheels.sha256

wanted_wheels() {
    if [ -n "${CURTAIL_TORCH_ROOT:-}" ]; then
        grep '^plotly==' scripts/wheels.txt
    else
        cat scripts/wheels.txt
    fi
}

check_machine() {
    [ -z "${CURTAIL_TORCH_ROOT:-}" ] || return 0
    [ "$(uname -m)" = x86_64 ] || fail 69 "the pinned wheels are for x86-64 and this machine is" \
        "$(uname -m); build LibTorch 2.11.0 and set CURTAIL_TORCH_ROOT to it"
    local free
    free=$(df -Pm .deps | awk 'NR == 2 {print $4}')
    [ "$free" -ge $WHEELS_MB ] || fail 73 "$here/.deps has $free MB of free space and the wheels" \
        "need $WHEELS_MB; free some, or make .deps a link to a folder on another disk"
}

find_pip() { # prints a Python that has pip
    local python
    for python in python3 /usr/bin/python3; do
        if $python -m pip --version > /dev/null 2>&1; then echo $python; return; fi
    done
    return 1
}

fetch_wheels() { # FOLDER
    local python
    python=$(find_pip) || fail 69 "python3 has no pip; apt-get install python3-pip"
    rm -rf "$1"
    $python -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
        --root-user-action ignore --no-deps --no-compile --require-hashes --only-binary :all: \
        --implementation cp --python-version 3.11 --abi cp311 --abi none \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 \
        --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
        --target "$1" -r <(wanted_wheels) ||
        fail 69 "pip could not install the wheels, see above:" \
            "no network, no space in ${TMPDIR:-/tmp}, or a file that differs from the pinned one"
}

install_wheels() {
    local wanted installed size=560
    wanted=$(wanted_wheels | sha256sum)
    installed=$(cat "$stamp" 2> /dev/null || true)
    # The full set also contains plotly.js.
    if [ "$installed" = "$wanted" ] || [ "$installed" = "$(sha256sum < scripts/wheels.txt)" ]; then
        say "the wheels are in .deps/site"
        return
    fi
    [ -z "${CURTAIL_TORCH_ROOT:-}" ] || size=10
    say "unpacking into .deps/site, about $size MB to fetch:" \
        "$(wanted_wheels | sed -n 's/ --hash.*//p' | tr '\n' ' ')"
    [ $dry_run = no ] || return 0
    check_machine
    fetch_wheels "$site.new"
    rm -rf "$site"
    mv "$site.new" "$site"
    echo "$wanted" > "$stamp"
}
