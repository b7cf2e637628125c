"""Runs a program many times and fails if the memory of the process grows: `python -m tests.soak [CALLS]`.

It also loads and frees a method every hundred calls.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from rushlight.runtime import Runtime

GOLDEN = Path(__file__).parent / "golden" / "programs" / "0.1.0"
NAMES = ("loops-kernels", "rows-cpu-avx2", "rows-xnnpack", "state-cpu-avx2")
ALLOWED = 2 << 20  # allowed growth in bytes after the first hundredth of the calls


def resident() -> int:
    """Returns the resident memory of the process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS in /proc/self/status")


def main(calls: int) -> int:
    """Runs all programs. Returns 0 if the memory of the process did not grow."""
    failed = 0
    for name in NAMES:
        program = Runtime.get().load_program(GOLDEN / f"{name}.pte", threads=1)
        arrays = np.load(GOLDEN / f"{name}.npz")
        inputs = [arrays[key] for key in sorted(arrays) if key.startswith("0.input.")]
        share = calls // len(NAMES)
        start = 0
        for call in range(share):
            if call % 100 == 0:
                method = program.load_method("forward")
            method.execute(inputs)
            if call == share // 100:
                start = resident()
        grown = resident() - start
        failed |= grown > ALLOWED
        print(f"{name}: {share} calls, {grown / 1024:.0f} KiB more memory", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
