"""Measures the sizes of builds beside their budgets: `python -m benchmarks.size`.

It needs arm-none-eabi-g++ and qemu-system-arm (`scripts/system-packages devices`).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from models.selective import BUDGETS, HOST_BUDGETS, KIB, device_sizes, host_sizes


def main() -> int:
    """Prints each size, and returns 1 if one is over its budget."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = device_sizes(Path(folder)) | host_sizes(Path(folder))
    budgets = BUDGETS | HOST_BUDGETS
    for name, size in sizes.items():
        print(f"{name:60} {size / KIB:7.1f} KiB of {budgets[name] / KIB:.1f}")
    return int(any(size > budgets[name] for name, size in sizes.items()))


if __name__ == "__main__":
    sys.exit(main())
