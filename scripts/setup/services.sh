# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Becomes root and keeps newly installed daemons from starting: Debian starts them at installation
# and at each boot, but Curtail's own are private to a run. A policy of another program is never
# changed. Ours has a known second line and is removed however set-up ends.

policy=${CURTAIL_POLICY_RC:-/usr/sbin/policy-rc.d} # tests use another path
policy_mark='# made by scripts/setup.sh of Curtail while it installs packages'
as_root=()

become_root() { # returns 69 if neither root nor sudo is available, 77 if sudo refuses
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo > /dev/null || return 69
    sudo -n true 2> /dev/null || { [ -t 0 ] && sudo -v; } || return 77
    as_root=(sudo)
}

policy_is_ours() { [ "$(sed -n 2p "$policy" 2> /dev/null)" = "$policy_mark" ]; }
remove_policy() { ! policy_is_ours || "${as_root[@]}" rm -f "$policy"; }

remove_leftover_policy() {
    policy_is_ours || return 0
    { become_root && remove_policy; } ||
        say "an interrupted set-up left $policy; remove it as root"
}

without_services() { # COMMAND...
    local status=0
    trap 'trap "" INT TERM HUP; remove_policy' EXIT
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\n%s\nexit 101\n' "$policy_mark" |
            "${as_root[@]}" tee "$policy" > /dev/null || fail 73 "cannot write $policy"
        "${as_root[@]}" chmod 755 "$policy"
    fi
    "$@" || status=$?
    remove_policy
    trap - EXIT
    return $status
}

disable_services() { # PACKAGE...: those just installed; daemons installed earlier are not changed
    local daemon
    command -v systemctl > /dev/null || return 0
    for daemon in munge slurmctld slurmd; do
        case " $* " in
            *" $daemon "*)
                "${as_root[@]}" systemctl --quiet disable "$daemon" > /dev/null 2>&1 ||
                    say "$daemon may start at the next boot; run systemctl disable $daemon" ;;
        esac
    done
}
