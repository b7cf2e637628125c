"""Functional operators become their out variants."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import edge_of

from rushlight.compiler.edge import to_edge
from rushlight.ir import memory_ops
from rushlight.ir.errors import MissingOutVariantError
from rushlight.ir.program import copy_program
from rushlight.passes.runner import run_passes
from rushlight.passes.spec_prop import SpecPropPass
from rushlight.passes.to_out_var import ToOutVarPass


def test_out_variants(export_case: Any) -> None:
    program = copy_program(to_edge(export_case("split")).exported_program())
    module = run_passes(program, [SpecPropPass(), ToOutVarPass()]).exported_program.graph_module
    for node in module.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            assert node.target._schema.is_mutable, node
    split = next(node for node in module.graph.nodes if "split" in str(node.target))
    alloc = split.kwargs["out"]
    assert alloc.target is memory_ops.alloc and isinstance(alloc.args[0], list)
    # The result of an operator without a return value is the tensor to which it writes.
    if not split.target._schema.returns:
        assert not split.users and alloc.users


def test_out_variants_run_in_eager_mode(export_case: Any) -> None:
    program = copy_program(to_edge(export_case("activations")).exported_program())
    x = torch.randn(4, 6)
    expected = program.module()(x)
    module = run_passes(program, [SpecPropPass(), ToOutVarPass()]).exported_program.graph_module
    constants = [
        program.state_dict.get(str(spec.target), program.constants.get(str(spec.target)))
        for spec in program.graph_signature.input_specs
        if spec.kind.name != "USER_INPUT"
    ]
    for want, got in zip(expected, module(*constants, x), strict=True):
        torch.testing.assert_close(got, want)


class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.ops.rushlight_tests.twice(x)  # the line that causes the error
        return result


def test_operators_without_out_variants_are_listed_with_their_lines() -> None:
    library = torch.library.Library("rushlight_tests", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    torch.library.register_fake("rushlight_tests::twice", lambda x: torch.empty_like(x), lib=library)
    program = edge_of(Twice(), torch.randn(2))
    with pytest.raises(MissingOutVariantError) as error:
        run_passes(program, [SpecPropPass(), ToOutVarPass()])
    text = str(error.value)
    assert "rushlight_tests.twice.default" in text and "float32" in text
    assert "test_to_out_var.py:" in text and "rushlight_tests::twice.out" in text
    run_passes(program, [SpecPropPass(), ToOutVarPass(ignore_to_out_var_failure=True)])
