"""Lists the kernels of this runtime, and calls them."""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.runtime import _native

Shape = tuple[int, ...]
Written = Shape | list[Shape] | bool | int | float


def call_kernel(
    name: str, args: Sequence[object], library: str | None = None, threads: int = 1
) -> list[Written]:
    """Calls one kernel. The kernel writes its results to the out arguments.

    Args:
        name: the operator and overload, such as "aten::add.out".
        args: the arguments in the order of the operator's schema, with the out arguments at the end. Tensors
            are torch tensors, numpy arrays or other objects that support DLPack. They must be dense in some
            dim order. If an out tensor is larger than the result, its first elements contain the result.
            Dtypes and memory formats are objects of torch, or their numbers.
        library: the kernel library: "portable", "optimized", "quantized" or the name of a loaded library.
            None searches loaded libraries first, then the other libraries from the fastest to the slowest.
        threads: the number of threads that the kernel may use.

    Returns:
        An item for each out argument, in order: the shape of a tensor, a list of shapes for a list of
        tensors, or the value of a number.

    Raises:
        OperatorMissingError: there is no such kernel.
        NotSupportedError: the kernel does not support the dtype of a tensor.
        RushlightError: the kernel failed. The message is that of the kernel.
    """
    return _native.call_kernel(name, args, library, threads)


def kernel_names(library: str | None = None) -> list[str]:
    """Returns the sorted names of the kernels, such as "aten::add.out".

    Args:
        library: the name of a kernel library; None means all libraries.
    """
    return _native.kernel_names(library)


def kernel_table(library: str | None = None) -> str:
    """Returns a table of kernels and dtypes as text.

    Each line has one kernel, such as `aten::gather.out float32,float64 2:int64`. The first dtypes apply to
    all tensors of a call, including out arguments. Arguments with different dtypes follow, with their
    positions from 0. A kernel that supports any dtype has no dtypes. If several libraries have kernels for
    different dtypes of an operator, the operator has several lines.

    Args:
        library: the name of a kernel library; None means all libraries.
    """
    return "".join(
        " ".join([name, *(word for word in map(_dtypes, row) if word)]) + "\n"
        for name, row in _native.kernel_table(library)
    )


def _dtypes(item: tuple[Sequence[int], Sequence[str]]) -> str:
    """The dtypes of some arguments as text."""
    arguments, dtypes = item
    return (",".join(map(str, arguments)) + ":" if arguments else "") + ",".join(dtypes)
