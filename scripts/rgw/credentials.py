#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns what `radosgw-admin user create` prints into a file like ~/.aws/credentials.

usage: radosgw-admin user create ... | credentials.py > FILE
"""
import json
import sys


def main() -> None:
    try:
        key = json.load(sys.stdin)["keys"][0]
    except (ValueError, LookupError):
        sys.exit("credentials.py: the input describes no user with a key")
    print("[default]", f"aws_access_key_id = {key['access_key']}",
          f"aws_secret_access_key = {key['secret_key']}", sep="\n")


main()
