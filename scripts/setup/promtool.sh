# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Unpacks promtool, with which a test checks the output of curtail-status, into .deps/promtool. The
# Debian package that contains it would also install and start a server, so it is not installed.

readonly promtool=$here/.deps/promtool

fetch_promtool() { # FOLDER
    rm -rf "$1"
    mkdir -p "$1"
    # Without this option, apt-get warns that its own user cannot write to the folder.
    (cd "$1" && apt-get download -qq -o APT::Sandbox::User=root prometheus > /dev/null 2>&1) &&
        dpkg -x "$1"/prometheus_*.deb "$1" && [ -x "$1/usr/bin/promtool" ]
}

# Builds and most tests do not need promtool, so the set-up goes on without it.
install_promtool() {
    if [ -x "$promtool" ]; then
        say "promtool is in .deps"
        return
    fi
    say "unpacking promtool into .deps, about 20 MB to fetch"
    [ $dry_run = no ] || return 0
    if fetch_promtool "$promtool.new"; then
        mv "$promtool.new/usr/bin/promtool" "$promtool"
    else
        say "cannot fetch the Debian package prometheus: the test status_prometheus will fail;" \
            "run apt-get update as root and then scripts/setup.sh again"
    fi
    rm -rf "$promtool.new"
}
