# SPDX-License-Identifier: Apache-2.0
"""Imitates an S3 server on a loopback port, for what a real one never does when a test wants it.

Prints its port, then serves until its standard input closes. Checks signatures with its own code.
The user `test-id` has the secret in --secret-file. `GET /_control?...` sets the behaviour, `GET
/_requests` lists all requests, and the paths of --metadata imitate a metadata service.
"""

import argparse
import hashlib
import hmac
import json
import sys
import threading
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"


class State:
    def __init__(self, secret):
        self.lock = threading.Lock()
        self.original = secret
        self.release = threading.Event()  # ends hanging responses when the server stops
        self.active = 0  # requests that are being handled
        self.reset()

    def reset(self):
        self.secrets = {"test-id": self.original}
        self.token = None  # the only valid session token, if any
        self.clock_offset = timedelta()
        self.objects = {}  # key -> (bytes, time, metadata)
        self.uploads = {}  # id -> (key, {number: bytes}, time, metadata)
        self.next_upload = 1
        self.faults = []  # [name, times left, method, part of the path, part of the signature]
        self.requests = []
        self.most_active = 0
        self.says_continue = True  # answers `Expect: 100-continue`
        self.role_asked = 0

    def now(self):
        return datetime.now(timezone.utc) + self.clock_offset

    def take_fault(self, method, path, signature):
        with self.lock:
            for fault in self.faults:
                fits = fault[2] in ("", method) and fault[3] in path and fault[4] in signature
                if fault[1] > 0 and fits:
                    fault[1] -= 1
                    return fault[0]
        return ""


class Refused(Exception):
    def __init__(self, status, code, headers=None):
        super().__init__(code)
        self.status, self.code, self.headers = status, code, headers or {}


def etag_of(data):
    return '"' + hashlib.md5(data).hexdigest() + '"'


def iso(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def hmac256(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    state: State

    def log_message(self, *_):
        pass

    def handle_expect_100(self):
        return super().handle_expect_100() if self.state.says_continue else True

    def date_time_string(self, timestamp=None):
        return format_datetime(self.state.now(), usegmt=True)

    def do_GET(self):
        url = urlsplit(self.path)
        self.query = {k: v[-1] for k, v in parse_qs(url.query, keep_blank_values=True).items()}
        if url.path == "/_control":
            return self.control()
        if url.path == "/_requests":
            answer = {"requests": self.state.requests, "most_active": self.state.most_active}
            return self.reply(200, json.dumps(answer).encode())
        if url.path.startswith(("/latest/", "/container")):
            return self.metadata(url.path)
        return self.serve(url)

    do_PUT = do_HEAD = do_DELETE = do_POST = do_GET

    # -- requests

    def serve(self, url):
        state = self.state
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # Path style, or virtual-host style for names like bucket.localhost.
        path = unquote(url.path)
        virtual = self.headers["Host"].startswith(BUCKET + ".")
        bucket, _, self.key = path[1:].partition("/") if not virtual else (BUCKET, "", path[1:])
        with state.lock:
            state.requests.append(f"{self.command} {self.path}")
            state.active += 1
            state.most_active = max(state.most_active, state.active)
        signature = self.headers.get("Authorization", "")
        self.fault = state.take_fault(self.command, self.path, signature)
        try:
            self.handle_request(bucket)
        except Refused as refused:
            text = f"<?xml version='1.0'?><Error><Code>{refused.code}</Code>" \
                   f"<Message>requested by the test</Message></Error>"
            self.reply(refused.status, text.encode(), refused.headers)
        finally:
            with state.lock:
                state.active -= 1

    def handle_request(self, bucket):
        if self.fault.startswith("status"):
            status, _, code = self.fault[6:].partition(":")
            headers = {"Retry-After": "86400"} if code == "SlowDownADay" else {}
            raise Refused(int(status), code or "Requested", headers)
        if self.fault == "html404":  # as of a load balancer
            return self.reply(404, b"<html><body>no backend</body></html>")
        if self.fault == "lost_request":
            self.close_connection = True
            return
        if self.fault == "hang":
            self.state.release.wait(60)
            self.close_connection = True
            return
        self.check_signature()
        if bucket != BUCKET:
            raise Refused(404, "NoSuchBucket")
        if self.fault.startswith("gather:"):
            self.wait_for_others(int(self.fault[7:]))
        if self.fault.startswith("pause:"):
            self.state.release.wait(float(self.fault[6:]))
        operations = {"GET": self.get, "HEAD": self.get, "PUT": self.put, "POST": self.post,
                      "DELETE": self.delete}
        status, body, headers = operations[self.command]()
        if self.fault == "lost_reply":
            self.close_connection = True
            return
        self.reply(status, body, headers)

    def wait_for_others(self, count):
        """Waits, ten seconds at most, until so many requests are being handled."""
        for _ in range(1000):
            if self.state.active >= count:
                break
            self.state.release.wait(0.01)

    def get(self):
        state = self.state
        if not self.key:
            return self.list()
        if self.key not in state.objects:
            raise Refused(404, "NoSuchKey")
        data, time, metadata = state.objects[self.key]
        if self.headers.get("If-Match", etag_of(data)) != etag_of(data):
            raise Refused(412, "PreconditionFailed")
        headers = {"ETag": etag_of(data), "Last-Modified": format_datetime(time, usegmt=True),
                   **metadata}
        wanted = self.headers.get("Range")
        if wanted and self.fault != "ignore_range":
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            first, last = int(first), min(int(last or len(data)), len(data) - 1)
            if first >= len(data):
                raise Refused(416, "InvalidRange")
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            return 206, data[first:last + 1], headers
        return 200, data, headers

    def put(self):
        state = self.state
        if "uploadId" in self.query:
            upload = state.uploads.get(self.query["uploadId"])
            if upload is None:
                raise Refused(404, "NoSuchUpload")
            upload[1][int(self.query["partNumber"])] = self.body
            return 200, b"", {"ETag": etag_of(self.body)}
        with state.lock:
            conditional = self.headers.get("If-None-Match") == "*"
            if conditional and self.key in state.objects and self.fault != "ignore_conditions":
                raise Refused(412, "PreconditionFailed")
            state.objects[self.key] = (self.body, state.now(), self.metadata_headers())
        return 200, b"", {"ETag": etag_of(self.body)}

    def post(self):
        state = self.state
        with state.lock:
            if "uploads" in self.query:
                upload = f"upload-{state.next_upload}"
                state.next_upload += 1
                state.uploads[upload] = (self.key, {}, state.now(), self.metadata_headers())
                return 200, (f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId>"
                             "</InitiateMultipartUploadResult>").encode(), {}
            upload = state.uploads.get(self.query["uploadId"])
            if upload is None:
                raise Refused(404, "NoSuchUpload")
            if self.fault == "late_error":
                return 200, b"<Error><Code>InternalError</Code><Message>late</Message></Error>", {}
            data = b"".join(upload[1][number] for number in sorted(upload[1]))
            state.objects[self.key] = (data, state.now(), upload[3])
            del state.uploads[self.query["uploadId"]]
        return 200, b"<CompleteMultipartUploadResult/>", {}

    def metadata_headers(self):
        return {k: v for k, v in self.headers.items() if k.lower().startswith("x-amz-meta-")}

    def delete(self):
        if "uploadId" in self.query:
            if self.state.uploads.pop(self.query["uploadId"], None) is None:
                raise Refused(404, "NoSuchUpload")
        else:
            self.state.objects.pop(self.key, None)
        return 204, b"", {}

    def list(self):
        state, query = self.state, self.query
        if "versioning" in query:
            return 200, b"<VersioningConfiguration/>", {}
        prefix = query.get("prefix", "")
        if "uploads" in query:
            rows = "".join(
                f"<Upload><Key>{escape(key)}</Key><UploadId>{upload}</UploadId>"
                f"<Initiated>{iso(time)}</Initiated></Upload>"
                for upload, (key, _, time, _) in state.uploads.items() if key.startswith(prefix))
            listing = f"<ListMultipartUploadsResult>{rows}</ListMultipartUploadsResult>"
            return 200, listing.encode(), {}
        keys = sorted(key for key in state.objects if key.startswith(prefix))
        begin = int(query.get("continuation-token", 0))
        page = keys[begin:begin + 2]  # small pages, so that a short listing has several
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(state.objects[key][0])}</Size>"
            f"<LastModified>{iso(state.objects[key][1])}</LastModified></Contents>" for key in page)
        more = begin + 2 < len(keys)
        rows += f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        rows += f"<NextContinuationToken>{begin + 2}</NextContinuationToken>" if more else ""
        return 200, f"<ListBucketResult>{rows}</ListBucketResult>".encode(), {}

    # -- signatures (AWS Signature Version 4)

    def check_signature(self):
        state, headers = self.state, self.headers
        fields = dict(part.split("=", 1) for part in
                      headers.get("Authorization", "").partition(" ")[2].split(",") if "=" in part)
        try:
            identity, day, region, service, last = fields["Credential"].split("/")
            names = fields["SignedHeaders"].split(";")
            time = headers["x-amz-date"]
            sent = datetime.strptime(time, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
        except (KeyError, ValueError, TypeError):
            raise Refused(403, "AccessDenied") from None
        if identity not in state.secrets:
            raise Refused(403, "InvalidAccessKeyId")
        if headers.get("x-amz-security-token") != state.token:
            raise Refused(400, "ExpiredToken")
        if abs(sent - state.now()) > timedelta(minutes=15):
            raise Refused(403, "RequestTimeTooSkewed")
        digest = headers["x-amz-content-sha256"]
        if digest != hashlib.sha256(self.body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch")
        url = urlsplit(self.path)
        query = "&".join(sorted(
            f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in self.query.items()))
        lines = "".join(f"{name}:{headers[name].strip()}\n" for name in names)
        path = quote(unquote(url.path), safe="/-_.~")
        canonical = "\n".join([self.command, path, query, lines, ";".join(names), digest])
        scope = f"{day}/{region}/{service}/{last}"
        text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n" + \
            hashlib.sha256(canonical.encode()).hexdigest()
        key = ("AWS4" + state.secrets[identity]).encode()
        for part in (day, region, service, last):
            key = hmac256(key, part)
        if hmac256(key, text).hex() != fields["Signature"] or "host" not in names:
            raise Refused(403, "SignatureDoesNotMatch")

    # -- metadata service

    def metadata(self, path):
        state = self.state
        role = "/latest/meta-data/iam/security-credentials/"
        keys = json.dumps({
            "AccessKeyId": "test-id", "SecretAccessKey": state.original, "Token": "role-token",
            "Expiration": iso(datetime.now(timezone.utc) + timedelta(hours=1))}).encode()
        if path == "/latest/api/token" and self.command == "PUT":
            return self.reply(200, b"imds-token")
        if path == "/container":
            good = self.headers.get("Authorization") == "container-token"
            return self.reply(200, keys) if good else self.reply(403, b"")
        if self.headers.get("X-aws-ec2-metadata-token") != "imds-token":
            return self.reply(401, b"")
        if path == role:
            return self.reply(200, b"trainer\n")
        if path == role + "trainer":
            state.role_asked += 1
            return self.reply(200, keys)
        return self.reply(404, b"")

    # -- responses

    def reply(self, status, body, headers=None):
        fault = getattr(self, "fault", "")
        sent = body
        if fault.startswith("cut_off:"):
            sent = body[:int(fault[8:])]
            self.close_connection = True
        if fault == "flip" and body:
            sent = bytes([body[0] ^ 1]) + body[1:]
        try:
            self.send_response(status)
            if fault == "chunked":
                sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
                self.send_header("Transfer-Encoding", "chunked")
            else:
                self.send_header("Content-Length", str(len(body)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(sent)
        except OSError:
            pass
        self.fault = ""

    def control(self):
        state, query = self.state, self.query
        self.fault = ""
        if "reset" in query:
            state.reset()
        if "fault" in query:
            state.faults.append([query["fault"], int(query.get("times", "1")),
                                 query.get("method", ""), query.get("path", ""),
                                 query.get("signed", "")])
        if "forget_active" in query:
            state.most_active = 0
        if "no_continue" in query:
            state.says_continue = False
        if "clock_offset_s" in query:
            state.clock_offset = timedelta(seconds=int(query["clock_offset_s"]))
        if "secret" in query:
            state.secrets["test-id"] = query["secret"]
        if "token" in query:
            state.token = query["token"] or None
        return self.reply(200, b"{}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--secret-file", required=True)
    with open(parser.parse_args().secret_file, encoding="utf-8") as file:
        state = State(file.read())
    handler = type("BoundHandler", (Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients may end connections at any time
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    state.release.set()


if __name__ == "__main__":
    main()
