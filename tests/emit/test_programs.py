"""Emitted programs have the results of their modules."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from rushlight.format.program import KernelCall, Tensor

NAMES = [
    "add",
    "many_outputs",
    "indexed",
    "shared_weights",
    "reshaped",
    "branch",
    "nested_branch",
    "mapped",
    "scanned",
    "looped",
    "looped_int",
    "looped_dynamic",
    "counter",
    "old_state",
    "cache",
    "found",
    "passed_through",
]


def test_every_case_is_listed(cases: Any) -> None:
    assert set(NAMES) == set(cases)


@pytest.mark.parametrize("name", NAMES)
def test_programs_compute_what_the_module_does(name: str, cases: Any, lowered: Any, run: Any) -> None:
    make, args, dynamic_shapes = cases[name]
    torch.manual_seed(0)
    module = make().eval()
    method = run(lowered(name)._emitter_output.pte)
    rounds = [args, tuple(-a if a.is_floating_point() else a for a in args), args]
    if dynamic_shapes:
        rounds[1] = (torch.linspace(-1, 1, 28).reshape(7, 4),)
    for inputs in rounds:
        expected = pytree.tree_leaves(module(*(a.clone() for a in inputs)))
        results = method(*inputs)
        assert len(results) == len(expected)
        for result, reference in zip(results, expected, strict=True):
            if isinstance(reference, torch.Tensor):
                torch.testing.assert_close(result, reference)
            else:
                assert result == reference


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_values_and_calls_are_operators(name: str, lowered: Any) -> None:
    (plan,) = lowered(name).executorch_program.execution_plan
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            assert 0 <= call.op_index < len(plan.operators)
            assert all(0 <= index < len(plan.values) for index in call.args)
    assert len({(o.name, o.overload) for o in plan.operators}) == len(plan.operators)
    assert all(isinstance(plan.values[i].val, Tensor) for i in plan.inputs)
