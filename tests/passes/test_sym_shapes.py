"""Symbolic shapes of specs become numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import edge_of

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
