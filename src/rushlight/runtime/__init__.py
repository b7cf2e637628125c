"""The native runtime, which loads and runs .pte files. This package does not import torch."""

from __future__ import annotations

from rushlight.runtime._native import Method, MethodMeta, TensorInfo
from rushlight.runtime.bundled import BundledModule
from rushlight.runtime.errors import RushlightError
from rushlight.runtime.kernels import call_kernel, kernel_names
from rushlight.runtime.libraries import Library, load_library, loaded_libraries
from rushlight.runtime.module import Module, load
from rushlight.runtime.program import BackendRegistry, OperatorRegistry, Program, Runtime, Verification

__all__ = [
    "BackendRegistry",
    "BundledModule",
    "Library",
    "Method",
    "MethodMeta",
    "Module",
    "OperatorRegistry",
    "Program",
    "Runtime",
    "RushlightError",
    "TensorInfo",
    "Verification",
    "call_kernel",
    "kernel_names",
    "load",
    "load_library",
    "loaded_libraries",
]
