"""Tests of the check of dtypes while a program runs."""

from __future__ import annotations

import pytest
import torch
from torch.export import export

from rushlight.compat.arg_validator import EdgeOpArgValidator, RunHigherOrderOperatorError
from rushlight.exir import EdgeCompileConfig, to_edge
from rushlight.ir.edge_ops import ops
from rushlight.ir.errors import InternalError


class Double(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


def validated(*inputs: torch.Tensor) -> EdgeOpArgValidator:
    config = EdgeCompileConfig(_check_ir_validity=False)
    program = to_edge(export(Double(), inputs), compile_config=config).exported_program()
    validator = EdgeOpArgValidator(program.graph_module)
    results = validator.run(*inputs)
    assert torch.equal(results[0], inputs[0] * 2)
    return validator


@pytest.mark.parametrize("dtype", [torch.int32, torch.float16, torch.bool])
def test_calls_within_the_rules(dtype: torch.dtype) -> None:
    inputs = torch.ones(2, 3).to(dtype)
    config = EdgeCompileConfig(_check_ir_validity=False)
    program = to_edge(export(Double(), (inputs,)), compile_config=config).exported_program()
    validator = EdgeOpArgValidator(program.graph_module)
    validator.run(inputs)
    assert validator.violating_ops == {}


def test_calls_outside_of_them_are_kept() -> None:
    validator = validated(torch.ones(2, 3, dtype=torch.complex64))
    ((op, (types, node)),) = validator.violating_ops.items()
    assert op is ops.edge.aten.add.Tensor and node.target is op
    assert types == dict.fromkeys(("self", "other", "__ret_0"), torch.complex64)


def test_errors_of_operators_are_internal_errors() -> None:
    program = to_edge(export(Double(), (torch.ones(2, 3),))).exported_program()
    with pytest.raises(InternalError):
        EdgeOpArgValidator(program.graph_module).run("not a tensor")


def test_control_flow_cannot_be_run() -> None:
    class Branch(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))

    inputs = (torch.ones(2),)
    program = to_edge(export(Branch(), inputs)).exported_program()
    with pytest.raises(RunHigherOrderOperatorError, match="cond"):
        EdgeOpArgValidator(program.graph_module).run(*inputs)
