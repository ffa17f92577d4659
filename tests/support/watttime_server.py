# SPDX-License-Identifier: Apache-2.0
"""Imitates api.watttime.org on a loopback port, for tests: answers as WattTime v3 does and fails on
request.

Prints its port, then serves until its standard input closes. The account is user `alice` with the
password in --password-file. `GET /_control?...` sets the behaviour. `GET /_requests` lists all
requests with path and type of authorization, never the secret.
"""

import argparse
import base64
import json
import os
import ssl
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PERIOD = timedelta(minutes=5)
HTML_403 = "<html><head><title>403 Forbidden</title></head><body><h1>Forbidden</h1></body></html>"
SCOPE_ERROR = {
    "error": "Invalid query parameters",
    "message": "Invalid scope. Your account may not query this region.",
}


# Faults that change the meta data, and faults that change the first value.
META_FAULTS = {
    "percentile": {"units": "percentile"},
    "kilograms": {"units": "kg_co2_per_mwh"},
    "other_region": {"region": "SPP_TX"},
    "other_signal": {"signal_type": "health_damage"},
    "warnings": {"warnings": [{"type": "EXAMPLE_WARNING", "message": "the model\u001b is old"}]},
}
VALUE_FAULTS = {"null_value": None, "text_value": "870", "absurd_value": 870000}


class State:
    def __init__(self, password):
        self.lock = threading.Lock()
        self.password = password
        self.logins = 0
        self.release = threading.Event()  # ends slow responses when the server stops
        self.reset()

    def reset(self):
        self.tokens = {}  # token -> time of login
        self.token_life_s = 1800.0
        self.regions = {"CAISO_NORTH"}
        self.lbs = {"CAISO_NORTH": 870.0, "SPP_TX": 1300.0}
        self.now = None
        self.shift = timedelta()  # of the periods; without it, one begins each full hour
        self.faults = []  # [name, times left, endpoint]
        self.retry_after = 2
        self.requests = []

    def clock(self):
        return self.now or datetime.now(timezone.utc)

    def period_start(self):
        return floor_to_period(self.clock() - self.shift) + self.shift

    def take_fault(self, path):
        with self.lock:
            for fault in self.faults:
                if fault[1] > 0 and path.endswith(fault[2]):
                    fault[1] -= 1
                    return fault[0]
        return None


def floor_to_period(at):
    return at.replace(minute=at.minute // 5 * 5, second=0, microsecond=0)


def parse_zoned(text):
    parsed = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if parsed.tzinfo is None:
        raise ValueError("time without zone")
    return parsed.astimezone(timezone.utc)


def iso(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S+00:00")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes
    state: State

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urlsplit(self.path)
        lists = parse_qs(url.query, keep_blank_values=True)
        query = {key: values[-1] for key, values in lists.items()}
        if url.path == "/_control":
            return self.control(query)
        if url.path == "/_requests":
            return self.reply(200, self.state.requests)
        scheme = self.headers.get("Authorization", "none").split(" ")[0]
        self.state.requests.append({"path": self.path, "authorization": scheme})
        fault = self.state.take_fault(url.path)
        if fault and self.fail(fault):
            return None
        if url.path == "/login":
            return self.login()
        if not self.authorized():
            return self.reply(401, HTML_403, "text/html")
        endpoints = {
            "/v3/forecast": self.forecast,
            "/v3/signal-index": self.signal_index,
        }
        if url.path not in endpoints:
            return self.reply(404, {"error": "Not found", "message": "no such endpoint"})
        if query.get("region") not in self.state.regions:
            return self.reply(403, SCOPE_ERROR)
        if query.get("signal_type") != "co2_moer":
            return self.reply_invalid("unknown signal_type")
        return endpoints[url.path](query, fault)

    # -- endpoints

    def login(self):
        state = self.state
        expected = "Basic " + base64.b64encode(b"alice:" + state.password).decode()
        if self.headers.get("Authorization") != expected:
            return self.reply(403, HTML_403, "text/html")
        with state.lock:
            state.logins += 1
            token = f"header.payload{state.logins}.signature"
            state.tokens[token] = time.monotonic()
        return self.reply(200, {"token": token})

    def authorized(self):
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        issued = self.state.tokens.get(token)
        if scheme != "Bearer" or issued is None:
            return False
        return time.monotonic() - issued < self.state.token_life_s

    def forecast(self, query, fault):
        hours = float(query.get("horizon_hours", 24))
        if not 0 <= hours <= 72:
            return self.reply_invalid("horizon_hours must be 0 to 72")
        first = self.state.period_start()
        times = [first + i * PERIOD for i in range(int(hours * 12) + 1)]
        points = [self.point(query["region"], at) for at in times]
        meta = {"generated_at": iso(first), "generated_at_period_seconds": 300}
        return self.reply_points(query, points, fault, meta)

    def signal_index(self, query, fault):
        point = {"point_time": iso(self.state.period_start()), "value": 42.0}
        return self.reply_points(query, [point], "percentile", {})

    # -- responses

    def point(self, region, at):
        return {"point_time": iso(at), "value": self.state.lbs[region]}

    def reply_points(self, query, points, fault, extra_meta):
        meta = {
            "data_point_period_seconds": 300,
            "region": query["region"],
            "warnings": None,
            "signal_type": "co2_moer",
            "model": {"date": "2023-03-01"},
            "units": "lbs_co2_per_mwh",
            **extra_meta,
        }
        if fault == "no_meta":
            return self.reply(200, {"data": points})
        if fault == "empty":
            points = []
        meta.update(META_FAULTS.get(fault, {}))
        if fault == "no_zone":
            points[0]["point_time"] = points[0]["point_time"][:19]
        elif fault in VALUE_FAULTS:
            points[0]["value"] = VALUE_FAULTS[fault]
        return self.reply(200, {"data": points, "meta": meta})

    def fail(self, fault):
        """Sends a fault that does not depend on the endpoint; returns False for any other fault."""
        if fault.startswith("status"):
            headers = {}
            if fault == "status429":
                headers["Retry-After"] = str(self.state.retry_after)
            self.reply(int(fault[6:]), {"error": "requested by the test"}, headers=headers)
        elif fault == "slow":
            self.state.release.wait(20)
            self.close_connection = True
        elif fault == "truncated":
            self.reply(200, '{"data":[{"point_time":"2022-07-15T0', "application/json")
        elif fault == "cut_off":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"data":')
            self.close_connection = True
        elif fault == "html":
            self.reply(200, "<html><body>Please log in</body></html>", "text/html")
        elif fault == "oversize":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.flood(b" " * 65536, 9 * 1024 * 1024)
        elif fault == "many_headers":
            self.send_response(200)
            for i in range(50):
                self.send_header(f"X-Header-{i}", "x" * 1000)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.flood(b"{}", 2)
        elif fault == "redirect":
            self.reply(302, "", "text/plain", {"Location": "/v3/elsewhere"})
        else:
            return False
        return True

    def reply_invalid(self, message):
        return self.reply(400, {"error": "Invalid query parameters", "message": message})

    def flood(self, piece, total):
        self.close_connection = True
        try:
            for _ in range(0, total, len(piece)):
                self.wfile.write(piece)
        except OSError:
            pass

    def reply(self, status, body, content_type="application/json", headers=None):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass

    def control(self, query):
        state = self.state
        if "reset" in query:
            state.reset()
        if "no_faults" in query:
            state.faults.clear()
        if "fault" in query:
            times, endpoint = int(query.get("times", "1")), query.get("endpoint", "")
            state.faults.append([query["fault"], times, endpoint])
        if "forget_tokens" in query:
            state.tokens.clear()
        if "token_life_s" in query:
            state.token_life_s = float(query["token_life_s"])
        if "retry_after" in query:
            state.retry_after = int(query["retry_after"])
        if "region" in query:
            state.regions.add(query["region"])
        if "lbs" in query:
            state.lbs["CAISO_NORTH"] = float(query["lbs"])
        if "now" in query:
            state.now = parse_zoned(query["now"])
        if "period_ends_in_s" in query:
            now = state.clock().replace(microsecond=0)
            end = now + timedelta(seconds=int(query["period_ends_in_s"]))
            state.shift = (end - floor_to_period(now)) % PERIOD
        return self.reply(200, {})


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def make_certificate(folder, name, days):
    """Writes a self-signed certificate into `folder`; returns the paths of key and certificate."""
    files = ("key.pem", "certificate.pem", "request.pem", "names")
    key, certificate, request, names = (os.path.join(folder, file) for file in files)
    with open(names, "w") as file:
        file.write(f"subjectAltName={name}\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", "/CN=stand-in", "-keyout", key, "-out", request)
    openssl("x509", "-req", "-in", request, "-signkey", key, "-days", str(days),
            "-extfile", names, "-out", certificate)
    return key, certificate


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--password-file", required=True)
    parser.add_argument("--tls-folder",
                        help="serve https with a new certificate, written into this folder")
    parser.add_argument("--tls-name", default="IP:127.0.0.1", help="subject of the certificate")
    parser.add_argument("--tls-days", type=int, default=2,
                        help="validity of the certificate; negative: already expired")
    return parser.parse_args()


def main():
    options = parse_options()
    with open(options.password_file, "rb") as file:
        state = State(file.read())
    handler = type("BoundHandler", (Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if options.tls_folder:
        key, certificate = make_certificate(options.tls_folder, options.tls_name, options.tls_days)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        # The handshake runs in the connection's thread: a client that rejects the certificate must
        # not end the server.
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
        server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    state.release.set()


if __name__ == "__main__":
    main()
