#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the narrowest bucket policy with which the sites of a run can train it.

usage: bucket_policy.py STORE RUN --owner ARN SITE=ARN...
       bucket_policy.py s3://curtail/mine mine --owner arn:aws:iam:::user/ada \\
           plains=arn:aws:iam:::user/plains coast=arn:aws:iam:::user/coast

STORE and RUN are `store` and `run` of the run file. ARN names a user of the server as its policies
do. The owner can read, amend and clean up the run. Each site can read the run, and write what sites
write in common and what only it writes. See docs/two-centres.md.

Exit codes: 0 success; 64 usage error.
"""
import json
import re
import sys

NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}"
# Written by whichever site is first. Any site with a copy stores a lost model again.
COMMON = ("run.json", "commits/*", "merge/*", "models/*", "probe/*", "repair/*")
# Written by one site only. A member's id begins with the name of its site and a dot.
OWN = ("contrib/{0}.*", "deltas/*/{0}.*", "journal/{0}/*", "closing/{0}/*", "status/{0}.json",
       "mpi/{0}.*", "mpi/check/{0}.*")
# Deleted by whichever site or person cleans up.
EXPIRING = ("deltas/*", "models/*", "probe/*", "mpi/check/*")


def statement(sid, arns, actions, resources):
    return {"Sid": sid, "Effect": "Allow", "Principal": {"AWS": list(arns)},
            "Action": ["s3:" + action for action in actions], "Resource": list(resources)}


def policy(store: str, run: str, owner: str, sites: dict[str, str]) -> dict:
    """The policy of the bucket in the address `store`; `sites` has the ARN of each site's user."""
    address = store.removeprefix("s3://").strip("/")
    bucket = f"arn:aws:s3:::{address.partition('/')[0]}"
    below = lambda *names: [f"arn:aws:s3:::{address}/runs/{run}/{name}" for name in names]
    users = [*sites.values()]
    everybody = [owner, *users]
    statements = [
        statement("Read", everybody, ["GetObject"], below("*")),
        # Without ListBucket, an object that is missing looks like one that is forbidden.
        statement("List", everybody,
                  ["ListBucket", "ListBucketMultipartUploads", "GetBucketVersioning"], [bucket]),
        statement("WriteInCommon", users, ["PutObject"], below(*COMMON)),
        statement("CleanUp", everybody, ["DeleteObject", "AbortMultipartUpload"],
                  below(*EXPIRING)),
        statement("Amend", [owner], ["PutObject"], below("amendments/*", "probe/*")),
    ]
    for number, (site, arn) in enumerate(sites.items(), 1):
        own = below(*(name.format(site) for name in OWN))
        statements.append(statement(f"Site{number}", [arn], ["PutObject"], own))
    return {"Version": "2012-10-17", "Statement": statements}


def usage(reason):
    print(f"bucket_policy.py: {reason}; see bucket_policy.py --help", file=sys.stderr)
    sys.exit(64)


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    if len(sys.argv) < 6 or sys.argv[3] != "--owner":
        usage("write STORE RUN --owner ARN SITE=ARN...")
    store, run, _, owner, *named = sys.argv[1:]
    if not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]+(/[A-Za-z0-9._/-]+)?", store):
        usage(f"{store} is no address such as s3://curtail/mine")
    if not re.fullmatch(NAME, run):
        usage(f"{run} is no name of a run")
    sites = {}
    for text in named:
        site, _, arn = text.partition("=")
        if not re.fullmatch(NAME, site) or not arn or site in sites:
            usage(f"{text} is not SITE=ARN, or names a site twice")
        sites[site] = arn
    print(json.dumps(policy(store, run, owner, sites), indent=2))


if __name__ == "__main__":
    main()
