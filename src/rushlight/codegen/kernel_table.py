"""The kernels of the runtime that this package builds, as text: operator and dtypes, one kernel a line."""

from __future__ import annotations

from importlib import resources


def host_kernels() -> str:
    """The table, such as `aten::add.out float32,float64`; written by `rushlight kernels`."""
    return resources.files("rushlight.codegen").joinpath("kernels.txt").read_text(encoding="utf-8")
