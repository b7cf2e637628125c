"""Measures the sizes of builds and compares them with budgets: `python -m benchmarks.size [--wheel FILE]`.

`pip wheel . --no-deps` writes the wheel. Without --wheel, its size is not checked. The other measurements
need arm-none-eabi-g++ and qemu-system-arm (`scripts/system-packages devices`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from models.selective import BUDGETS, HOST_BUDGETS, KIB, device_sizes, host_sizes

WHEEL_BUDGET = 4_000_000  # bytes


def main() -> int:
    """Prints each size, and returns 1 if a size exceeds its budget."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wheel", type=Path, help="a wheel of the package")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = device_sizes(Path(folder)) | host_sizes(Path(folder))
    budgets = BUDGETS | HOST_BUDGETS
    if options.wheel:
        sizes["wheel"], budgets["wheel"] = options.wheel.stat().st_size, WHEEL_BUDGET
    for name, size in sizes.items():
        print(f"{name:60} {size / KIB:7.1f} KiB of {budgets[name] / KIB:.1f}")
    return int(any(size > budgets[name] for name, size in sizes.items()))


if __name__ == "__main__":
    sys.exit(main())
