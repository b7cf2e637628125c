"""Lets equal users of a value share one result."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.passes.base import GraphPass, has_effect


class FuseDuplicateUsersPass(GraphPass):
    """Before: a = add(x, b); c = add(x, b). Expected: both users read a.

    Args:
        excluded_targets: operators whose calls stay apart.
    """

    def __init__(self, excluded_targets: Collection[Any] | None = None) -> None:
        super().__init__()
        self._excluded_targets = frozenset(excluded_targets or ())

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        known: dict[Hashable, Node] = {}
        for node in list(module.graph.nodes):
            if (
                node.op != "call_function"
                or node.target in self._excluded_targets
                or not node.all_input_nodes
            ):
                continue
            key = None if has_effect(node) or _is_random(node) else _key(node)
            if key is None:
                continue
            first = known.setdefault(key, node)
            if first is not node:
                node.replace_all_uses_with(first)
                module.graph.erase_node(node)
                changed = True
        return changed


def _is_random(node: Node) -> bool:
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags


def _key(node: Node) -> Hashable | None:
    """What equal calls have in common; None if an argument cannot be compared."""
    try:
        key = (node.target, _comparable(node.args), _comparable(node.kwargs))
        hash(key)
    except TypeError:
        return None
    return key


def _comparable(value: Any) -> Hashable:
    """A value that equal arguments of equal types have in common."""
    if isinstance(value, (list, tuple)):
        return (list, *map(_comparable, value))
    if isinstance(value, dict):
        return (dict, *((key, _comparable(value[key])) for key in sorted(value)))
    if isinstance(value, slice):
        return (slice, *map(_comparable, (value.start, value.stop, value.step)))
    if isinstance(value, torch.Tensor):
        return (torch.Tensor, id(value))
    return (type(value), repr(value)) if isinstance(value, float) else (type(value), value)
