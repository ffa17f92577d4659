# SPDX-License-Identifier: Apache-2.0
"""Transfers one large object with boto3, with the part size, the parallelism and the checks of
Curtail (bench/programs/s3_transfer.cpp): signed parts with SHA-256 on the way up; on the way down,
the SHA-256 of the whole object, from the file. The file should be in memory. Reads twice and times
the second read, like Curtail. Prints one line of JSON: seconds, and processor seconds of this
process, of the transfer alone.

    s3_transfer.py up|down ENDPOINT CREDENTIALS BUCKET/KEY BYTES FILE
"""
import hashlib
import json
import os
import resource
import sys
import time

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

MIB = 1 << 20
TRANSFER = TransferConfig(multipart_threshold=64 * MIB, multipart_chunksize=32 * MIB,
                          max_concurrency=4)


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def write(path, size):
    """A file whose parts all differ."""
    with open(path, "wb") as file:
        for number in range(0, size, MIB):
            file.write(os.urandom(64).ljust(min(MIB, size - number), b"\0"))


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(client, bucket, key, path):
    """Into a new file: download_file replaces a file by another one anyway."""
    os.remove(path)
    client.download_file(bucket, key, path, Config=TRANSFER)
    digest_of(path)


def main():
    direction, endpoint, credentials, place, size, path = sys.argv[1:]
    os.environ["AWS_SHARED_CREDENTIALS_FILE"] = credentials
    bucket, key = place.split("/", 1)
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1",
                          config=Config(s3={"addressing_style": "path"}, max_pool_connections=8))
    write(path, int(size))
    if direction == "down":
        download(client, bucket, key, path)
    began, used = time.perf_counter(), processor_seconds()
    if direction == "up":
        client.upload_file(path, bucket, key, Config=TRANSFER,
                           ExtraArgs={"ChecksumAlgorithm": "SHA256"})
    else:
        download(client, bucket, key, path)
    print(json.dumps({"seconds": time.perf_counter() - began,
                      "cpu_s": processor_seconds() - used}))
    if os.path.getsize(path) != int(size):
        sys.exit(f"s3_transfer.py: {path} has another size")


main()
