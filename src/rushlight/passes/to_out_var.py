"""Replaces functional operators by their out variants, which write into allocations."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import memory_ops, meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import CompileError, MissingOutVariantError
from rushlight.ir.out_variants import (
    OutVariant,
    find_out_variant,
    has_new_results,
    is_out_variant,
    wanted_out_variant,
    written_arguments,
)
from rushlight.ir.report import Refusal, refusal_table
from rushlight.ir.sym import IntLike, hint, upper_bound
from rushlight.ir.sym_ops import is_sym_op
from rushlight.passes.base import ModulePass, graph_modules

_KEPT_FUNCTIONS = (memory_ops.alloc, memory_ops.view, memory_ops.free, operator.getitem)


class ToOutVarPass(ModulePass):
    """Replaces each operator by its out variant, and adds an allocation for each result.

    Before: y = aten.add.Tensor(a, b)
    Expected: alloc = memory.alloc(((2, 2), torch.float32)); y = aten.add.out(a, b, out=alloc)

    Args:
        ignore_to_out_var_failure: whether operators without an out variant stay functional.

    Raises:
        MissingOutVariantError: operators have no out variant; the message lists them in a table.
    """

    def __init__(self, ignore_to_out_var_failure: bool = False) -> None:
        super().__init__()
        self.ignore_to_out_var_failure = ignore_to_out_var_failure

    @override
    def rewrite_all(self, graph_module: GraphModule) -> bool:
        refused: list[Refusal] = []
        for module in list(graph_modules(graph_module)):
            for node in list(module.graph.nodes):
                if node.op == "call_function":
                    self._convert(node, refused)
            module.recompile()
        if refused and not self.ignore_to_out_var_failure:
            raise MissingOutVariantError(
                "Missing out variants: these operators have no overload that writes into given tensors\n"
                + refusal_table(refused)
            )
        return True

    def _convert(self, node: Node, refused: list[Refusal]) -> None:
        op = aten_op(node.target)
        if op is None:
            if not _stays(node):
                raise CompileError(f"node {node.name} calls {node.target}, which is not an operator")
            return
        if is_sym_op(node.target) or (written_arguments(op._schema) and not _needs_out(op)):
            return
        variant = find_out_variant(op)
        if variant is None:
            refused.append(Refusal.of(node, wanted_out_variant(op._schema)))
            return
        kwargs = {name: value for name, value in node.kwargs.items() if name in variant.argument_names}
        kwargs.update(_allocate(node, variant))
        if not variant.op._schema.returns:
            node.replace_all_uses_with(kwargs[variant.outs[0]])  # type: ignore[arg-type]
        node.target = variant.op
        node.kwargs = kwargs


def _needs_out(op: OpOverload) -> bool:
    """Returns whether an operator that writes arguments also returns new tensors."""
    return has_new_results(op) and not is_out_variant(op)


def _stays(node: Node) -> bool:
    target = node.target
    if isinstance(target, HigherOrderOperator) or target in _KEPT_FUNCTIONS or is_sym_op(target):
        return True
    return getattr(target, "__module__", "") in ("builtins", "_operator", "math", "torch", "torch.fx")


def _allocate(node: Node, variant: OutVariant) -> dict[str, Node | None]:
    val = meta.get_val(node)
    spec = meta.get_spec(node)
    if variant.is_list or len(variant.outs) == 1:
        return {variant.outs[0]: _alloc(node, val, spec)}
    specs = spec if isinstance(spec, (list, tuple)) else [None] * len(variant.outs)
    return {
        name: None if part is None else _alloc(node, part, part_spec)
        for name, part, part_spec in zip(variant.outs, val, specs, strict=True)
    }


def _alloc(node: Node, val: Any, spec: object) -> Node:
    parts = [_alloc_spec(part) for part in val] if isinstance(val, (list, tuple)) else _alloc_spec(val)
    with node.graph.inserting_before(node):
        alloc = node.graph.call_function(memory_ops.alloc, (parts,))
    meta.set_val(alloc, val)
    if spec is not None:
        meta.set_spec(alloc, spec)
    return alloc


def _alloc_spec(val: torch.Tensor) -> tuple[tuple[int, ...], torch.dtype]:
    return tuple(_size(size) for size in val.shape), val.dtype


def _size(size: IntLike) -> int:
    bound = upper_bound(size)
    return bound if bound is not None else hint(size) or 0
