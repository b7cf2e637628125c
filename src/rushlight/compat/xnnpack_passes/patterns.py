"""Patterns for passes: the graphs of functions as they are decomposed in edge programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch.export import export
from torch.fx import GraphModule, Node
from torch.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from torch.nn.functional import interpolate, scaled_dot_product_attention

from rushlight.compiler.edge import to_edge
from rushlight.export.xnnpack_configs import get_xnnpack_edge_compile_config
from rushlight.ir.edge_ops import is_op

aten = torch.ops.aten


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor], **options: Any) -> None:
        super().__init__()
        self._function = function
        self._options = options

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self._function(*inputs, **self._options)


def _graph_of(
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    skip_dim_order: bool,
    expanded: tuple[Any, ...] = (),
) -> GraphModule:
    program = export(module, inputs, strict=True)
    if expanded:
        program = program.run_decompositions({op: torch._decomp.decomposition_table[op] for op in expanded})
    config = get_xnnpack_edge_compile_config(skip_dim_order=skip_dim_order)
    module_of_edge: GraphModule = to_edge(program, compile_config=config).exported_program().graph_module
    return module_of_edge


@cache
def sdpa_graphs() -> list[GraphModule]:
    """Returns the graphs of attention with a mask, for float32 and float16.

    The inputs of the graphs are query, key, value and mask.
    """
    graphs = []
    for dtype in (torch.float32, torch.float16):
        for skip_dim_order in (True, False):
            operands = (torch.randn(2, 3, 4, 8).to(dtype) for _ in range(3))
            inputs = (*operands, torch.zeros(4, 4, dtype=dtype))
            graphs.append(_graph_of(_Function(_attention), inputs, skip_dim_order))
    return graphs


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


@cache
def bilinear_2d_graphs() -> dict[GraphModule, bool]:
    """Returns the graphs of decomposed bilinear upsampling. The values are the options `align_corners`."""
    return {
        _graph_of(
            _Function(interpolate, scale_factor=2, mode="bilinear", align_corners=align_corners),
            (torch.randn(1, 3, 4, 4),),
            skip_dim_order,
            (aten.upsample_bilinear2d.vec,),
        ): align_corners
        for align_corners in (True, False)
        for skip_dim_order in (True, False)
    }


def bilinear_2d_patterns() -> list[GraphModule]:
    """Returns the graphs of decomposed bilinear upsampling."""
    return list(bilinear_2d_graphs())


def matches(pattern: GraphModule, module: GraphModule) -> Iterator[InternalMatch]:
    """Yields the matches of a pattern in a graph. Constant arguments are not compared."""
    yield from SubgraphMatcher(pattern.graph, ignore_literals=True).match(module.graph)


def inputs_of(pattern: GraphModule, match: InternalMatch) -> list[Node]:
    """Returns the nodes of a match that correspond to the inputs of the pattern."""
    return [match.nodes_map[node] for node in pattern.graph.nodes if node.op == "placeholder"]


def has_equal_axes(match: InternalMatch) -> bool:
    """Returns whether a match permutes and reduces the same dimensions as its pattern."""
    for node, found in match.nodes_map.items():
        if is_op(node, aten.permute_copy.default, aten._softmax.default, aten.any.dim):
            if node.args[1] != found.args[1]:
                return False
    return True
