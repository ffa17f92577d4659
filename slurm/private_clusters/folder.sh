# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The working folder: where it is, who may use it, its lock, and the link that finds it again.

readonly marker=.curtail-clusters
readonly SOCKET_LIMIT=107 # bytes of a path in sockaddr_un

find_root() { # sets root, link and socket
    local hash
    link=
    if [[ -n ${CURTAIL_CLUSTERS:-} ]]; then
        root=$CURTAIL_CLUSTERS
    else
        link=$checkout/build/clusters
        root=$(readlink "$link" || true)
        # The clusters may have been started under a different TMPDIR.
        if [[ ! -f $root/$marker ]]; then
            hash=$(printf %s "$checkout" | sha256sum)
            root=${TMPDIR:-/tmp}/curtail-${hash:0:8}-$(id -u)
        fi
    fi
    [[ $root == /* ]] || die $EX_USAGE \
        "working folder $root is not an absolute path; set CURTAIL_CLUSTERS or TMPDIR"
    socket=$root/munge/socket
}

make_root() {
    local length=${#socket}
    ((length <= SOCKET_LIMIT)) || die $EX_CANTCREAT "the path of munge's socket in $root has" \
        "$length characters (limit $SOCKET_LIMIT); set TMPDIR to a shorter folder"
    if ! mkdir -m 700 "$root" 2>/dev/null && [[ -L $root || ! -d $root ]]; then
        die $EX_CANTCREAT "cannot create the working folder $root; set TMPDIR to a writable folder"
    fi
    [[ $(stat -c %u:%a "$root") == "$(id -u):700" ]] || die $EX_CANTCREAT "working folder $root" \
        "belongs to another user or its mode is not 700; remove it or set TMPDIR"
    # `down` deletes this folder, so it must be ours, whatever CURTAIL_CLUSTERS names.
    [[ -f $root/$marker || -z $(ls -A "$root") ]] || die $EX_CANTCREAT \
        "$root contains files that are not a cluster's; name an empty folder"
    : >"$root/$marker"
}

# A job whose step cannot create its socket ends as CANCELLED, and only slurmd's log says why.
check_step_sockets() { # SITE...
    local site node path
    for site in "$@"; do
        for node in $(node_names); do
            path=$root/$site/$( ((hard)) && echo "$node" || echo spool)/${node}_99999.4294967291
            ((${#path} <= SOCKET_LIMIT)) || die $EX_CANTCREAT "the path of a job's socket," \
                "$path, has ${#path} characters (limit $SOCKET_LIMIT); set TMPDIR or" \
                "CURTAIL_CLUSTERS to a shorter folder"
        done
    done
}

remove_root() {
    local entry
    local -a sites=()
    [[ ! -f $root/sites ]] || read -ra sites <"$root/sites"
    for entry in munge sites hard processes lock "$marker" "${sites[@]}"; do
        rm -rf "${root:?}/$entry"
    done
    rm -f "$root"/*.out "$root"/hosts-node*
    rmdir "$root" 2>/dev/null || say "keeping $root: it is not empty"
}

take_lock() {
    exec 9>"$root/lock"
    flock -n 9 || die $EX_TEMPFAIL \
        "another \`up\` or \`down\` is running in $root; wait until it has finished"
}

make_link() {
    [[ -n $link ]] || return 0
    (umask 022 && mkdir -p "${link%/*}")
    [[ -L $link || ! -e $link ]] || die $EX_CANTCREAT "$link exists and is not a link; remove it"
    ln -sfn "$root" "$link"
}

remove_link() {
    [[ ! -L $link ]] || rm -f "$link"
}
