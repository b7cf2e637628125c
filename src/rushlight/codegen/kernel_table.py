"""The kernels of the runtime that this package builds, as text: operator and dtypes, one kernel a line."""

from __future__ import annotations

from importlib import resources


def host_kernels() -> str:
    """The table, such as `aten::add.out float32,float64`; written by `rushlight kernels`."""
    return resources.files("rushlight.codegen").joinpath("kernels.txt").read_text(encoding="utf-8")


def loaded_kernels() -> str:
    """The same for the shared libraries that `rushlight.runtime.load_library` has loaded in this process."""
    from rushlight.runtime.kernels import kernel_table
    from rushlight.runtime.libraries import loaded_libraries

    return "".join(kernel_table(library.name) for library in loaded_libraries())
