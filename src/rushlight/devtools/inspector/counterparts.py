"""Finds the exported node that computes the same value as an edge node, by the history of node names.

An ambiguous case: the model calls `linear`, and its decomposition has two edge nodes. Both have the same
history, the names that the node had in earlier graphs:

    edge node                     history
    aten_permute_copy_default     linear
    aten_addmm_default            linear

Both are derived from the exported node `linear`. The last one computes its value, so that `linear` is the
counterpart of aten_addmm_default, and aten_permute_copy_default has no counterpart. Histories say nothing
about values: for an exported `split`, the last edge node is `getitem_1`, which has one tensor of the list.
Therefore `is_like` compares the computed values too.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.ir import meta


def find_counterparts(program: ExportedProgram, exported: ExportedProgram) -> dict[Node, Node]:
    """Returns, for some edge nodes, the exported node with the same value: the counterpart.

    A decomposition derives several edge nodes from one exported node. The last of them computes the value of
    the exported node. Node metadata contains the names that a node had in earlier graphs, the newest first.
    An edge node is derived from an exported node if its earlier names end with the earlier names of the
    exported node, or if they contain the name of the exported node itself.

    Args:
        program: the edge program.
        exported: the program of torch.export.
    """
    by_name: dict[str, Node] = {}
    by_history: dict[tuple[str, ...], Node | None] = {}
    for node in exported.graph.nodes:
        if node.op == "call_function":
            history = tuple(meta.earlier_names_of(node))
            by_name[node.name] = node
            by_history[history] = None if history in by_history else node
    last: dict[Node, Node] = {}
    for node in program.graph.nodes:
        if node.op == "call_function":
            # Programs in an ETRecord file have no history of node names. They have only the origin of each
            # node.
            origin = meta.origin_of(node).rpartition(".")[0]
            history = tuple(meta.earlier_names_of(node)) or ((origin,) if origin else ())
            for place, name in enumerate(history):
                found = by_history.get(history[place:])
                named = by_name.get(name)
                if found is None and named is not None:
                    is_earlier = len(meta.earlier_names_of(named)) < len(history) - place
                    found = named if is_earlier else None
                if found is not None:
                    last[found] = node
                    break
    return {node: other for other, node in last.items()}


def is_like(value: object, other: object) -> bool:
    """Returns whether both values are tensors with the same shape and dtype."""
    return (
        isinstance(value, torch.Tensor)
        and isinstance(other, torch.Tensor)
        and value.shape == other.shape
        and value.dtype == other.dtype
    )
