#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Creates a bucket and lets further users of the same server read and write it.

usage: bucket.py ENDPOINT CREDENTIALS BUCKET [USER...]
CREDENTIALS is a file like ~/.aws/credentials, with the key of the bucket's owner.
"""
import json
import sys
import urllib.error

import s3

ACTIONS = ["GetObject", "PutObject", "DeleteObject", "ListBucket", "ListBucketMultipartUploads",
           "AbortMultipartUpload", "GetBucketVersioning"]


# An object belongs to the user who wrote it. So the owner of the bucket needs the policy too.
def policy(bucket: str, users: list[str]) -> bytes:
    return json.dumps({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Principal": {"AWS": [f"arn:aws:iam:::user/{user}" for user in users]},
            "Action": [f"s3:{action}" for action in ACTIONS],
            "Resource": [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
        }],
    }).encode()


def main() -> None:
    endpoint, credentials, bucket, *users = sys.argv[1:]
    keys = s3.read_keys(credentials)
    try:
        s3.request(endpoint, keys, "PUT", "/" + bucket)
        if users:
            s3.request(endpoint, keys, "PUT", "/" + bucket, {"policy": ""},
                       policy(bucket, ["owner", *users]))
    except urllib.error.HTTPError as error:
        sys.exit(f"bucket.py: {endpoint}: status {error.code}: {error.read().decode()}")


main()
