"""Generators refuse calls whose arguments do not follow the signature of the operator."""

from __future__ import annotations

import copy
import random

import pytest
from tests.fuzz.calls import calls
from tests.fuzz.corpus import number_of_outs
from tests.fuzz.single_call import single_call_program

from rushlight.aot_c.generators.table import GENERATORS
from rushlight.aot_c.method import MethodWriter
from rushlight.aot_c.source import Source
from rushlight.format.program import (
    Double,
    ExecutionPlan,
    Instruction,
    Int,
    IntList,
    KernelCall,
    ScalarType,
    String,
    Tensor,
    TensorShapeDynamism,
)
from rushlight.format.pte import PTEFile, read_pte
from rushlight.runtime import kernel_names

VARIANTS = 20  # of each call

INTEGERS = (0, 1, -1, 2, 3, 7, -5, 1 << 31, -(1 << 63))
REALS = (0.0, -1.0, 0.5, float("nan"), float("inf"), 1e308)


def libraries() -> dict[str, str]:
    """Returns a library for each operator that has a generator and recorded calls."""
    found: dict[str, str] = {}
    for library in ("portable", "quantized"):
        for name in kernel_names(library):
            if name in GENERATORS:
                found.setdefault(name, library)
    return found


LIBRARIES = libraries()


def refusals(file: PTEFile, plan: ExecutionPlan) -> list[str]:
    writer = MethodWriter(Source("net"), file, plan, set(), [])
    writer.write()
    return writer.refusals


def change(plan: ExecutionPlan, choice: random.Random) -> None:
    """Changes an argument of the call: another value, or a value with other contents."""
    (instruction,) = plan.chains[0].instructions
    call = instruction.instr_args
    assert isinstance(call, KernelCall)
    place = choice.randrange(len(call.args))
    if choice.random() < 0.25:
        call.args[place] = choice.randrange(-1, len(plan.values))
        return
    value = plan.values[max(call.args[place], 0)].val
    if isinstance(value, Tensor):
        kind = choice.random()
        if kind < 0.35 and value.sizes:
            value.sizes[choice.randrange(len(value.sizes))] = choice.choice((0, 1, 2, 3, 8))
        elif kind < 0.8:
            value.sizes = [choice.choice((0, 1, 2, 3)) for _ in range(choice.randrange(6))]
            value.dim_order = list(range(len(value.sizes)))
        else:
            value.scalar_type = choice.choice(list(ScalarType))
    elif isinstance(value, Int):
        value.int_val = choice.choice(INTEGERS)
    elif isinstance(value, Double):
        value.double_val = choice.choice(REALS)
    elif isinstance(value, IntList):
        value.items = choice.choice(
            (value.items[:-1], [*value.items, *value.items[:1]], [choice.randrange(len(plan.values))])
        )
    elif isinstance(value, String):
        value.string_val = choice.choice(("", "floor", "none", "x"))


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_generators_refuse_damaged_calls(name: str) -> None:
    choice = random.Random(name)
    for call in list(calls(LIBRARIES[name], name))[:4]:
        outs = number_of_outs(name, len(call.args))
        file = read_pte(single_call_program(call, outs, constant_tensors=choice.random() < 0.5))
        (plan,) = file.program.execution_plan
        for value in plan.values:
            if isinstance(value.val, Tensor):
                value.val.shape_dynamism = TensorShapeDynamism.STATIC
        for _ in range(VARIANTS):
            damaged = copy.deepcopy(plan)
            for _ in range(choice.randrange(1, 3)):
                change(damaged, choice)
            refusals(file, damaged)


def test_views_of_themselves_are_refused() -> None:
    (call, *_) = calls("portable", "aten::add.out")
    file = read_pte(single_call_program(call, 1))
    (plan,) = file.program.execution_plan
    tensors = [i for i, value in enumerate(plan.values) if isinstance(value.val, Tensor)][:2]
    sizes = next(i for i, value in enumerate(plan.values) if not isinstance(value.val, Tensor))
    plan.operators[0].name, plan.operators[0].overload = "executorch_prim::et_view", "default"
    first, second = (KernelCall(0, [a, sizes, b]) for a, b in (tensors, reversed(tensors)))
    plan.chains[0].instructions = [Instruction(first), Instruction(second)]
    assert any("views refer to each other in a cycle" in refusal for refusal in refusals(file, plan))
