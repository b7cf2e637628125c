"""ATen mode: runs programs in Python on torch's kernels, one instruction at a time.

`Runtime`, `Program` and `Method` have the functions of `rushlight.runtime`, and `load` returns a module with
the signature of the model. Every operator that is registered with torch is available, also without a native
kernel. ATen mode is slow; it is a reference and a tool for debugging. A hook sees what each instruction reads
and writes. `NativeComparison` is a hook that runs each kernel call again in the native runtime.

Values lie in memory as the program plans it: a kernel's result is copied to its planned place after the
kernel returns. A plan in which two live values overlap therefore gives the same wrong results as on a device.
Parts that were lowered to a backend run on the native backend, or on the modules that they were lowered from.
"""

from __future__ import annotations

from rushlight.runtime.aten.comparison import ComparedStep, NativeComparison
from rushlight.runtime.aten.events import Hook, InstructionEvent
from rushlight.runtime.aten.method import Method
from rushlight.runtime.aten.program import Program, Runtime, load
from rushlight.runtime.aten.values import to_numpy

__all__ = [
    "ComparedStep",
    "Hook",
    "InstructionEvent",
    "Method",
    "NativeComparison",
    "Program",
    "Runtime",
    "load",
    "to_numpy",
]
