# SPDX-License-Identifier: Apache-2.0
"""Runs a command and reads, through strace, which paths it and all its descendants name.

strace stops a process at each system call that takes a path, before and after the call. So no call
can be missed: not one of a process that lives for a millisecond, nor one that fails. strace
resolves descriptors and links, as the kernel does, and prints each program's arguments and
environment. Only io_uring could open a file unseen; neither Curtail nor Slurm nor Open MPI uses it.
"""
import os
import re
import subprocess
import threading

STRACE = ["strace", "-f", "-DDD", "--seccomp-bpf", "-qq", "-y", "-s", "65536",
          "-e", "trace=%file", "-e", "abbrev=!execve,execveat", "-e", "signal=none"]
# A call that only returns the text of a link opens nothing.
TEXT_OF_LINK = re.compile(rb"\d+ +(readlink|readlinkat|getcwd)\(")
RELATIVE = re.compile(rb'(?:AT_FDCWD|\d+)<([^>]*)>, "([^/"][^"]*)"')
ASCENDING = re.compile(rb'()"(/[^"]*/\.\.[^"]*)"')
# strace prints an address if it may not read the memory of the process.
UNREADABLE = re.compile(rb'\d+ +\w+\((?:[^",]*, )?0x[^"]*$')
MOST_VIOLATIONS = 20
# strace splits a line if another process is faster.
STARTED = re.compile(rb'\d+ +execve\("[^"]*?([^"/]+)".* (?:= 0|<unfinished \.\.\.>)$')
OPENED = re.compile(rb" = \d+<[^>]")


class Watch:
    """One watched command. `foreign` are the folders that it must not name; `secrets` are texts
    that must not be in the arguments or the environment of a program."""

    def __init__(self, command, foreign, secrets, **options):
        self.violations = []  # the first of them, as texts
        self.opened = 0  # number of paths
        self.programs = set()  # the names of those that were started
        self.foreign = [os.fsencode(folder) for folder in foreign]
        self.secrets = [secret.encode() for secret in secrets]
        marks = b"|".join(map(re.escape, self.foreign))
        self.named = re.compile(rb'["<](?:' + marks + rb')(?=[/">])')
        read_end, write_end = os.pipe()
        # The command itself must not keep the pipe open.
        close = ["bash", "-c", f'exec {write_end}>&-; exec "$@"', "-"]
        self.process = subprocess.Popen([*STRACE, "-o", f"/dev/fd/{write_end}", *close, *command],
                                        pass_fds=[write_end], **options)
        os.close(write_end)
        self.thread = threading.Thread(target=self._read, args=(read_end,), daemon=True)
        self.thread.start()

    def _read(self, descriptor):
        with open(descriptor, "rb") as lines:
            for line in lines:
                reason = self._reason(line)
                if reason and len(self.violations) < MOST_VIOLATIONS:
                    self.violations.append(reason)
                started = STARTED.match(line.rstrip())
                if started:
                    self.programs.add(started[1].decode())
                self.opened += OPENED.search(line) is not None

    def _reason(self, line):
        """Why this line is a violation; None if it is not."""
        if any(secret in line for secret in self.secrets):
            return "a secret is in the arguments or the environment of a program"
        if TEXT_OF_LINK.match(line):
            return None
        shown = line.decode(errors="replace").strip()[:300]
        relative = (*RELATIVE.finditer(line), *ASCENDING.finditer(line))
        if self.named.search(line) or any(map(self._is_foreign, relative)):
            return f"names a path of another: {shown}"
        return f"names a path that strace cannot read: {shown}" if UNREADABLE.match(line) else None

    def _is_foreign(self, match):
        path = os.path.normpath(os.path.join(*match.groups()))
        return any(path == folder or path.startswith(folder + b"/") for folder in self.foreign)

    def wait_for_end(self, timeout):
        """Whether all processes of the command have ended within `timeout` seconds."""
        self.thread.join(timeout)
        return not self.thread.is_alive()
