"""Computes operators whose inputs are all constants at compile time."""

from __future__ import annotations

import operator

import torch
from torch.fx import Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.constants import Constants, NewConstants, constant_inputs
from rushlight.ir.dim_order_ops import has_memory_format, memory_format_of
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import Evaluator
from rushlight.ir.spec import dim_order_from_strides
from rushlight.passes.base import ProgramPass, eliminate_dead_code, has_effect

# The results of these operators are uninitialized memory.
_UNINITIALISED = ("empty", "empty_like", "empty_permuted", "empty_strided", "_empty_dim_order")

# A result of at most this size in bytes is always stored.
SMALL = 4096


class FoldConstantsPass(ProgramPass):
    """Stores the results of operators on constants if this does not make the file larger.

    Before: t = aten.permute_copy(weight, [1, 0]); y = aten.addmm(bias, x, t)
    Expected: y = aten.addmm(bias, x, _folded_tensor_constant3)

    A result larger than 4096 bytes is stored only if it replaces constants of at least its size that have no
    other users. Operators that dequantize weights or expand tensors therefore stay in the graph.
    """

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        graph = program.graph
        constants = Constants(constant_inputs(program), graph, is_pure)
        folded = _choose(constants, list(graph.nodes))
        if not folded:
            return False
        added, evaluator = NewConstants(program), Evaluator.of(program.graph_module)
        for node in folded:
            computed = constants.value(node)
            assert computed is not None
            value = computed.contiguous(memory_format=_memory_format(node))
            new = added.add("_folded_tensor_constant", value, evaluator.like(value), node)
            constants.add(new, value)
            node.replace_all_uses_with(new)
        eliminate_dead_code(graph)
        return True


def _choose(constants: Constants, nodes: list[Node]) -> list[Node]:
    """Selects the constant nodes to store, in graph order: the last node of each chain of constant nodes."""
    foldable = dict.fromkeys(filter(constants.is_constant, nodes))
    while True:
        edges = [
            node
            for node in foldable
            if not constants.is_stored(node) and any(user not in foldable for user in node.users)
        ]
        rejected = [node for node in edges if not _keeps_file_small(node, foldable, constants)]
        if not rejected:
            return edges
        for node in rejected:
            del foldable[node]


def _memory_format(node: Node) -> torch.memory_format:
    """Returns the layout of the result of a node, which its users may require."""
    val = meta.get_tensor(node)
    if val is None or not has_memory_format(val):
        return torch.contiguous_format
    return memory_format_of(dim_order_from_strides(val.stride()))


def is_pure(node: Node, views: bool = False) -> bool:
    """Returns whether a node's result depends only on its inputs and has a static size.

    Without `views`, the result must not share memory with an input either.
    """
    if has_effect(node):
        return False
    if node.target is operator.getitem:
        return True
    op = aten_op(node.target)
    if op is None or torch.Tag.nondeterministic_seeded in op.tags or (op.is_view and not views):
        return False
    if op._schema.name.split("::")[1] in _UNINITIALISED:
        return False
    static = all(_is_static(val) for val in _parts(meta.get_val(node)))
    aliases = [argument.alias_info for argument in op._schema.arguments if argument.alias_info is not None]
    return static and not any(alias.is_write or not views for alias in aliases)


def _parts(val: object) -> list[object]:
    return list(val) if isinstance(val, (list, tuple)) else [val]


def _is_static(val: object) -> bool:
    return isinstance(val, torch.Tensor) and all(isinstance(size, int) for size in val.shape)


def _keeps_file_small(node: Node, foldable: dict[Node, None], constants: Constants) -> bool:
    """Returns whether the file does not become larger if the result of the node is stored."""
    val = meta.get_tensor(node)
    if val is None:
        return False
    size = val.numel() * val.dtype.itemsize
    if size <= SMALL:
        return True
    replaced = 0
    seen = {node}
    stack = [node]
    while stack:
        for used in stack.pop().all_input_nodes:
            if used in seen:
                continue
            seen.add(used)
            if not constants.is_stored(used):
                stack.append(used)
            elif all(user in foldable for user in used.users):
                source = meta.get_val(used)
                replaced += source.numel() * source.dtype.itemsize
    return size <= replaced
