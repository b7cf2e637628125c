"""Writes new contents of buffers and inputs back to their memory at the end of the graph.

Before:   return (new, y), where new is the new contents of cache
Expected: copied = copy_(cache, new); return (copied, y)

If new = index_put(cache, [position], x, out=alloc) may be computed in place, no copy is needed:
Expected: return (new, y), where `storage_base` of the spec of alloc is the spec of cache.
"""

from __future__ import annotations

import itertools

import torch
from torch.export.graph_signature import ExportGraphSignature, OutputSpec, TensorArgument
from torch.fx import GraphModule, Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.spec import TensorSpec
from rushlight.memory.aliases import Aliases, Ownership, find_aliases, state_inputs
from rushlight.memory.in_place import WRITES_PARTS, in_place_sources, same_elements
from rushlight.memory.outputs import MUTATIONS, owners_of_mutations, place_of, separate_outputs
from rushlight.passes.base import ProgramPass


class WriteBackMutationsPass(ProgramPass):
    """Adds copies of new contents to buffers and written inputs at the end of a graph of out variants.

    If these copies overwrite the bytes of an output, the output is copied first. No copy is added for new
    contents that an in-place operator has computed in the buffer itself. With `in_place`, new contents that
    may be computed in the buffer also need no copy.

    Args:
        in_place: whether new contents of buffers and parameters may be computed in the memory of the old
            contents.
        copy_views: whether to copy outputs that are views of other tensors or results of `cond`, because the
            caller provides separate memory for outputs.
    """

    def __init__(self, in_place: bool = True, copy_views: bool = False) -> None:
        self._in_place = in_place
        self._copy_views = copy_views

    def rewrite(self, program: MethodProgram) -> bool:
        """Writes the new contents back."""
        return write_back(program.graph_module, program.graph_signature, self._in_place, self._copy_views)


def write_back(
    graph_module: GraphModule,
    signature: ExportGraphSignature,
    in_place: bool = True,
    copy_views: bool = False,
) -> bool:
    """Runs `WriteBackMutationsPass` on a graph.

    Args:
        graph_module: a graph of out variants with specs, which is changed in place.
        signature: its signature, which is changed too.
        in_place, copy_views: as for `WriteBackMutationsPass`.

    Returns:
        Whether the graph changed.
    """
    if not copy_views and not any(spec.kind in MUTATIONS for spec in signature.output_specs):
        return False
    aliases = find_aliases(graph_module, signature, Ownership())
    changed = False
    if separate_outputs(graph_module, signature, aliases, copy_views):
        aliases = find_aliases(graph_module, signature, Ownership())
        changed = True
    output = graph_module.graph.output_node()
    results = list(output.args[0])  # type: ignore[arg-type]
    users = [
        result
        for spec, result in zip(signature.output_specs, results, strict=True)
        if spec.kind not in MUTATIONS
    ]
    owners, state = owners_of_mutations(graph_module, signature), state_inputs(signature)
    for index, (spec, result) in enumerate(zip(signature.output_specs, results, strict=True)):
        owner = owners.get(index)
        if owner is None or not isinstance(result, Node) or place_of(result) is owner:
            continue
        changed = True
        if (
            in_place
            and owner.name in state
            and _compute_in_place(graph_module, aliases, owner, result, users)
        ):
            continue
        results[index] = copied = _copy_into(owner, result, output)
        signature.output_specs[index] = OutputSpec(spec.kind, TensorArgument(copied.name), spec.target)
    if changed:
        output.args = (tuple(results),)
        graph_module.recompile()
    return changed


def _copy_into(owner: Node, new: Node, output: Node) -> Node:
    with output.graph.inserting_before(output):
        copied = output.graph.create_node(
            "call_function", torch.ops.aten.copy_.default, (owner, new), name="copy_"
        )
    meta.copy_origin(new, copied)
    meta.set_val(copied, meta.get_val(owner))
    meta.set_spec(copied, meta.get_spec(owner))
    return copied


def _compute_in_place(
    graph_module: GraphModule, aliases: Aliases, owner: Node, new: Node, users: list[object]
) -> bool:
    """Computes the new contents of the buffer `owner` in its memory, if the results stay the same.

    Each operator between the buffer and its new contents must write only a part of the buffer. No node may
    read the overwritten contents afterwards. `users` are the user outputs.

    Returns:
        Whether the new contents are computed in place.
    """
    chain = _chain(owner, new)
    if not chain or not _is_overwritten_last(graph_module, aliases, [owner, *chain], users):
        return False
    spec = meta.get_spec(owner)
    for node in chain:
        meta.get_spec(node).storage_base = spec
        aliases.alias_sets.share(meta.get_spec(node), spec)
    return True


def _chain(owner: Node, new: object) -> list[Node]:
    """Returns the in-place operators from the buffer to its new contents; empty if there are none."""
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
    """Returns the argument of which the node writes a part; None for other operators."""
    op = aten_op(node.target)
    if op is None or op._schema.name not in WRITES_PARTS:
        return None
    return next((s for s in in_place_sources(node) if same_elements(s, node, spec)), None)


def _is_overwritten_last(
    graph_module: GraphModule, aliases: Aliases, chain: list[Node], users: list[object]
) -> bool:
    """Whether no node reads a tensor of the chain after the next operator of the chain overwrites it.

    `chain` is the buffer and the operators that compute its new contents. Nodes may read the new contents,
    but these must not be a user output, because the caller would see later writes to the buffer.
    """
    steps = {step.node: step.end for step in aliases.timeline.steps}
    output = graph_module.graph.output_node()
    new = meta.get_spec(chain[-1])
    if any(a.node is output and a.source in users for a in aliases.accesses_to(new)):
        return False
    for overwritten, by in itertools.pairwise(chain):
        spec = meta.get_spec(overwritten)
        if aliases.is_accessed_after(spec, steps[by]):
            return False
        if not aliases.may_write_over(spec, by, meta.get_spec(by)):
            return False
    return True
