#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Object storage on this machine, for the demo and the tests: a Ceph cluster of one monitor and one
# disk daemon, and its S3 server, the RADOS Gateway, on loopback ports. Works as root or as an
# ordinary user, writes only inside one folder, and touches no system service.
set -euo pipefail
umask 077

PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C TZ=UTC

usage() {
    cat << EOT
usage: rgw.sh up [--disk] [--while PID] FOLDER
                                 start the storage. Keeps objects in memory, or in a file of the
                                 folder with --disk. With --while, runs \`down\` when the process
                                 PID ends.
       rgw.sh down FOLDER        stop it and remove the folder
       rgw.sh user NAME FOLDER   add a user, and write its key to FOLDER/NAME.credentials
       rgw.sh rotate NAME FOLDER replace the key of a user, and write the new one to
                                 FOLDER/NAME.rotated; the old one no longer works
       rgw.sh bucket NAME FOLDER [USER...]
                                 create a bucket that \`owner\` and the given users can write
       rgw.sh gateway kill|start FOLDER
                                 kill or start only the gateway; objects stay

\`up\` adds the user \`owner\` and writes the address of the gateway, such as
http://127.0.0.1:12000, to FOLDER/endpoint. The path of the folder must have at most 60 characters.

Environment:
  CURTAIL_RGW_DISK_GIB   size of the file with --disk; it is sparse [16]

Exit codes: 0 success; 64 usage error; 69 a program is missing; 71 a daemon did not start; 73 the
folder cannot be created; 75 the folder exists.
EOT
}

say() { echo "rgw.sh: $*" >&2 || true; }
die() { local code=$1; shift; say "$*"; exit "$code"; }

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=scripts/rgw/configuration.sh
source "$here/rgw/configuration.sh"
# shellcheck source=scripts/rgw/daemons.sh
source "$here/rgw/daemons.sh"

check_programs() {
    local program
    for program in ceph ceph-mon ceph-osd monmaptool radosgw radosgw-admin; do
        command -v "$program" > /dev/null ||
            die 69 "$program is missing; run apt-get install ceph-mon ceph-osd radosgw"
    done
}

make_folder() {
    [ ${#folder} -le 60 ] || die 64 "the path $folder has more than 60 characters"
    [ ! -e "$folder" ] || die 75 "$folder exists; stop it with: rgw.sh down $folder"
    mkdir -p "$folder"/{mon,osd,run,log} || die 73 "cannot create $folder"
}

up() {
    check_programs
    make_folder
    trap 'stop_all; exit 71' INT TERM HUP
    if ! start_cluster; then
        stop_all
        say "a daemon did not start; the last lines of its logs:"
        tail -n 3 "$folder"/log/* >&2 || true
        exit 71
    fi
    add_user owner
    echo "http://127.0.0.1:$port" > "$folder/endpoint"
    if [ -n "$while_pid" ]; then watch > /dev/null 2>&1 < /dev/null & fi
    say "the gateway answers at http://127.0.0.1:$port"
}

# radosgw-admin takes a secret only as an argument, so the gateway draws one and prints it.
make_key() { # NAME FILE ARGUMENT...
    local name=$1 file=$2
    shift 2
    radosgw-admin --conf="$conf" --name client.rgw "$@" --uid="$name" \
        --access-key="curtail-$name" --gen-secret 2> "$folder/log/user.out" |
        "$here/rgw/credentials.py" > "$folder/$name.new" ||
        die 71 "cannot make a key of the user $name: $(tail -n 1 "$folder/log/user.out")"
    mv "$folder/$name.new" "$folder/$file"
}

add_user() { make_key "$1" "$1.credentials" user create --display-name="$1"; } # NAME

rotate_key() { make_key "$1" "$1.rotated" key create --key-type=s3; } # NAME

check_name() { [[ $name =~ ^[A-Za-z0-9_-]{1,32}$ ]] || die 64 "$name is no name"; }

watch() {
    trap '' INT TERM HUP
    while kill -0 "$while_pid" && [ -d "$folder" ]; do sleep 0.5; done
    down
}

down() {
    [ -d "$folder" ] || return 0
    [ -f "$folder/ceph.conf" ] || die 64 "$folder is not a folder of rgw.sh"
    stop_all
    rm -rf -- "$folder"
}

command=${1:-}
[ $# = 0 ] || shift
disk=no
while_pid=
name=
case $command in
    up)
        [ "${1:-}" != --disk ] || { disk=yes; shift; }
        [ "${1:-}" != --while ] || { while_pid=${2:-}; shift; [ $# = 0 ] || shift; } ;;
    user | rotate | bucket | gateway) name=${1:-}; [ $# = 0 ] || shift ;;
    down) ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 64 ;;
esac
if [ $# = 0 ] || [ -z "$1" ]; then usage >&2; exit 64; fi
if [ $# != 1 ] && [ "$command" != bucket ]; then usage >&2; exit 64; fi
folder=$(realpath -m -- "$1")
shift
conf=$folder/ceph.conf

case "$command $name" in
    "up ") up ;;
    "down ") down ;;
    "gateway kill") stop_daemon rgw ;;
    "gateway start") read_port; start_gateway || die 71 "the gateway did not start" ;;
    "bucket "?*)
        "$here/rgw/bucket.py" "$(cat "$folder/endpoint")" "$folder/owner.credentials" "$name" \
            "$@" ;;
    "user "?*) check_name; add_user "$name" ;;
    "rotate "?*) check_name; rotate_key "$name" ;;
    *) usage >&2; exit 64 ;;
esac
