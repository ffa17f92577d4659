# SPDX-License-Identifier: Apache-2.0
"""Signed requests to an S3 server (AWS Signature Version 4), for scripts and tests."""
import configparser
import datetime
import hashlib
import hmac
import urllib.parse
import urllib.request

REGION = "us-east-1"


def read_keys(credentials: str) -> tuple[str, str]:
    """The access key ID and the secret key in a file like ~/.aws/credentials."""
    parser = configparser.ConfigParser(interpolation=None)
    with open(credentials, encoding="utf-8") as file:
        parser.read_file(file)
    section = parser["default"]
    return section["aws_access_key_id"], section["aws_secret_access_key"]


def signature(secret: str, day: str, text: str) -> str:
    key = ("AWS4" + secret).encode()
    for part in (day, REGION, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def request(endpoint: str, keys: tuple[str, str], method: str, path: str,
            query: dict[str, str] | None = None, body: bytes = b"",
            timeout_s: float = 20) -> bytes:
    """Sends a request and returns the body of the response. Raises urllib.error.HTTPError."""
    encode = lambda text: urllib.parse.quote(text, safe="-_.~")
    asked = "&".join(sorted(f"{encode(k)}={encode(v)}" for k, v in (query or {}).items()))
    path = urllib.parse.quote(path, safe="/-_.~")
    time = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    names = "host;x-amz-content-sha256;x-amz-date"
    host = endpoint.split("://", 1)[1]
    lines = f"host:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{time}\n"
    canonical = "\n".join([method, path, asked, lines, names, digest])
    scope = f"{time[:8]}/{REGION}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    headers = {
        "x-amz-content-sha256": digest,
        "x-amz-date": time,
        "Authorization": f"AWS4-HMAC-SHA256 Credential={keys[0]}/{scope}, SignedHeaders={names}, "
                         f"Signature={signature(keys[1], time[:8], text)}",
    }
    url = endpoint + path + ("?" + asked if asked else "")
    prepared = urllib.request.Request(url, data=body or None, method=method, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(prepared, timeout=timeout_s) as response:
        return response.read()
