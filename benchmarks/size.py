"""Measures the sizes of builds for devices beside their budgets: `python -m benchmarks.size`.

It needs arm-none-eabi-g++ and qemu-system-arm (`scripts/system-packages devices`).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from models.selective import BUDGETS, KIB, device_sizes


def main() -> int:
    """Prints each size, and returns 1 if one is over its budget."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = device_sizes(Path(folder))
    for name, size in sizes.items():
        print(f"{name:56} {size / KIB:7.1f} KiB of {BUDGETS[name] / KIB:.0f}")
    return int(any(size > BUDGETS[name] for name, size in sizes.items()))


if __name__ == "__main__":
    sys.exit(main())
