"""The driver of Rushlight for an external conformance harness.

`lower(methods)` compiles exported programs by method name, and returns the bytes of a .pte file and the size
of planned memory of each method. `load(blob).execute(method, flat_inputs)` returns flat outputs. The state of
the program is kept between calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.export import ExportedProgram

import rushlight
from rushlight.runtime import Runtime

NAME = "rushlight_portable"
VERSION = rushlight.__version__


def lower(methods: dict[str, ExportedProgram]) -> tuple[bytes, dict[str, Any]]:
    program = rushlight.compile(methods, partitioner=()).manager
    plans = program.executorch_program.execution_plan
    return program.buffer, {
        "planned_bytes": {plan.name: int(sum(plan.non_const_buffer_sizes)) for plan in plans}
    }


class Loaded:
    def __init__(self, blob: bytes) -> None:
        self.program = Runtime.get().load_program(blob)
        self.methods: dict[str, Any] = {}

    def execute(self, method: str, inputs: Sequence[Any]) -> list[Any]:
        if method not in self.methods:
            self.methods[method] = self.program.load_method(method)
        return list(self.methods[method].execute(inputs))


def load(blob: bytes) -> Loaded:
    return Loaded(blob)


def compile_and_run(module: Any, inputs: Sequence[Any]) -> list[Any]:
    import torch

    program = torch.export.export(module, tuple(inputs), strict=False)
    return load(lower({"forward": program})[0]).execute("forward", list(inputs))
