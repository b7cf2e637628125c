"""What a target can run: operator names with the dtypes of their kernels.

The text form has one line per kernel, `aten::add.out float32,int64,...`; a line without dtypes stands for a
kernel that takes any. The dtype meant is that of the first tensor argument, or of the result where there is
none. Empty lines and what follows a `#` say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from rushlight.codegen.kernel_table import host_kernels


@dataclass(frozen=True)
class KernelTable:
    """Kernels by operator name with overload; the dtypes are torch's names, None where any will do.

    A table speaks of the operator libraries (`aten`) that it has kernels of; any other is taken
    to be the user's own.
    """

    kernels: Mapping[str, frozenset[str] | None] = field(default_factory=dict)

    def __contains__(self, operator: str) -> bool:
        return operator in self.kernels

    def runs(self, operator: str, dtype: str | None) -> bool:
        """Whether a kernel for the operator takes the dtype, so far as this table speaks of its library."""
        if operator not in self.kernels:
            return operator.split("::")[0] not in self.libraries
        dtypes = self.kernels[operator]
        return dtypes is None or dtype is None or dtype in dtypes

    @cached_property
    def libraries(self) -> frozenset[str]:
        """The operator libraries of which there are kernels, such as `aten`."""
        return frozenset(name.split("::")[0] for name in self.kernels)

    def dtypes(self, operator: str) -> frozenset[str] | None:
        """The dtypes that the operator's kernel takes, None for any."""
        return self.kernels[operator]

    def with_operators(self, operators: Iterable[str]) -> KernelTable:
        """This table and kernels of any dtype for `operators`, such as a user's own."""
        return KernelTable({**self.kernels, **dict.fromkeys(operators)})


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
        kernels[words[0]] = None if dtypes is None or known is None else dtypes | known
    return KernelTable(kernels)


def read_kernel_table(path: str | Path) -> KernelTable:
    """Read a kernel table from a file."""
    return parse_kernel_table(Path(path).read_text(encoding="utf-8"))


@cache
def host_target() -> KernelTable:
    """The kernels that this package's own runtime has."""
    return parse_kernel_table(host_kernels())
