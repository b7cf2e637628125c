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
    assert table.runs("aten::add.out", "float32")
    assert not table.runs("aten::add.out", "qint8")
    assert not table.runs("aten::absent.out", "float32")
