"""The kernels of this package's runtime, as text in the format of `kernel_table.py`."""

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
        return ""  # No library is loaded. The import would load the native runtime, which compilation avoids.
    from rushlight.runtime.kernels import kernel_table
    from rushlight.runtime.libraries import loaded_libraries

    return "".join(kernel_table(library.name) for library in loaded_libraries())
