#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ccache_launcher.sh CCACHE COMPILER ARGUMENT...
# Compiles through ccache. The bytes of a precompiled header differ from one compilation to the
# next, so beside each header.gch this writes header.gch.sum: a checksum of the header's text and
# macros. With CCACHE_PCH_EXTSUM=true, ccache reads the checksum instead of the bytes. Every clone
# then shares what one has compiled.
set -eu
"$@"

case " $* " in
    *.gch\ *) shift ;;
    *) exit 0 ;;
esac
# Preprocess with the same arguments, less those that name outputs or use the compiled header.
option=
output=
for argument; do
    shift
    case $option in
        -o) output=$argument ;;
        -MF | -MT) ;;
        *) case $argument in
            -o | -MF | -MT | -MD | -fpch-preprocess) ;;
            *) set -- "$@" "$argument" ;;
        esac ;;
    esac
    option=$argument
done
case $output in
    *.gch) ;;
    *) exit 0 ;;
esac
trap 'rm -f "$output.$$.text" "$output.$$.sum"' EXIT
"$@" -E -P -dD > "$output.$$.text"
sha256sum < "$output.$$.text" > "$output.$$.sum"
mv "$output.$$.sum" "$output.sum"
