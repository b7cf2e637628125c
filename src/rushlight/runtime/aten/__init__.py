"""ATen mode: runs programs in Python on torch's kernels, one instruction at a time.

`Runtime`, `Program` and `Method` have the functions of `rushlight.runtime`. `load` returns a module with the
signature of the model. All operators that are registered with torch are available, also those without a
native kernel. ATen mode is slow. It is a reference implementation and a debugging tool. A hook receives the
values that each instruction reads and writes. `NativeComparison` is a hook that runs each kernel call again
in the native runtime.

Values have the addresses of the program's memory plan: after a kernel returns, its result is copied to
planned memory. If two live values overlap in the plan, the results are therefore as wrong as on a device.
Delegates run on the native backend, or on the lowered modules.
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
