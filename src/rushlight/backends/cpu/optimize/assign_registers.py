"""Assigns registers to the results in elementwise chains; a register is reused after its last use."""

from __future__ import annotations

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.plan.node import Chain, PlanNode
from rushlight.backends.cpu.plan.tables import BinaryFunction, Elementwise, Instruction, UnaryFunction
from rushlight.backends.cpu.plan.tensor import Tensor


def assign_registers(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Replaces each Chain by an Elementwise."""
    for step in steps:
        chain = step.of(Chain)
        if chain is not None:
            step.operation = _elementwise(chain)
    return steps


def _elementwise(chain: Chain) -> Elementwise[Tensor]:
    last = {}
    for index, instruction in enumerate(chain.code):
        for source in instruction.sources:
            last[source] = index
    free: list[int] = []
    registers = len(chain.inputs)
    place: dict[int, int] = {}
    code: list[Instruction] = []
    for index, instruction in enumerate(chain.code):
        sources = [s if s >= 0 else place[s] for s in instruction.sources]
        for source in set(instruction.sources):
            if source < 0 and last[source] == index:
                free.append(place[source])
        if free:
            register = free.pop()
        else:
            register, registers = registers, registers + 1
        place[-1 - index] = register
        function = instruction.function
        code.append(
            Instruction(
                unary=function if isinstance(function, UnaryFunction) else UnaryFunction.NONE,
                binary=function if isinstance(function, BinaryFunction) else BinaryFunction.NONE,
                target=register,
                a=sources[0],
                b=sources[-1],
                p=instruction.p,
                q=instruction.q,
            )
        )
    return Elementwise(inputs=chain.inputs, output=chain.output, registers=registers, code=code)
