"""ATen mode: programs run instruction by instruction on torch's own kernels, from Python.

`Runtime.get().load_program(...)`, `load_method` and `execute` are those of `rushlight.runtime`, and `load`
gives a module of the model's own signature. Every operator that is registered with torch is available, also
one without a kernel of the native runtime. It is a reference and a tool for debugging, not fast: a hook sees
each instruction with what it read and wrote, and `NativeComparison` is a hook that runs each kernel call
again in the native runtime.

Memory is the plan's: values lie in its arenas where the program puts them, and a kernel's results are copied
there after it has returned. So a plan that lets two living values overlap gives the same wrong results as on
a device. Parts that were lowered to a backend run on the native runtime, or on the modules that they were
lowered from.
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
