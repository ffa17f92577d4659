# SPDX-License-Identifier: Apache-2.0
"""How the demo over S3 fails, and how signals stop it."""
import signal
import sys


class Failure(Exception):
    """Ends the demo with exit code `code`."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def say(text):
    try:
        print(f"demo: {text}", file=sys.stderr, flush=True)
    except OSError:
        pass  # the terminal has closed; that must not stop the demo half way


class Signals:
    """The first INT, TERM or HUP stops the demo. Each of them is passed on to its processes."""

    CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}

    def __init__(self):
        self.code = None  # exit code after a signal
        self.pass_on = None  # called at each signal
        for number in self.CODES:
            signal.signal(number, self._caught)

    def _caught(self, number, _):
        if self.code is None:
            say("stopping")
            self.code = self.CODES[number]
        if self.pass_on:
            self.pass_on()

    def check(self):
        if self.code is not None:
            raise Failure(self.code, "stopped")
