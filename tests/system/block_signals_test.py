# SPDX-License-Identifier: Apache-2.0
"""Runs commands under curtail-block-signals."""
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import case, execute, expect, main, program

BLOCK = program("curtail-block-signals")
# Prints the names of the signals that are blocked and of those that are pending.
SHOW = """import signal
blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
for signals in (blocked, signal.sigpending()):
    print(" ".join(sorted(s.name for s in signals)))
"""


@case()
def signal_stays_pending_across_exec():
    # The shell sends itself USR1 and becomes another program; unblocked, USR1 would end it.
    script = 'kill -USR1 $$; exec python3 -c "$0"'
    done = execute(BLOCK, "USR1", "--", "sh", "-c", script, SHOW)
    expect(done.stdout == "SIGUSR1\nSIGUSR1\n", done.stdout + done.stderr)


@case()
def only_the_named_signals_are_blocked():
    done = execute(BLOCK, "SIGUSR1", "TERM", "--", "python3", "-c", SHOW)
    expect(done.stdout == "SIGTERM SIGUSR1\n\n", done.stdout + done.stderr)
    done = subprocess.run([BLOCK, "USR1", "--", "sh", "-c", "kill -TERM $$"], check=False)
    expect(done.returncode == -signal.SIGTERM, f"exit code {done.returncode}")


@case()
def command_keeps_arguments_and_exit_code():
    done = execute(BLOCK, "USR1", "--", "sh", "-c", 'echo "$1"; exit 3', "x", "-- a b", code=3)
    expect(done.stdout == "-- a b\n", done.stdout)


@case()
def usage_errors_exit_with_64():
    for arguments, error in ((["KILL", "--", "true"], "unknown signal KILL"),
                             (["FOO", "--", "true"], "unknown signal FOO"),
                             (["--block", "--", "true"], "unknown signal --block"),
                             (["--", "true"], "no signal is named"),
                             ([], "no signal is named"),
                             (["USR1"], "no command after --"),
                             (["USR1", "--"], "no command after --")):
        done = execute(BLOCK, *arguments, code=64)
        expect(error in done.stderr and done.stdout == "", f"{arguments}: {done.stderr}")
    expect("Usage:" in execute(BLOCK, "--help").stdout, "--help")


@case()
def missing_command_exits_with_127():
    done = execute(BLOCK, "USR1", "--", "no-such-program", code=127)
    expect("cannot run no-such-program: No such file" in done.stderr, done.stderr)
    with tempfile.TemporaryDirectory(prefix="curtail-block-") as folder:
        file = Path(folder) / "not executable"
        file.touch()
        os.chmod(file, 0o644)
        done = execute(BLOCK, "USR1", "--", file, code=126)
        expect(f"cannot run {file}" in done.stderr, done.stderr)


if __name__ == "__main__":
    main()
