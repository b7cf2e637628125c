"""Raises the upper bound of the size of `masked_select` to the size of `self` broadcast with the mask."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy
import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.fx.node import map_aggregate
from torch.utils._sympy.value_ranges import ValueRanges
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import fake_mode_of
from rushlight.ir.sym import upper_bound
from rushlight.passes.base import ProgramPass, graph_modules


class WidenSelectionsPass(ProgramPass):
    """Replaces the symbol of the number of selected elements by a symbol with a larger upper bound if needed.

    torch.export uses the number of elements of `self` as upper bound, although a larger mask repeats
    elements. The range of the old symbol is not changed, because the exported program also uses this symbol.
    """

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        wider: dict[sympy.Symbol, torch.SymInt] = {}
        for module in graph_modules(program.graph_module):
            for node in module.graph.nodes:
                if node.target is torch.ops.aten.masked_select.default:
                    wider.update(_wider(node))
        if wider:
            _replace_symbols(program, wider)
        return bool(wider)


def _wider(node: Node) -> dict[sympy.Symbol, torch.SymInt]:
    """Maps the symbol of the selected elements to a new symbol; empty if its upper bound is large enough."""
    size = meta.get_val(node).shape[0]
    if not isinstance(size, torch.SymInt) or not size.node.expr.is_Symbol:
        return {}
    shapes = [meta.get_val(source).shape for source in node.all_input_nodes]
    most, known = upper_bound(math.prod(torch.broadcast_shapes(*shapes))), upper_bound(size)
    if most is None or known is None or most <= known:
        return {}
    environment: ShapeEnv = size.node.shape_env
    new = environment.create_unbacked_symint()
    environment.pending_fresh_unbacked_symbols.remove(new.node.expr)
    environment.var_to_range[new.node.expr] = ValueRanges(
        environment.var_to_range[size.node.expr].lower, most
    )
    return {size.node.expr: new}


def _replace_symbols(program: MethodProgram, wider: Mapping[sympy.Symbol, torch.SymInt]) -> None:
    symbols = {old: new.node.expr for old, new in wider.items()}
    mode = fake_mode_of(program.graph_module)

    def is_old(value: Any) -> bool:
        return isinstance(value, torch.SymInt) and bool(value.node.expr.free_symbols & symbols.keys())

    def renamed(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if not any(map(is_old, (*value.shape, *value.stride()))):
                return value
            sizes, strides = list(map(renamed, value.shape)), list(map(renamed, value.stride()))
            with torch.no_grad(), mode:
                return torch.empty_strided(sizes, strides, dtype=value.dtype, device=value.device)
        if is_old(value):
            return value.node.shape_env.create_symintnode(value.node.expr.xreplace(symbols), hint=None)
        return value

    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            if meta.has_val(node):
                meta.set_val(node, map_aggregate(meta.get_val(node), renamed))
    program.facts = replace(
        program.facts,
        relations=tuple((relation.xreplace(symbols), line) for relation, line in program.facts.relations),
    )
    program.range_constraints.update(
        {new.node.expr: new.node.shape_env.var_to_range[new.node.expr] for new in wider.values()}
    )
