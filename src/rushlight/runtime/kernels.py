"""The kernels that this build of the runtime has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.runtime import _native

Shape = tuple[int, ...]
Written = Shape | list[Shape] | bool | int | float


def call_kernel(
    name: str, args: Sequence[Any], library: str | None = None, threads: int = 1
) -> list[Written]:
    """Calls one kernel and returns the shapes of the tensors that it wrote.

    Args:
        name: operator and overload, such as "aten::add.out".
        args: as the operator's schema has them, outs last. Tensors are torch tensors, numpy arrays or
            anything with DLPack, densely packed in some dim order. The kernel writes into the outs
            given; one that is larger than the result is resized: its first elements hold the result. dtypes
            and memory formats are torch's or their numbers.
        library: "portable", "optimized", "quantized" or the name of a loaded one; all if None, those loaded
            first, then the fastest.
        threads: how many threads the kernel may use.

    Returns:
        One shape per out tensor, a list of shapes per out list, the number for an out that is none of these,
        in the order of the arguments.

    Raises:
        OperatorMissingError: there is no such kernel.
        NotSupportedError: the kernel does not take the dtype of one of the tensors.
        RushlightError: the kernel failed; the message is its own.
    """
    return _native.call_kernel(name, args, library, threads)


def kernel_names(library: str | None = None) -> list[str]:
    """Names of the kernels, sorted: of one library, or of all."""
    return _native.kernel_names(library)


def kernel_table(library: str | None = None) -> str:
    """The kernels with the dtypes that each takes in its first tensor argument, one a line, such as
    `aten::add.out float32,float64`; no dtypes for a kernel without tensors."""
    return "".join(
        f"{name} {','.join(dtypes)}".rstrip() + "\n" for name, dtypes in _native.kernel_table(library)
    )
