"""Runs jobs in forked processes. A process runs a batch of jobs; a crash affects only one job."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SANITIZER = re.compile(r"ERROR: \w+Sanitizer|runtime error:|WARNING: \w+Sanitizer")


@dataclass
class Death:
    """A job without a result. reason: crash, hang, sanitizer, or harness if the job raised an exception."""

    reason: str
    message: str
    text: str = ""


@dataclass
class _Child:
    """A process that runs a batch of jobs.

    Attributes:
        pid: the id of the process.
        pipe: the file descriptor from which the results are read, one line of JSON for each job.
        errors: the file with the output of the process.
        jobs: the jobs, in order.
        done: the number of jobs whose result was read.
        buffer: the start of a line that was read without its end.
        since: the time at which the current job began, in seconds of the monotonic clock.
        killed: whether the process was killed because a job took too long.
    """

    pid: int
    pipe: int
    errors: Path
    jobs: list[Any]
    done: int = 0
    buffer: bytes = b""
    since: float = field(default_factory=time.monotonic)
    killed: bool = False

    def kill_after(self, seconds: float) -> None:
        """Kills the process if its current job has taken longer than `seconds`."""
        if not self.killed and time.monotonic() - self.since > seconds:
            self.killed = True
            os.kill(self.pid, signal.SIGKILL)

    def take_results(self, data: bytes) -> Iterator[tuple[Any, Any]]:
        """Yields the jobs whose results end in `data`, which was read from the pipe, with their results."""
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            yield self.jobs[self.done], _result(json.loads(line))
            self.done += 1
            self.since = time.monotonic()


def run_jobs(
    jobs: Sequence[Any],
    work: Callable[[Any], Any],
    *,
    workers: int = 2,
    batch: int = 20,
    seconds: float = 120.0,
) -> Iterator[tuple[Any, Any]]:
    """Yields each job with its result, in the order of completion.

    The result is the return value of `work(job)` after conversion to JSON, or a Death.

    Args:
        jobs: the jobs, which may be any values.
        work: computes the result of a job, in a process of its own.
        workers: the number of processes that run at a time.
        batch: the number of jobs that a process runs.
        seconds: the time limit for a job. If it is exceeded, the process is killed.
    """
    children: list[_Child] = []
    try:
        yield from _run_jobs(list(reversed(jobs)), children, work, workers, batch, seconds)
    finally:
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
            _end(child)


def _run_jobs(
    waiting: list[Any],
    children: list[_Child],
    work: Callable[[Any], Any],
    workers: int,
    batch: int,
    seconds: float,
) -> Iterator[tuple[Any, Any]]:
    while waiting or children:
        while waiting and len(children) < workers:
            taken = [waiting.pop() for _ in range(min(batch, len(waiting)))]
            children.append(_start(taken, work))
        ready, _, _ = select.select([c.pipe for c in children], [], [], 0.5)
        for child in list(children):
            if child.pipe not in ready:
                child.kill_after(seconds)
                continue
            data = os.read(child.pipe, 1 << 16)
            if data:
                yield from child.take_results(data)
                continue
            # The process has ended. If a job ended it, a new process runs the jobs after this one.
            children.remove(child)
            death = _end(child)
            if child.done < len(child.jobs):
                yield child.jobs[child.done], death
                waiting += reversed(child.jobs[child.done + 1 :])


def _result(message: dict[str, Any]) -> Any:
    if "sanitizer" in message:
        return Death("sanitizer", _headline(message["sanitizer"]), message["sanitizer"])
    if "failed" in message:
        return Death("harness", message["failed"].strip().splitlines()[-1], message["failed"])
    return message["result"]


def _start(jobs: list[Any], work: Callable[[Any], Any]) -> _Child:
    reader, writer = os.pipe()
    handle, name = tempfile.mkstemp(prefix="torture-", suffix=".err")
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(writer)
        os.close(handle)
        return _Child(pid, reader, Path(name), jobs)
    try:
        os.close(reader)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        with os.fdopen(writer, "wb", buffering=0) as pipe:
            for job in jobs:
                start = os.fstat(handle).st_size
                try:
                    message: dict[str, Any] = {"result": work(job)}
                except Exception:
                    message = {"failed": traceback.format_exc()}
                text = _since(name, start)
                if SANITIZER.search(text):
                    message = {"sanitizer": text}
                pipe.write(json.dumps(message).encode() + b"\n")
    finally:
        os._exit(0)


def _since(name: str, start: int) -> str:
    """Returns the text that this process has written to a file from byte `start` on."""
    sys.stdout.flush()
    sys.stderr.flush()
    with open(name, "rb") as file:
        file.seek(start)
        return file.read(100_000).decode(errors="replace")


def _end(child: _Child) -> Death:
    """Waits for the end of a process, and returns what is known about its last job."""
    os.close(child.pipe)
    _, status = os.waitpid(child.pid, 0)
    text = child.errors.read_bytes()[-100_000:].decode(errors="replace")
    child.errors.unlink()
    if child.killed:
        return Death("hang", "no end within the time limit", text)
    if SANITIZER.search(text):
        return Death("sanitizer", _headline(text), text)
    if os.WIFSIGNALED(status):
        return Death("crash", signal.Signals(os.WTERMSIG(status)).name, text)
    return Death("crash", f"exit status {os.WEXITSTATUS(status)}", text)


def _headline(text: str) -> str:
    found = next((line for line in text.splitlines() if SANITIZER.search(line)), "")
    return re.sub(r"0x[0-9a-f]+|==\d+==", "", found).strip()[:300]
