"""Removes copies that do not change layout, dtype or shape."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from typing_extensions import override

from rushlight.ir import dim_order_ops, meta
from rushlight.ir.constants import changed_targets, updated_inputs
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.program import rename_output
from rushlight.ir.spec import dim_order_from_strides
from rushlight.ir.sym import IntLike
from rushlight.passes.base import ProgramPass, eliminate_dead_code

_COPIES = frozenset(
    {
        *dim_order_ops.DIM_ORDER_OF_MEMORY_FORMAT.values(),
        torch.ops.aten.clone.default,
        torch.ops.aten._to_copy.default,
        torch.ops.aten.alias_copy.default,
        torch.ops.aten.detach_copy.default,
        torch.ops.aten.expand_copy.default,
        torch.ops.aten.slice_copy.Tensor,
        torch.ops.aten.permute_copy.default,
        torch.ops.aten.view_copy.default,
    }
) - {torch.ops.dim_order_ops._empty_dim_order.default}


class RemoveCopiesPass(ProgramPass):
    """Before: c = dim_order_ops._clone_dim_order(x, dim_order=[0, 1, 2, 3]); y = aten.relu(c)
    Expected: y = aten.relu(x)

    A copy stays if it is an output and its source is an input or another output. It also stays if its source
    is a buffer or an input that the program writes.
    """

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        written = _written_inputs(program)
        returned = set(program.graph.output_node().all_input_nodes)
        changed = False
        for node in list(program.graph.nodes):
            if node.op != "call_function" or aten_op(node.target) not in _COPIES:
                continue
            source = node.args[0]
            if not isinstance(source, Node) or source in written or not _changes_nothing(node, source):
                continue
            if node in returned and (source in returned or source.op != "call_function"):
                continue
            node.replace_all_uses_with(source)
            if node in returned:
                returned.add(source)
                rename_output(program, node, source)
            changed = True
        if changed:
            eliminate_dead_code(program.graph)
        return changed


def _written_inputs(program: ExportedProgram) -> set[Node]:
    """Returns the placeholders of buffers and inputs that the program writes."""
    signature = program.graph_signature
    changed = changed_targets(signature)
    names = {spec.arg.name for spec in signature.input_specs if spec.target in changed}
    names.update(updated_inputs(signature).values())
    return {node for node in program.graph.nodes if node.op == "placeholder" and node.name in names}


def _changes_nothing(node: Node, source: Node) -> bool:
    before, after = meta.get_tensor(source), meta.get_tensor(node)
    if before is None or after is None or before.dtype != after.dtype:
        return False
    sizes: tuple[IntLike, ...] = (*before.shape, *after.shape)
    if not all(isinstance(size, int) for size in sizes) or before.shape != after.shape:
        return False
    if aten_op(node.target) is torch.ops.aten.permute_copy.default and not _keeps_order(node):
        return False
    return dim_order_from_strides(before.stride()) == dim_order_from_strides(after.stride())


def _keeps_order(node: Node) -> bool:
    order: Any = node.args[1]
    return [dim % len(order) for dim in order] == list(range(len(order)))
