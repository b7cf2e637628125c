"""Converts chains of views and permutes to a canonical form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from typing_extensions import override

from rushlight.compat.transforms.dim_maps import (
    Size,
    ViewMap,
    inverse_permutation,
    keeps_memory_order,
    normalize_view_shape,
    normalized_permutation,
    same_sizes,
)
from rushlight.compat.transforms.rewriting import InPlacePass, size_arguments
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op, ops
from rushlight.ir.sym import same_size

aten = torch.ops.aten

VIEW_COPY = ops.edge.aten.view_copy.default
PERMUTE_COPY = ops.edge.aten.permute_copy.default


def refresh_permute_view_meta(node: Node) -> None:
    """Updates the value of a view_copy or permute_copy from the value of its input.

    Symbolic sizes are the symbols of the input. Other nodes, and nodes whose input has no value, are not
    changed.

    Raises:
        ValueError: the dimensions of a permute_copy are not a permutation.
    """
    source = node.all_input_nodes[0] if node.all_input_nodes else None
    tensor = meta.get_tensor(source) if source is not None else None
    if tensor is None:
        return
    shape: list[Size]
    if is_op(node, aten.view_copy.default):
        given: Any = node.args[1]
        sizes = [meta.get_val(size) if isinstance(size, Node) else size for size in given]
        shape = normalize_view_shape(tuple(tensor.shape), sizes)
    elif is_op(node, aten.permute_copy.default):
        order = normalized_permutation(node.args[1])
        if order is None:
            raise ValueError(f"{node.name}: {node.args[1]} is not a permutation")
        shape = [tensor.shape[axis] for axis in order]
    else:
        return
    meta.set_val(node, tensor.new_empty(tuple(shape)))


class CanonicalizeViewCopyPermutePass(InPlacePass):
    """Shortens chains of views and permutes, in which each node is the only user of the previous node.

    Two adjacent views or two adjacent permutes are merged. A view and a permute are swapped if nodes of the
    same kind then become adjacent. Nodes without effect are removed, and a permute that moves only dimensions
    of size 1 becomes a view.

    Before: y = permute_copy(view_copy(permute_copy(x, [1, 0]), [4, 1, 3]), [2, 1, 0]) of a [3, 4] x
    Expected: y = view_copy(x, [3, 1, 4])

    Args:
        permute_targets: the permute operators. The default is `aten.permute_copy`, which new permutes always
            call.
    """

    def __init__(self, permute_targets: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._permute_targets = frozenset(permute_targets or (PERMUTE_COPY,))

    @override
    def rewrite(self, module: GraphModule) -> bool:
        return any([self._shorten(chain) for chain in self._chains(module)])

    def _chains(self, module: GraphModule) -> list[list[Node]]:
        chains: list[list[Node]] = []
        seen: set[Node] = set()
        for node in module.graph.nodes:
            if node in seen or not self._is_in_chain(node):
                continue
            chain = [node]
            while len(chain[-1].users) == 1 and self._is_in_chain(user := next(iter(chain[-1].users))):
                chain.append(user)
            seen.update(chain)
            chains.append(chain)
        return chains

    def _is_in_chain(self, node: Node) -> bool:
        known = node.op == "call_function" and meta.get_tensor(node) is not None and len(node.args) == 2
        return known and (node.target is VIEW_COPY or node.target in self._permute_targets)

    def _shorten(self, chain: list[Node]) -> bool:
        changed = False
        while self._simplify(chain) or self._merge(chain) or self._swap(chain):
            changed = True
        return changed

    def _simplify(self, chain: list[Node]) -> bool:
        """Removes the first node without effect, or replaces the first permute that is a view."""
        for index, node in enumerate(chain):
            source: Any = node.args[0]
            before, after = meta.get_shape(source), meta.get_shape(node)
            if node.target is VIEW_COPY:
                if same_sizes(before, after):
                    self._remove(chain, index, source)
                    return True
                continue
            order = normalized_permutation(node.args[1], len(before))
            if order is None:
                continue
            if order == sorted(order):
                self._remove(chain, index, source)
                return True
            static = all(isinstance(size, int) for size in before)
            if static and keeps_memory_order(before, order):
                _set(node, VIEW_COPY, source, list(after))
                return True
            if order != list(node.args[1]):  # type: ignore[arg-type]
                _set(node, PERMUTE_COPY, source, order)
                return True
        return False

    def _merge(self, chain: list[Node]) -> bool:
        """Merges the first two adjacent nodes of the same kind. Returns whether there are any."""
        for index, (node, behind) in enumerate(zip(chain, chain[1:], strict=False)):
            source: Any = node.args[0]
            if node.target is VIEW_COPY and behind.target is VIEW_COPY:
                sizes = size_arguments(source, meta.get_shape(behind), node)
                if sizes is None:
                    continue
                _set(node, VIEW_COPY, source, sizes)
            elif node.target is not VIEW_COPY and behind.target is not VIEW_COPY:
                first, second = (normalized_permutation(item.args[1]) for item in (node, behind))
                if first is None or second is None:
                    continue
                _set(node, PERMUTE_COPY, source, [first[axis] for axis in second])
            else:
                continue
            self._remove(chain, index + 1, node)
            return True
        return False

    def _swap(self, chain: list[Node]) -> bool:
        """Swaps the first adjacent view and permute for which this is possible. Returns whether it did.

        In a chain of two nodes, only a view that adds dimensions of size 1 is swapped with a permute behind
        it.
        """
        if len(chain) == 2 and not (chain[0].target is VIEW_COPY and _only_adds_ones(chain[0])):
            return False
        for node, behind in zip(chain, chain[1:], strict=False):
            if self._swap_pair(node, behind):
                return True
        return False

    @staticmethod
    def _swap_pair(node: Node, behind: Node) -> bool:
        source: Any = node.args[0]
        view = node if node.target is VIEW_COPY else behind
        permute = behind if view is node else node
        if view.target is not VIEW_COPY or permute.target is VIEW_COPY:
            return False
        mapping = ViewMap(view)
        order = normalized_permutation(permute.args[1])
        if order is None or not mapping.is_valid_map:
            return False
        if view is node:
            mapped = mapping.map_permutation_inverse(order)
            sizes = size_arguments(source, meta.get_shape(behind), node) if mapped is not None else None
            if mapped is None or sizes is None:
                return False
            first, second = permute.target, view.target
            _set(node, first, source, mapped)
            _set(behind, second, node, sizes)
            return True
        # The dimensions of the view, in the order that they have in front of the permute.
        mapped = mapping.map_permutation(inverse_permutation(order))
        if mapped is None:
            return False
        sizes = size_arguments(source, [mapping.target_shape[axis] for axis in mapped], node)
        if sizes is None:
            return False
        first, second = view.target, permute.target
        _set(node, first, source, sizes)
        _set(behind, second, node, inverse_permutation(mapped))
        return True

    @staticmethod
    def _remove(chain: list[Node], index: int, replacement: Node) -> None:
        node = chain.pop(index)
        node.replace_all_uses_with(replacement)
        node.graph.erase_node(node)


def _set(node: Node, target: Any, source: Node, argument: Sequence[Argument]) -> None:
    node.target, node.args, node.kwargs = target, (source, list(argument)), {}
    refresh_permute_view_meta(node)
    if target not in (VIEW_COPY, PERMUTE_COPY):  # A permute of another library.
        _permute_value(node)


def _permute_value(node: Node) -> None:
    tensor = meta.get_tensor(node.all_input_nodes[0])
    order = normalized_permutation(node.args[1])
    if tensor is not None and order is not None:
        meta.set_val(node, tensor.new_empty(tuple(tensor.shape[axis] for axis in order)))


def _only_adds_ones(view: Node) -> bool:
    before, after = meta.get_shape(view.args[0]), meta.get_shape(view)
    kept = [[size for size in shape if not same_size(size, 1)] for shape in (before, after)]
    return len(after) > len(before) and same_sizes(*kept)
