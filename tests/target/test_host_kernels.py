"""The kernel table that the compiler reads is that of the runtime."""

from __future__ import annotations

from rushlight.runtime.kernels import kernel_table
from rushlight.target.host_kernels import host_kernels
from rushlight.target.kernel_table import parse_kernel_table


def test_the_table_is_up_to_date() -> None:
    stored, present = host_kernels().splitlines(), kernel_table().splitlines()
    command = "run `rushlight kernels > src/rushlight/target/kernels.txt`"
    assert [line for line in present if line not in stored] == [], command
    assert [line for line in stored if line not in present] == [], command


def test_the_compiler_reads_it() -> None:
    table = parse_kernel_table(host_kernels())
    assert table.mismatch("aten::add.out", [(0, "float32"), (1, "float32")]) is None
    assert table.mismatch("aten::add.out", [(0, "qint8")]) is not None
    assert "aten::absent.out" not in table
