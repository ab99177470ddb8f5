"""Runs programs for gpu-check: each with a time limit and its output in one
text, several at once.
"""

import collections
import concurrent.futures
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

OUTPUT_MOST = 40000  # characters of one program that are kept
STACK_SECONDS = 25

_debugging = threading.Lock()  # cuda-gdb runs once at a time

Result = collections.namedtuple("Result", "code seconds output timed_out")


class Clock:
    """What is left of the time that everything together may take."""

    def __init__(self, limit):
        self.start = time.monotonic()
        self.limit = limit

    def spent(self):
        return time.monotonic() - self.start

    def left(self):
        return self.limit - self.spent() if self.limit else float("inf")

    def share(self, fraction):
        """A clock for a part of what is left."""
        return Clock(self.left() * fraction if self.limit else 0)


def shorten(text):
    if len(text) <= OUTPUT_MOST:
        return text
    half = OUTPUT_MOST // 2
    return f"{text[:half]}\n[...]\n{text[-half:]}"


def _stacks(process):
    """Where the threads of a process are, if there is a debugger."""
    debugger = shutil.which("gdb") or shutil.which("cuda-gdb")
    if not debugger:
        return "no debugger to ask where it is\n"
    command = [debugger, "-batch", "-p", str(process.pid),
               "-ex", "thread apply all bt"]
    try:
        with _debugging:
            if process.poll() is not None:
                return ""
            ended = subprocess.run(command, stdin=subprocess.DEVNULL,
                                   capture_output=True, text=True,
                                   timeout=STACK_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"the debugger did not say where it is: {problem}\n"
    lines = [line for line in ended.stdout.splitlines()
             if line.startswith(("Thread ", "#"))]
    return "\n".join(lines) + "\n"


def _end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run(command, limit, environment=None, wants_stacks=lambda: False):
    """The program's Result; what it leaves running is ended with it. Where
    wants_stacks() says so, what takes too long is asked where it is."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, env=environment,
                start_new_session=True)
        except OSError as problem:
            return Result(127, 0.0, f"{command[0]}: {problem}\n", False)
        stacks = ""
        timed_out = False
        try:
            process.wait(max(limit, 0.1))
            seconds = time.monotonic() - started
        except subprocess.TimeoutExpired:
            timed_out = True
            seconds = time.monotonic() - started
            stacks = _stacks(process) if wants_stacks() else ""
            # It may have come to its end while others were asked.
            timed_out = process.poll() is None
        _end(process)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Result(process.returncode, seconds, shorten(text) + stacks,
                  timed_out)


def several(jobs, items, work, done):
    """Calls `work` for each item on `jobs` threads, and `done(item, what it
    returned)` on this one, in the order in which they end."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(work, item): item for item in items}
        for future in concurrent.futures.as_completed(waiting):
            done(waiting[future], future.result())


def signal_name(code):
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
