# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Installs the missing Debian packages, or says what is missing and what to do.

packages_status=0 # exit code if packages stay missing; the wheels are unpacked all the same
why=              # the reason, and what to do
missing=          # output of missing_packages
packages=()       # names of the missing packages

# One line "USE PACKAGE" each. USE is `demo`, `tests` or `speed` as in the list, otherwise `build`.
missing_packages() {
    local installed newline=$'\n' package use
    local -a names
    mapfile -t names < <(cut -d ' ' -f 1 scripts/setup-packages.txt)
    # It fails if it has never heard of one of them.
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${names[@]}" 2> /dev/null) ||
        true
    while read -r package use; do
        [[ $newline$installed == *"$newline$package installed"* ]] || echo "${use:-build} $package"
    done < scripts/setup-packages.txt
}

cannot_install() { # WHY
    why="packages are missing and $1; ask your administrator to run:"
    why+=" apt-get install --no-install-recommends ${packages[*]}"
    grep -q '^build ' <<< "$missing" ||
        why+="; the programs can be built without them: cmake --preset release\
 -DCURTAIL_TESTS=OFF && cmake --build --preset release"
}

list_packages() {
    local use names
    say "Debian packages to install: ${packages[*]}"
    for use in "build to build and run" "demo for the demo" "tests for the tests" \
        "speed to build faster"; do
        if names=$(grep "^${use%% *} " <<< "$missing"); then
            say "  ${use#* }: $(cut -d ' ' -f 2 <<< "$names" | tr '\n' ' ')"
        fi
    done
}

run_apt() {
    # apt-get prints its own errors.
    "${as_root[@]}" apt-get update -qq || fail 69 "apt-get update failed, see above;" \
        "check the network and sources.list, and that no other apt is running"
    without_services "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${packages[@]}" \
        > /dev/null < /dev/null 9>&- || fail 69 "apt-get install failed, see above: ${packages[*]}"
}

install_packages() {
    if ! command -v dpkg-query > /dev/null; then
        packages_status=69
        why="this is not Debian (dpkg-query is missing); install the equivalents of:"
        why+=" $(cut -d ' ' -f 1 scripts/setup-packages.txt | tr '\n' ' ')"
        return
    fi
    missing=$(missing_packages)
    if [ -z "$missing" ]; then
        say "all Debian packages are installed"
        [ $dry_run = yes ] || remove_leftover_policy
        return
    fi
    mapfile -t packages < <(cut -d ' ' -f 2 <<< "$missing")
    list_packages
    [ $dry_run = no ] || return 0
    become_root || packages_status=$?
    case $packages_status in
        69) cannot_install "you are not root and sudo is missing" ;;
        77) cannot_install "sudo refuses, or needs a password and has no terminal" ;;
        *)
            run_apt
            disable_services "${packages[@]}" ;;
    esac
}
