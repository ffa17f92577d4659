# SPDX-License-Identifier: Apache-2.0
"""Runs commands under curtail-forward-stop."""
import signal
import subprocess
import time

from harness import alive, case, execute, expect, kill, main, program, wait_for

FORWARD = program("curtail-forward-stop")
# Reports its blocked signals and each signal that it handles; after that many, it exits with 70.
COUNT = """import os, signal, sys, time
def say(text): os.write(1, (text + "\\n").encode())
seen = []
def caught(number, _):
    seen.append(number)
    say(signal.Signals(number).name)
blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, caught)
say("ready %d %s" % (os.getpid(), sorted(s.name for s in blocked)))
while len(seen) < int(sys.argv[1]): time.sleep(0.01)
sys.exit(70)
"""


class Command:
    """`command` under curtail-forward-stop, started with the process's own signal mask."""

    def __init__(self, *command):
        self.process = subprocess.Popen([FORWARD, *command], text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self):
        """Exit code, the rest of the output and stderr."""
        output, errors = self.process.communicate(timeout=15)
        return self.process.returncode, output, errors


def count(signals):
    return Command("python3", "-c", COUNT, str(signals))


@case()
def term_arrives_as_usr2_and_usr1_unchanged():
    for number, name in ((signal.SIGTERM, "SIGUSR2"), (signal.SIGUSR1, "SIGUSR1")):
        with count(1) as command:
            ready = command.line()
            expect(ready.endswith("['SIGTERM']"), f"the command blocks other signals: {ready}")
            kill(command.process.pid, number)
            code, output, errors = command.end()
            expect((code, output) == (70, name + "\n"), f"{number}: {code} {output} {errors}")


@case(seconds=4)
def lost_stop_is_repeated():
    with count(3) as command:
        command.line()
        kill(command.process.pid, signal.SIGTERM)
        expect(command.end()[:2] == (70, "SIGUSR2\n" * 3), "the command did not get three signals")


@case()
def term_to_all_processes_does_not_end_the_command():
    with count(1) as command:
        own = int(command.line().split()[1])
        kill(own, signal.SIGTERM)
        kill(command.process.pid, signal.SIGTERM)
        code, output, _ = command.end()
        expect((code, output) == (70, "SIGUSR2\n"), f"exit code {code}: {output}")


@case()
def interrupt_and_hangup_arrive_unchanged():
    for name in ("SIGINT", "SIGHUP"):
        with count(1) as command:
            command.line()
            kill(command.process.pid, signal.Signals[name])
            expect(command.end()[:2] == (70, f"{name}\n"), f"{name} did not arrive")


@case()
def command_without_a_handler_ends_cleanly():
    with Command("sleep", "60") as command:
        started = lambda: execute("pgrep", "-P", command.process.pid, "-x", "sleep", code=None)
        wait_for(lambda: started().stdout, "sleep")
        kill(command.process.pid, signal.SIGTERM)
        code, _, errors = command.end()
        expect(code == 0 and "there was nothing to save" in errors, f"{code}: {errors}")


@case()
def command_dies_with_a_killed_program():
    with count(1) as command:
        own = int(command.line().split()[1])
        kill(command.process.pid, signal.SIGKILL)
        wait_for(lambda: not alive(own), "the end of the command")


@case()
def exit_code_is_the_command_s():
    for script, code, message in (("exit 0", 0, ""), ("exit 70", 70, ""),
                                  ("exit 63", 69, "the folder TMPDIR has no space\n"),
                                  ("exit 64", 64, ""), ("exit 126", 126, "sh: exit code 126\n"),
                                  ("kill -SEGV $$", 139, "signal 11 (Segmentation fault)\n"),
                                  ("exit 137", 69,
                                   "signal 9 (Killed) ended one of its processes\n")):
        done = execute(FORWARD, "sh", "-c", script, code=code)
        expect(done.stderr.endswith(message) and bool(done.stderr) == bool(message),
               f"{script}: {done.stderr}")
    done = execute(FORWARD, "sh", "-c", 'echo "$1"', "x", "-- a b")
    expect(done.stdout == "-- a b\n", done.stdout)
    done = execute(FORWARD, "no-such-program", code=127)
    expect("no-such-program: No such file" in done.stderr, done.stderr)


@case()
def a_process_that_a_stop_request_ended_had_not_begun():
    """mpirun exits with 128 + N if signal N has ended a rank. A rank that trains survives it."""
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
        exits = f"trap 'exit {128 + number}' USR2; echo ready; while :; do sleep 0.01; done"
        with Command("sh", "-c", exits) as command:
            command.line()
            kill(command.process.pid, signal.SIGTERM)
            code, _, errors = command.end()
            expect(code == 0 and "there was nothing to save" in errors, f"{code}: {errors}")
        execute(FORWARD, "sh", "-c", f"exit {128 + number}", code=69)


LEAVES_ONE = """import os, subprocess, sys, time
left = subprocess.Popen(["sleep", "300"])
if os.fork() == 0: os._exit(0)
print(left.pid, flush=True)
time.sleep(300)
"""


@case(seconds=22)
def a_command_that_ignores_the_end_of_its_process_is_ended():
    with Command("python3", "-c", LEAVES_ONE) as command:
        left = int(command.line())
        began = time.monotonic()
        _, errors = command.process.communicate(timeout=40)
        expect(command.process.returncode == 69 and "TMPDIR has space" in errors, errors)
        expect(time.monotonic() - began > 15, "a busy machine may be slow")
        wait_for(lambda: not alive(left), "the end of its other process")


@case()
def usage_errors_exit_with_64():
    for arguments in ([], ["--block", "true"]):
        expect("--help" in execute(FORWARD, *arguments, code=64).stderr, arguments)
    expect("Usage:" in execute(FORWARD, "--help").stdout, "--help")


if __name__ == "__main__":
    main()
