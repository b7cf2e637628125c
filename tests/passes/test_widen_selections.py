"""The bound of masked_select counts what a larger mask repeats."""

from __future__ import annotations

import torch
from tests.passes.support import apply
from torch.export import export

from rushlight.ir import meta
from rushlight.ir.sym import upper_bound
from rushlight.passes.widen_selections import WidenSelections


class Select(torch.nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.masked_select(x, mask)


def test_a_mask_with_more_rows_widens_the_bound() -> None:
    program = export(Select(), (torch.randn(3), torch.ones(4, 3, dtype=torch.bool)))
    (node,) = (n for n in program.graph.nodes if n.target is torch.ops.aten.masked_select.default)
    assert upper_bound(meta.get_val(node).shape[0]) == 3
    apply(WidenSelections(), program.graph_module)
    assert upper_bound(meta.get_val(node).shape[0]) == 12


def test_a_smaller_mask_keeps_the_bound() -> None:
    program = export(Select(), (torch.randn(4, 3), torch.ones(3, dtype=torch.bool)))
    (node,) = (n for n in program.graph.nodes if n.target is torch.ops.aten.masked_select.default)
    apply(WidenSelections(), program.graph_module)
    assert upper_bound(meta.get_val(node).shape[0]) == 12
