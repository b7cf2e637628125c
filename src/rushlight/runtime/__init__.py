"""The native runtime, which loads and runs .pte files. Does not import torch."""

from __future__ import annotations

from rushlight.runtime._native import Method, MethodMeta, TensorInfo
from rushlight.runtime.bundled import BundledModule
from rushlight.runtime.errors import RushlightError
from rushlight.runtime.kernels import call_kernel, kernel_names
from rushlight.runtime.libraries import Library, load_library, loaded_libraries
from rushlight.runtime.module import Module, load
from rushlight.runtime.program import BackendRegistry, OperatorRegistry, Program, Runtime, Verification
from rushlight.runtime.training import SGD, AdamW, Optimizer, TrainingModule, load_for_training

__all__ = [
    "SGD",
    "AdamW",
    "BackendRegistry",
    "BundledModule",
    "Library",
    "Method",
    "MethodMeta",
    "Module",
    "OperatorRegistry",
    "Optimizer",
    "Program",
    "Runtime",
    "RushlightError",
    "TensorInfo",
    "TrainingModule",
    "Verification",
    "call_kernel",
    "kernel_names",
    "load",
    "load_for_training",
    "load_library",
    "loaded_libraries",
]
