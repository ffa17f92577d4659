#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo_text.sh OUT
# Makes a folder of English prose from Debian's perl-doc: the text the demo trains on. Each section of each manual page is a file.
# Code, tables and markup are left out, and so is every paragraph that stood somewhere before. The same packages give the same bytes.
set -euo pipefail
export LC_ALL=C

case ${1-} in
    -h | --help) sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "demo_text.sh: unknown option $1; see demo_text.sh --help" >&2; exit 64 ;;
esac
if [ $# -ne 1 ] || [ -z "$1" ]; then echo "usage: demo_text.sh OUT" >&2; exit 64; fi
out=$1
[ ! -e "$out" ] || [ -z "$(ls -A "$out")" ] || { echo "demo_text.sh: $out is not empty; remove it or name another folder" >&2; exit 73; }
if ! perl -MPod::Text -e 1 2> /dev/null; then
    echo "demo_text.sh: Pod::Text of perl is not there; apt-get install perl" >&2
    exit 69
fi
# shellcheck disable=SC2016
folder=$(perl -MConfig -e 'print $Config{privlibexp}')
mapfile -t pages < <(find -L "$folder" -name '*.pod' ! -name perltoc.pod ! -name perluniprops.pod 2> /dev/null | sort)
# Without perl-doc a handful of pages remains.
[ ${#pages[@]} -ge 100 ] || { echo "demo_text.sh: perl-doc is not there ($folder holds ${#pages[@]} pages); apt-get install perl-doc" >&2; exit 69; }

part=$(dirname "$out")/.$(basename "$out").part
rm -rf "$part"
mkdir -p "$part"
trap 'rm -rf "$part"' EXIT
printf '%s\n' "${pages[@]}" | perl "$(dirname "${BASH_SOURCE[0]}")/demo_text.pl" "$folder" "$part"
bytes=$(cat "$part"/*.txt | wc -c)
[ "$bytes" -ge 4000000 ] || { echo "demo_text.sh: only $bytes bytes of prose came out, 4000000 are wanted; is perl-doc whole? apt-get install --reinstall perl-doc" >&2; exit 65; }
if [ -d "$out" ]; then rmdir "$out"; fi
mv "$part" "$out"
trap - EXIT
echo "demo_text.sh: $bytes bytes of prose in $(find "$out" -name '*.txt' | wc -l) documents in $out" >&2
