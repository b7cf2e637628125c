"""Parts of mutable buffers written where they lie, so that no whole buffer is copied there and back.

Before:   new = index_put(cache, [position], x, out=alloc); copy_(cache, new)
Expected: new = index_put(cache, [position], x, out=alloc), where alloc lies in the memory of cache
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import torch
from torch.export.graph_signature import ExportGraphSignature, TensorArgument
from torch.fx import GraphModule, Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.spec import TensorSpec
from rushlight.memory.aliases import Aliases, state_inputs
from rushlight.memory.in_place import WRITES_PARTS, in_place_sources, same_elements

COPY = torch.ops.aten.copy_.default


def drop_write_backs(graph_module: GraphModule, signature: ExportGraphSignature, aliases: Aliases) -> int:
    """Remove copies into buffers and parameters where their new contents can be computed in place.

    Each operator between the buffer and its new contents must be one that writes a part of it, and what it
    overwrites must not be read afterwards. Returns how many copies were removed.
    """
    graph = graph_module.graph
    state = state_inputs(signature)
    copies = [
        node
        for node in graph.nodes
        if node.op == "call_function" and aten_op(node.target) is COPY and _name(node.args[0]) in state
    ]
    if not copies:
        return 0
    steps = {step.node: step.end for step in aliases.timeline.steps}
    dropped = 0
    for copy in copies:
        owner, new = copy.args[0], copy.args[1]
        assert isinstance(owner, Node)
        chain = _chain(owner, new)
        if not chain or not _overwritten_last(graph_module, aliases, [owner, *chain, copy], steps):
            continue
        spec = meta.get_spec(owner)
        for node in chain:
            meta.get_spec(node).storage_base = spec
            aliases.storages.share(meta.get_spec(node), spec)
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


def _overwritten_last(
    graph_module: GraphModule, aliases: Aliases, chain: list[Node], steps: dict[Node, int]
) -> bool:
    """Whether nobody reads the bytes of a link of the chain after the next one overwrites them.

    chain: the buffer, the operators that lead to its new contents, and the copy of those into the buffer.
    """
    *_, new, copy = chain
    for overwritten, by in itertools.pairwise(chain):
        spec = meta.get_spec(overwritten)
        if aliases.is_returned(spec, graph_module, under=(copy,)):
            return False
        # The new contents themselves may be read by anyone.
        if overwritten is not new and (
            aliases.is_accessed_after(spec, steps[by], by=(copy, graph_module.graph.output_node()))
            or not aliases.may_lie_under_result(spec, by, meta.get_spec(by))
        ):
            return False
    return True


def _rename_output(signature: ExportGraphSignature, old: str, new: str) -> None:
    for index, spec in enumerate(signature.output_specs):
        if spec.arg.name == old:
            signature.output_specs[index] = replace(spec, arg=TensorArgument(new))


def _name(value: object) -> str | None:
    return value.name if isinstance(value, Node) else None
