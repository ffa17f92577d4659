#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prolog and epilog of the clusters of `up --hard`, as FOLDER/prolog and FOLDER/epilog. Takes the
# time in the file FOLDER/prolog_s or FOLDER/epilog_s: seconds, or `hold` to wait until the file
# changes.
PATH=/usr/bin:/bin
tenths=0
while [ -e "$0_s" ]; do
    read -r seconds <"$0_s" || seconds=hold # somebody is writing the file
    [ "$seconds" = hold ] || [ "$tenths" -lt $((seconds * 10)) ] || break
    sleep 0.1
    tenths=$((tenths + 1))
done
exit 0
