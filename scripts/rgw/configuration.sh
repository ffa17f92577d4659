# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Writes the configuration of the daemons. $folder, $conf, $port and $disk are set.
# shellcheck disable=SC2154

# Without authentication, the daemons cannot use the encrypted mode that the gateway prefers. The
# short intervals make the cluster ready within a second. Without tcp_nodelay, each response waits
# 40 ms for the client's delayed acknowledgement.
write_configuration() {
    local storage=memstore
    [ "$disk" = no ] || storage=bluestore
    cat > "$conf" << EOT
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon host = v2:127.0.0.1:$((port + 1))
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
ms bind ipv6 = false
auth cluster required = none
auth service required = none
auth client required = none
auth allow insecure global id reclaim = false
ms mon client mode = crc
ms mon cluster mode = crc
ms mon service mode = crc
ms client mode = crc
ms cluster mode = crc
ms service mode = crc
run dir = $folder/run
admin socket = $folder/run/\$name.asok
log file = $folder/log/\$name.log
mon cluster log file = $folder/log/cluster.log
keyring = $folder/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon warn on pool no redundancy = false
[mon]
mon data = $folder/mon
mon data avail crit = 1
mon data avail warn = 2
mon osd min up ratio = 0
paxos propose interval = 0.02
paxos min wait = 0.01
[osd]
osd data = $folder/osd
osd objectstore = $storage
memstore page set = true
memstore device bytes = $((8 << 30))
bluestore block size = $((${CURTAIL_RGW_DISK_GIB:-16} << 30))
bluestore block create = true
bluestore block wal size = 0
bluestore block db size = 0
osd memory target = 939524096
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw data = $folder/rgw
rgw enable usage log = false
rgw enable ops log = false
rgw thread pool size = 64
rgw gc obj min wait = 5
rgw gc processor period = 5
rgw gc processor max time = 5
rgw dynamic resharding = false
EOT
}

read_port() {
    port=$(sed -n 's/^rgw frontends = .*:\([0-9]*\) .*/\1/p' "$conf" 2> /dev/null) || true
    [ -n "$port" ] || die 64 "$folder is not a folder of rgw.sh"
}
