"""The native runtime: loads .pte files and runs them. Imports no torch."""

from __future__ import annotations

from rushlight.runtime.kernels import call_kernel, kernel_names

__all__ = ["call_kernel", "kernel_names"]
