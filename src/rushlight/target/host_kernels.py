"""The runtime's kernels as text: each line has an operator and the dtypes of its arguments."""

from __future__ import annotations

import sys
from importlib import resources


def host_kernels() -> str:
    """Returns the table, with lines such as `aten::add.out float32,float64`.

    `rushlight kernels` prints it.
    """
    return resources.files("rushlight.target").joinpath("kernels.txt").read_text(encoding="utf-8")


def loaded_kernels() -> str:
    """Returns the kernels of the shared libraries that `rushlight.runtime.load_library` has loaded."""
    if "rushlight.runtime.libraries" not in sys.modules:
        return ""  # No library can be loaded without the native runtime, which a compile does not need.
    from rushlight.runtime.kernels import kernel_table
    from rushlight.runtime.libraries import loaded_libraries

    return "".join(kernel_table(library.name) for library in loaded_libraries())
