from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rushlight.emit.errors import UnsupportedOperatorsError
from rushlight.ir.report import Refusal
from rushlight.target.kernel_table import (
    KernelTable,
    host_kernel_table,
    parse_kernel_table,
    read_kernel_table,
)

TEXT = """
# the portable library
aten::add.out float32,int64
aten::sym_size.int          # any
aten::add.out float64
aten::copy_
"""


def test_a_table_is_read_from_text(tmp_path: Path) -> None:
    path = tmp_path / "kernels.txt"
    path.write_text(TEXT)
    table = read_kernel_table(path)
    assert table == parse_kernel_table(TEXT)
    assert table.dtypes("aten::add.out") == {"float32", "float64", "int64"}
    assert table.dtypes("aten::copy_") is None


@pytest.mark.parametrize(
    "operator, dtype, runs",
    [
        ("aten::add.out", "float32", True),
        ("aten::add.out", "bool", False),
        ("aten::add.out", None, True),
        ("aten::sym_size.int", "float16", True),
        ("aten::mul.out", "float32", False),
    ],
)
def test_what_a_table_runs(operator: Any, dtype: str | None, runs: Any) -> None:
    assert parse_kernel_table(TEXT).runs(operator, dtype) is runs


def test_operators_can_be_added() -> None:
    table = KernelTable().with_operators(["mine::op.out"])
    assert table.runs("mine::op.out", "float32") and "mine::op.out" in table


def test_operators_may_be_trusted() -> None:
    table = KernelTable({"aten::add.out": frozenset({"float32"})}, trusts_unknown=True)
    assert table.runs("aten::addbmm.out", "float32") and table.runs("mine::op.out", None)
    assert "aten::addbmm.out" not in table and not table.runs("aten::add.out", "bool")


def test_the_host_runs_what_it_is_made_for() -> None:
    host = host_kernel_table()
    assert host.runs("aten::convolution.out", "float32") and not host.runs("aten::convolution.out", "bool")
    assert len(host.kernels) > 200


@pytest.mark.parametrize("line", ["add.out float32", "aten::add.out float32 int64"])
def test_other_lines_are_refused(line: Any) -> None:
    with pytest.raises(ValueError, match="line 2 of the kernel table"):
        parse_kernel_table(f"\n{line}\n")


def test_refusals_are_one_table() -> None:
    error = UnsupportedOperatorsError(
        "forward",
        [
            Refusal("aten::fft.out", "complex64", "model.py:3: y = fft(x)", "delegate it"),
            Refusal("aten::add.out", "bool", "model.py:4: y + y", "cast to one of float32"),
        ],
    )
    lines = str(error).splitlines()
    assert lines[0] == "method 'forward' needs kernels that the target does not have"
    assert lines[1].split() == ["operator", "dtypes", "source", "what", "would", "help"]
    assert lines[3].index("complex64") == lines[4].index("bool") == lines[1].index("dtypes")
    assert lines[4].endswith("cast to one of float32")
