#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo_text.sh OUT
# Creates the folder OUT with English prose from Debian's perl-doc, the training text of the demo:
# one file per section of each manual page. Code, tables, markup and repeated paragraphs are left
# out. The same package versions give the same bytes.
set -euo pipefail
export LC_ALL=C

die() { local code=$1; shift; echo "demo_text.sh: $*" >&2; exit "$code"; }

case ${1-} in
    -h | --help) sed -n '3,6s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) die 64 "unknown option $1; see demo_text.sh --help" ;;
esac
if [ $# -ne 1 ] || [ -z "$1" ]; then echo "usage: demo_text.sh OUT" >&2; exit 64; fi
out=$1
[ ! -e "$out" ] || [ -z "$(ls -A "$out")" ] ||
    die 73 "$out is not empty; remove it or name another folder"
perl -MPod::Text -e 1 2> /dev/null || die 69 "perl has no Pod::Text; apt-get install perl"
# shellcheck disable=SC2016
folder=$(perl -MConfig -e 'print $Config{privlibexp}')
mapfile -t pages < <(
    find -L "$folder" -name '*.pod' ! -name perltoc.pod ! -name perluniprops.pod 2> /dev/null | sort
)
# Debian's perl contains a few pages without perl-doc.
[ ${#pages[@]} -ge 100 ] || die 69 "perl-doc is not installed ($folder has only ${#pages[@]}" \
    "pages); apt-get install perl-doc"

part=$(dirname "$out")/.$(basename "$out").part
rm -rf "$part"
mkdir -p "$part"
trap 'rm -rf "$part"' EXIT
program=$(dirname "${BASH_SOURCE[0]}")/demo_text.pl
printf '%s\n' "${pages[@]}" | perl "$program" "$folder" "$part"
bytes=$(cat "$part"/*.txt | wc -c)
[ "$bytes" -ge 4000000 ] || die 65 "perl-doc contains only $bytes bytes of prose (expected at" \
    "least 4000000); apt-get install --reinstall perl-doc"
if [ -d "$out" ]; then rmdir "$out"; fi
mv "$part" "$out"
trap - EXIT
documents=$(find "$out" -name '*.txt' | wc -l)
echo "demo_text.sh: $bytes bytes of prose in $documents documents in $out" >&2
