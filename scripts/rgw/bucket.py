#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Creates a bucket and lets further users read and write it.

usage: bucket.py ENDPOINT CREDENTIALS BUCKET [USER...]
CREDENTIALS is a file as ~/.aws/credentials. Each USER is one of the same server.
"""
import configparser
import datetime
import hashlib
import hmac
import json
import sys
import urllib.error
import urllib.request


def signature(secret: str, day: str, region: str, text: str) -> str:
    key = ("AWS4" + secret).encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def put(endpoint: str, keys: dict, path: str, query: str, body: bytes) -> None:
    """Sends a signed PUT (AWS Signature Version 4). `query` is encoded and sorted."""
    host = endpoint.split("://", 1)[1]
    time = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    signed = "host;x-amz-content-sha256;x-amz-date"
    headers = f"host:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{time}\n"
    canonical = "\n".join(["PUT", path, query, headers, signed, digest])
    scope = f"{time[:8]}/us-east-1/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    mark = signature(keys["aws_secret_access_key"], time[:8], "us-east-1", text)
    request = urllib.request.Request(
        endpoint + path + ("?" + query if query else ""),
        data=body,
        method="PUT",
        headers={
            "x-amz-content-sha256": digest,
            "x-amz-date": time,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={keys['aws_access_key_id']}/{scope}, "
            f"SignedHeaders={signed}, Signature={mark}",
        },
    )
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20).close()


def policy(bucket: str, users: list[str]) -> bytes:
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Principal": {"AWS": [f"arn:aws:iam:::user/{user}" for user in users]},
                    "Action": [
                        "s3:GetObject",
                        "s3:PutObject",
                        "s3:DeleteObject",
                        "s3:ListBucket",
                        "s3:ListBucketMultipartUploads",
                        "s3:AbortMultipartUpload",
                        "s3:GetBucketVersioning",
                    ],
                    "Resource": [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
                }
            ],
        }
    ).encode()


def main() -> None:
    endpoint, credentials, bucket, *users = sys.argv[1:]
    parser = configparser.ConfigParser(interpolation=None)
    with open(credentials, encoding="utf-8") as file:
        parser.read_file(file)
    keys = dict(parser["default"])
    try:
        put(endpoint, keys, "/" + bucket, "", b"")
        if users:
            put(endpoint, keys, "/" + bucket, "policy=", policy(bucket, users))
    except urllib.error.HTTPError as error:
        sys.exit(f"bucket.py: {endpoint}: status {error.code}: {error.read().decode()}")


main()
