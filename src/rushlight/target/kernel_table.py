"""The kernels of a target: operator names with the dtypes that their kernels support.

The text form has one line for each kernel, such as `aten::gather.out float32,float64 2:int32,int64`. The line
contains the operator and the dtypes that the tensors of a call, including the outs, may have. Arguments with
other dtypes follow, with their positions counted from 0 (`1,2:bool,uint8`). A line without dtypes allows all
dtypes. If an operator has several lines, one of them must support all tensors of a call. Empty lines and text
after a `#` are ignored.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from rushlight.target.host_kernels import host_kernels, loaded_kernels

Dtypes = frozenset[str] | None
"""Dtype names of torch; None for all dtypes."""


@dataclass(frozen=True)
class KernelRow:
    """The dtypes that one kernel supports.

    Attributes:
        dtypes: the dtypes of all tensor arguments, including list items and outs.
        others: positions of arguments with other dtypes, and these dtypes.
    """

    dtypes: Dtypes = None
    others: tuple[tuple[frozenset[int], Dtypes], ...] = ()

    def dtypes_of(self, argument: int) -> Dtypes:
        """Returns the dtypes that the tensors of an argument may have."""
        return next((dtypes for positions, dtypes in self.others if argument in positions), self.dtypes)


@dataclass(frozen=True)
class DtypeMismatch:
    """A tensor argument that no kernel supports together with the arguments before it.

    Attributes:
        argument: the position of the argument.
        dtype: the dtype of the argument.
        taken: the dtypes of this argument that the kernel supports.
    """

    argument: int
    dtype: str
    taken: frozenset[str]


@dataclass(frozen=True)
class KernelTable:
    """The kernels of a target.

    Attributes:
        kernels: the rows by operator name with overload.
        trusts_unknown: assume that the target has kernels for all operators that are not in this table.
    """

    kernels: Mapping[str, tuple[KernelRow, ...]] = field(default_factory=dict)
    trusts_unknown: bool = False

    def __contains__(self, operator: str) -> bool:
        return operator in self.kernels

    def mismatch(self, operator: str, dtypes: Sequence[tuple[int, str]]) -> DtypeMismatch | None:
        """Returns the first argument that no kernel supports; None if a kernel supports all arguments.

        Args:
            operator: the name of an operator in this table.
            dtypes: the position and the dtype of each tensor argument, in the order of the positions.
        """
        nearest: DtypeMismatch | None = None
        for row in self.kernels[operator]:
            found = _first_mismatch(row, dtypes)
            if found is None:
                return None
            if nearest is None or found.argument > nearest.argument:
                nearest = found
        return nearest

    def with_operators(self, operators: Iterable[str]) -> KernelTable:
        """Returns this table with additional kernels, which support all dtypes.

        Args:
            operators: operators such as `mine::op.out`, for which the runtime must have kernels.
        """
        return replace(self, kernels={**self.kernels, **dict.fromkeys(operators, (KernelRow(),))})

    def with_table(self, other: KernelTable) -> KernelTable:
        """Returns this table with the rows of another table, for example of a device's own kernels."""
        kernels = dict(self.kernels)
        for name, rows in other.kernels.items():
            kernels[name] = tuple(dict.fromkeys((*kernels.get(name, ()), *rows)))
        return replace(self, kernels=kernels)


def _first_mismatch(row: KernelRow, dtypes: Sequence[tuple[int, str]]) -> DtypeMismatch | None:
    for argument, dtype in dtypes:
        taken = row.dtypes_of(argument)
        if taken is not None and dtype not in taken:
            return DtypeMismatch(argument, dtype, taken)
    return None


def parse_kernel_table(text: str) -> KernelTable:
    """Parses the text form of a kernel table.

    Raises:
        ValueError: a line has another form. The message has the number of the line.
    """
    kernels: dict[str, tuple[KernelRow, ...]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        row = _parse_row(words[1:])
        if "::" not in words[0] or row is None:
            raise ValueError(
                f"line {number} of the kernel table does not have the form "
                f"`operator dtype,dtype argument:dtype`: {line!r}"
            )
        kernels[words[0]] = (*kernels.get(words[0], ()), row)
    return KernelTable(kernels)


def _parse_row(words: Sequence[str]) -> KernelRow | None:
    """Returns the row for the words after the operator; None if the words have another form."""
    dtypes: Dtypes = None
    if words and ":" not in words[0]:
        dtypes, words = frozenset(words[0].split(",")), words[1:]
    others = []
    for word in words:
        positions, colon, names = word.partition(":")
        if not colon or not all(position.isdecimal() for position in positions.split(",")):
            return None
        others.append(
            (frozenset(map(int, positions.split(","))), frozenset(names.split(",")) if names else None)
        )
    return KernelRow(dtypes, tuple(others))


def read_kernel_table(path: str | Path) -> KernelTable:
    """Reads a kernel table from a file.

    Raises:
        ValueError: a line is not in the text form of kernel tables. The message names the file.
        OSError: the file cannot be read.
    """
    try:
        return parse_kernel_table(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


@cache
def _built_in() -> KernelTable:
    return parse_kernel_table(host_kernels())


def host_kernel_table() -> KernelTable:
    """Returns the kernels of this package's runtime and of the libraries loaded so far.

    After `install_as_executorch()`, the table accepts operators without a kernel (`trusts_unknown`), because
    ExecuTorch's compiler does not check kernels.
    """
    trusts_unknown = any(getattr(finder, "stands_for_executorch", False) for finder in sys.meta_path)
    table = replace(_built_in(), trusts_unknown=trusts_unknown)
    loaded = loaded_kernels()
    return table.with_table(parse_kernel_table(loaded)) if loaded else table
