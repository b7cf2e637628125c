"""Parts of mutable buffers written where they lie, so that no whole buffer is copied there and back.

Before:   new = index_put(cache, [position], x, out=alloc); copy_(cache, new)
Expected: new = index_put(cache, [position], x, out=alloc), where alloc lies in the memory of cache
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch.export.graph_signature import ExportGraphSignature, TensorArgument
from torch.fx import GraphModule, Node

from rushlight.ir import memory_ops, meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.spec import TensorSpec
from rushlight.memory.in_place import WRITES_PARTS, in_place_sources, same_elements

COPY = torch.ops.aten.copy_.default


def drop_write_backs(graph_module: GraphModule, signature: ExportGraphSignature, state: set[str]) -> int:
    """Remove copies into the placeholders `state` where the new contents can be computed in place.

    Each operator between the buffer and its new contents must be one that writes a part of it, and what it
    overwrites must not be read afterwards. Returns how many copies were removed.
    """
    graph = graph_module.graph
    copies = [
        node
        for node in graph.nodes
        if node.op == "call_function" and aten_op(node.target) is COPY and _name(node.args[0]) in state
    ]
    if not copies:
        return 0
    order = {node: index for index, node in enumerate(graph.nodes)}
    dropped = 0
    for copy in copies:
        owner, new = copy.args[0], copy.args[1]
        assert isinstance(owner, Node)
        chain = _chain(owner, new)
        if not chain or not _overwritten_last(owner, chain, copy, order):
            continue
        spec = meta.get_spec(owner)
        for node in chain:
            meta.get_spec(node).storage_base = spec
        _rename_output(signature, copy.name, chain[-1].name)
        copy.replace_all_uses_with(chain[-1])
        graph.erase_node(copy)
        dropped += 1
    if dropped:
        graph_module.recompile()
    return dropped


def _chain(owner: Node, new: object) -> list[Node]:
    """The operators that lead from the buffer to its new contents in place, first one first; else none."""
    chain: list[Node] = []
    while isinstance(new, Node) and new is not owner:
        spec = meta.get_spec(new)
        if not isinstance(spec, TensorSpec) or spec.storage_base is not None:
            return []
        source = _source(new, spec)
        if (
            source is None
            or not spec.is_static_shape_tensor
            or spec.nbytes() != meta.get_spec(owner).nbytes()
        ):
            return []
        chain.append(new)
        new = source
    return chain[::-1]


def _source(node: Node, spec: TensorSpec) -> Node | None:
    """The tensor that the node writes a part of, None for a node that does anything else."""
    op = aten_op(node.target)
    if op is None or op._schema.name not in WRITES_PARTS:
        return None
    return next((s for s in in_place_sources(node) if same_elements(s, node, spec)), None)


def _overwritten_last(owner: Node, chain: list[Node], copy: Node, order: dict[Node, int]) -> bool:
    """Whether nobody reads the buffer, or a step of the chain, after it is overwritten."""
    for overwritten, by in zip([owner, *chain], [*chain, copy], strict=True):
        aliases = list(_aliases(overwritten))
        for alias in aliases:
            for user in alias.users:
                if user.op == "output" or (user is not copy and order[user] > order[by]):
                    # The new contents themselves may be read by anyone.
                    if overwritten is not chain[-1] or user.op == "output":
                        return False
        if by is not copy and any(
            alias in by.all_input_nodes for alias in aliases if alias is not overwritten
        ):
            return False
    return True


def _aliases(node: Node) -> Iterator[Node]:
    """The node and the views of it."""
    yield node
    for user in node.users:
        if user.op == "call_function" and user.target is memory_ops.view:
            yield from _aliases(user)


def _rename_output(signature: ExportGraphSignature, old: str, new: str) -> None:
    for index, spec in enumerate(signature.output_specs):
        if spec.arg.name == old:
            signature.output_specs[index] = replace(spec, arg=TensorArgument(new))


def _name(value: object) -> str | None:
    return value.name if isinstance(value, Node) else None
