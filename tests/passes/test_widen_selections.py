"""The upper bound of masked_select includes elements that a larger mask repeats."""

from __future__ import annotations

import torch
from tests.passes.support import apply_to_program
from torch.export import ExportedProgram, export
from torch.fx import Node

from rushlight.frontend.decompose import decompose
from rushlight.ir import meta
from rushlight.ir.fingerprint import fingerprint, first_difference
from rushlight.ir.sym import upper_bound
from rushlight.passes.widen_selections import WidenSelectionsPass


class Select(torch.nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.masked_select(x, mask) * 2


def selection(program: ExportedProgram) -> Node:
    return next(n for n in program.graph.nodes if n.target is torch.ops.aten.masked_select.default)


def test_a_mask_with_more_rows_widens_the_bound() -> None:
    exported = export(Select(), (torch.randn(3), torch.ones(4, 3, dtype=torch.bool)))
    program = decompose(exported)
    before = fingerprint(exported), fingerprint(program)
    result = apply_to_program(WidenSelectionsPass(), program)
    assert result.modified
    node = selection(result.exported_program)
    product = result.exported_program.graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor)
    assert all(upper_bound(meta.get_val(part).shape[0]) == 12 for part in (node, *product))
    for given, old in zip((exported, program), before, strict=True):
        assert upper_bound(meta.get_val(selection(given)).shape[0]) == 3
        assert first_difference(old, fingerprint(given)) is None


def test_a_smaller_mask_keeps_the_bound() -> None:
    program = decompose(export(Select(), (torch.randn(4, 3), torch.ones(3, dtype=torch.bool))))
    assert not apply_to_program(WidenSelectionsPass(), program).modified
    assert upper_bound(meta.get_val(selection(program)).shape[0]) == 12
