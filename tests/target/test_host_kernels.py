"""The kernel table of the compiler is equal to that of the runtime."""

from __future__ import annotations

import subprocess
import sys

from rushlight.target.host_kernels import host_kernels
from rushlight.target.kernel_table import parse_kernel_table


def present_table() -> str:
    """Returns the table of a separate process, because other tests load libraries of kernels."""
    code = "from rushlight.runtime.kernels import kernel_table; print(kernel_table(), end='')"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_the_table_is_up_to_date() -> None:
    stored, present = host_kernels().splitlines(), present_table().splitlines()
    command = "run `rushlight kernels > src/rushlight/target/kernels.txt`"
    assert [line for line in present if line not in stored] == [], command
    assert [line for line in stored if line not in present] == [], command


def test_the_compiler_reads_it() -> None:
    table = parse_kernel_table(host_kernels())
    assert table.mismatch("aten::add.out", [(0, "float32"), (1, "float32")]) is None
    assert table.mismatch("aten::add.out", [(0, "qint8")]) is not None
    assert "aten::absent.out" not in table
