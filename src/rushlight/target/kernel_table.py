"""What a target can run: operator names with the dtypes of their kernels.

The text form has one line per kernel, `aten::add.out float32,int64,...`; a line without dtypes stands for a
kernel that takes any. The dtype meant is that of the first tensor argument, or of the result where there is
none. Empty lines and what follows a `#` say nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from rushlight.target.host_kernels import host_kernels, loaded_kernels

Rows = Mapping[str, "frozenset[str] | None"]


@dataclass(frozen=True)
class KernelTable:
    """Kernels by operator name with overload; the dtypes are torch's names, None where any will do.

    With `trusts_unknown`, operators that have no kernel here are taken to have theirs elsewhere.
    """

    kernels: Rows = field(default_factory=dict)
    trusts_unknown: bool = False

    def __contains__(self, operator: str) -> bool:
        return operator in self.kernels

    def runs(self, operator: str, dtype: str | None) -> bool:
        """Whether a kernel for the operator takes the dtype."""
        if operator not in self.kernels:
            return self.trusts_unknown
        dtypes = self.kernels[operator]
        return dtypes is None or dtype is None or dtype in dtypes

    def dtypes(self, operator: str) -> frozenset[str] | None:
        """The dtypes that the operator's kernel takes, None for any."""
        return self.kernels[operator]

    def with_operators(self, operators: Iterable[str]) -> KernelTable:
        """This table and kernels of any dtype for `operators` such as `mine::op.out`, which the program will
        find where it runs."""
        return replace(self, kernels={**self.kernels, **dict.fromkeys(operators)})

    def with_table(self, other: KernelTable) -> KernelTable:
        """This table and the rows of another, such as one that describes a device's own kernels."""
        return replace(self, kernels=_union(self.kernels, other.kernels))


def parse_kernel_table(text: str) -> KernelTable:
    """Read the text form. Raises ValueError with the line number for a line that is not of it."""
    kernels: dict[str, frozenset[str] | None] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) > 2 or "::" not in words[0]:
            raise ValueError(f"line {number} of the kernel table is no `operator dtype,dtype`: {line!r}")
        dtypes = frozenset(words[1].split(",")) if len(words) == 2 else None
        known = kernels.get(words[0], frozenset())
        kernels[words[0]] = _either(known, dtypes)
    return KernelTable(kernels)


def _union(kernels: Rows, added: Rows) -> dict[str, frozenset[str] | None]:
    """All rows; a kernel of both takes the dtypes of either."""
    result = dict(kernels)
    for name, dtypes in added.items():
        result[name] = _either(result.get(name, frozenset()), dtypes)
    return result


def _either(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other


def read_kernel_table(path: str | Path) -> KernelTable:
    """Read a kernel table from a file."""
    return parse_kernel_table(Path(path).read_text(encoding="utf-8"))


@cache
def _built_in() -> KernelTable:
    return parse_kernel_table(host_kernels())


def host_kernel_table() -> KernelTable:
    """Returns the kernels of this package's own runtime, with those of the libraries loaded so far.

    After `install_as_executorch()`, operators that are not in the table are taken to have their kernels
    elsewhere, since ExecuTorch's compiler asks for no kernels. The import hook itself tells this.
    """
    trusts_unknown = any(getattr(finder, "stands_for_executorch", False) for finder in sys.meta_path)
    table = replace(_built_in(), trusts_unknown=trusts_unknown)
    loaded = loaded_kernels()
    return table.with_table(parse_kernel_table(loaded)) if loaded else table
