"""Symbolic shapes of specs become numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import edge_of

import rushlight
from rushlight.compiler.edge import to_edge
from rushlight.ir import meta
from rushlight.ir.spec import TensorShapeDynamism
from rushlight.passes.runner import run_passes
from rushlight.passes.spec_prop import SpecPropPass
from rushlight.passes.sym_shapes import ConstraintBasedSymShapeEvalPass, HintBasedSymShapeEvalPass


@pytest.mark.parametrize(
    ("shape_pass", "batch"), [(ConstraintBasedSymShapeEvalPass, 16), (HintBasedSymShapeEvalPass, 3)]
)
def test_symbolic_shapes(shape_pass: Any, batch: int, export_case: Any) -> None:
    program = to_edge(export_case("dynamic_batch")).exported_program()
    program = run_passes(program, [SpecPropPass(), shape_pass()]).exported_program
    spec = meta.get_spec(next(node for node in program.graph.nodes if node.name == "x"))
    assert spec.shape == [batch, 4] and tuple(spec.stride) == (4, 1)
    assert spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND
    flat = meta.get_spec(next(node for node in program.graph.nodes if node.name == "aten_view_copy_default"))
    assert flat.shape == [batch * 5]


def test_a_dim_without_bound_makes_an_unbounded_tensor() -> None:
    program = edge_of(torch.nn.ReLU(), torch.randn(3, 4), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    program = run_passes(program, [SpecPropPass(), ConstraintBasedSymShapeEvalPass()]).exported_program
    spec = meta.get_spec(next(iter(program.graph.nodes)))
    assert spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND


class Parts(torch.nn.Module):
    """Parts of tensors whose sizes depend on the data."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        steps = torch.unique(x.long())
        return torch.nonzero(x > 0)[::2] * 2, steps[1:] * 2, steps.narrow(0, 1, steps.shape[0] - 1) + 1


@pytest.mark.parametrize("most", [9, None])
def test_parts_of_sizes_without_bound_have_no_bound(most: int | None) -> None:
    dims = ({0: torch.export.Dim("n", min=2, max=most)},)
    program = torch.export.export(Parts(), (torch.randn(5, 3),), dynamic_shapes=dims)
    compiled = rushlight.load(rushlight.compile(program, partitioner=()).buffer)
    for rows in (2, 9):
        x = 3 * torch.randn(rows, 3)
        for got, want in zip(compiled(x), Parts()(x), strict=True):
            torch.testing.assert_close(got, want)
