"""Jobs in forked processes: the results of jobs that raise, crash or exceed the time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, os, sys, time
from tests.torture.pool import Death, run_jobs

def work(job):
    if job == "raises":
        raise ValueError("of the job")
    if job == "crashes":
        os.abort()
    if job == "hangs":
        time.sleep(60)
    if job == "sanitizer":
        os.write(2, b"==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1234")
    return job.upper()

for job, made in run_jobs(sys.argv[1:], work, workers=2, batch=3, seconds=2.0):
    print(json.dumps([job, [made.reason, made.message] if isinstance(made, Death) else made]))
"""


def results(*jobs: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *jobs], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(jobs)
    return dict(lines)


def test_a_bad_job_costs_no_other_job() -> None:
    jobs = ("a", "crashes", "b", "raises", "hangs", "c", "sanitizer", "d")
    assert results(*jobs) == {
        "a": "A",
        "b": "B",
        "c": "C",
        "d": "D",
        "crashes": ["crash", signal.Signals(signal.SIGABRT).name],
        "raises": ["harness", "ValueError: of the job"],
        "hangs": ["hang", "no end within the time limit"],
        "sanitizer": ["sanitizer", "ERROR: AddressSanitizer: heap-use-after-free on address"],
    }


def test_no_process_is_left() -> None:
    before = set(os.listdir("/proc")) if os.path.exists("/proc") else set()
    results("a", "hangs")
    after = set(os.listdir("/proc")) if os.path.exists("/proc") else set()
    mine = [p for p in after - before if p.isdigit() and _parent(p) == os.getpid()]
    assert not mine


def _parent(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0
