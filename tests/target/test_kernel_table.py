"""The table of the operators and dtypes that a target has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rushlight.emit.errors import UnsupportedOperatorsError
from rushlight.ir.report import Refusal
from rushlight.target.kernel_table import (
    DtypeMismatch,
    KernelRow,
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
aten::gather.out float32,float64 2:int32,int64
aten::where.self_out float32 0:bool,uint8 1,2:
"""


def test_a_table_is_read_from_text(tmp_path: Path) -> None:
    path = tmp_path / "kernels.txt"
    path.write_text(TEXT)
    table = read_kernel_table(path)
    assert table == parse_kernel_table(TEXT)
    assert [row.dtypes for row in table.kernels["aten::add.out"]] == [{"float32", "int64"}, {"float64"}]
    assert table.kernels["aten::copy_"] == (KernelRow(),)
    (gather,) = table.kernels["aten::gather.out"]
    assert gather.dtypes_of(2) == {"int32", "int64"} and gather.dtypes_of(3) == {"float32", "float64"}
    (where,) = table.kernels["aten::where.self_out"]
    assert where.dtypes_of(0) == {"bool", "uint8"} and where.dtypes_of(2) is None


FLOATS = frozenset({"float32", "float64"})


@pytest.mark.parametrize(
    "operator, dtypes, mismatch",
    [
        ("aten::add.out", ["float32", "float32", "float32"], None),
        ("aten::add.out", ["float32", "int64", "float32"], None),
        ("aten::add.out", ["float64", "float64", "float64"], None),
        (
            "aten::add.out",
            ["float32", "float64", "float32"],
            DtypeMismatch(1, "float64", frozenset({"float32", "int64"})),
        ),
        ("aten::add.out", [], None),
        ("aten::sym_size.int", ["float16"], None),
        ("aten::gather.out", ["float32", "", "int32", "float32"], None),
        (
            "aten::gather.out",
            ["float32", "", "int16", "float32"],
            DtypeMismatch(2, "int16", frozenset({"int32", "int64"})),
        ),
        ("aten::gather.out", ["float32", "", "int64", "int64"], DtypeMismatch(3, "int64", FLOATS)),
        ("aten::where.self_out", ["bool", "int8", "int8", "float32"], None),
    ],
)
def test_what_a_table_runs(operator: Any, dtypes: list[str], mismatch: DtypeMismatch | None) -> None:
    given = [(position, dtype) for position, dtype in enumerate(dtypes) if dtype]
    assert parse_kernel_table(TEXT).mismatch(operator, given) == mismatch


def test_operators_can_be_added() -> None:
    table = parse_kernel_table(TEXT).with_operators(["mine::op.out", "aten::add.out"])
    assert table.mismatch("mine::op.out", [(0, "float32")]) is None
    assert table.mismatch("aten::add.out", [(0, "bool")]) is None


def test_a_table_and_another() -> None:
    table = parse_kernel_table(TEXT).with_table(parse_kernel_table("aten::add.out bool\nmine::op.out\n"))
    assert table.mismatch("aten::add.out", [(0, "bool"), (1, "bool")]) is None
    assert table.mismatch("aten::add.out", [(0, "float64")]) is None
    assert "mine::op.out" in table and "aten::gather.out" in table


def test_the_host_runs_what_it_is_made_for() -> None:
    host = host_kernel_table()
    convolution = "aten::convolution.out"
    assert host.mismatch(convolution, [(0, "float32"), (1, "float32")]) is None
    assert host.mismatch(convolution, [(0, "bool")]) is not None
    assert len(host.kernels) > 200


@pytest.mark.parametrize(
    "line",
    [
        "add.out float32",
        "aten::add.out float32 int64",
        "aten::add.out one:int64",
        "aten::add.out int8 :int64",
    ],
)
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
