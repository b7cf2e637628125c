"""Replaces functional operators by in-place operators where no node reads the old value afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.fx.node import map_arg
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, aten_op, is_op, ops, to_edge_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.program import rename_output
from rushlight.passes.base import ProgramPass

DEFAULT_INPLACEABLE_OPS: frozenset[object] = frozenset({ops.edge.aten.index_put.default})
"""The operators that are rewritten by default. They update a part of a large tensor."""

_VIEWS = (torch.ops.aten.view_copy.default,)
_WRITES_INPUT = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


class ReinplacePass(ProgramPass):
    """Rewrites calls of some operators, as `reinplace_pass` does, in a copy of the program.

    Before: y = aten.index_put(x, indices, values)
    Expected: y = aten.index_put_(x, indices, values)

    Args:
        extra_ops: operators besides `DEFAULT_INPLACEABLE_OPS`.
    """

    def __init__(self, extra_ops: Collection[object] = ()) -> None:
        self._ops = DEFAULT_INPLACEABLE_OPS | frozenset(extra_ops)

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        return _reinplace(program, _replacements(self._ops, {}))


def reinplace_pass(
    ep: ExportedProgram,
    ops_to_inplace: Iterable[object] | None = None,
    inplace_overrides: Mapping[object, object] | None = None,
) -> ExportedProgram:
    """Rewrites calls of functional edge operators to their in-place operators where this is safe.

    A call is rewritten if three conditions hold. No later node reads the overwritten tensor or a view of it.
    The overwritten tensor has the shape and dtype of the result. The program computes the overwritten tensor,
    or it is an input that the program also writes without this pass. If the operator has no in-place form,
    the node gets the metadata key `_share_alloc_with_arg_idx`. The memory planner then places the result in
    the memory of this argument.

    Args:
        ep: an edge program, which is changed.
        ops_to_inplace: the operators to rewrite, by default `DEFAULT_INPLACEABLE_OPS`. The in-place operator
            of ATen with the matching schema replaces them.
        inplace_overrides: maps functional operators to the in-place operators that replace them.

    Returns:
        The same program.

    Raises:
        ValueError: the schema of an in-place operator does not match the operator that it replaces.
    """
    chosen = DEFAULT_INPLACEABLE_OPS if ops_to_inplace is None else ops_to_inplace
    if _reinplace(ep, _replacements(chosen, inplace_overrides or {})):
        ep.graph_module.recompile()
    return ep


def inplace_operator(functional: object) -> EdgeOpOverload | None:
    """Returns the in-place edge operator for a functional ATen operator; None if ATen has none."""
    op = _overload(functional)
    if op.namespace != "aten":
        return None
    packet = getattr(torch.ops.aten, op._schema.name.split("::")[1] + "_", None)
    for name in packet.overloads() if packet is not None else ():
        candidate = getattr(packet, name)
        if _writes_first(op._schema, candidate._schema):
            return to_edge_op(candidate)
    return None


def _overload(op: object) -> OpOverload:
    found = aten_op(op)
    if found is None:
        raise ValueError(f"{op} is not an operator")
    return found


def _writes_first(functional: torch.FunctionSchema, inplace: torch.FunctionSchema) -> bool:
    """Returns whether two schemas differ only because `inplace` writes its first argument."""
    wanted, given = functional.arguments, inplace.arguments
    if not given or len(wanted) != len(given):
        return False
    alias = given[0].alias_info
    types = all(str(a.type) == str(b.type) for a, b in zip(wanted, given, strict=True))
    return types and alias is not None and alias.is_write


def _replacements(chosen: Iterable[object], overrides: Mapping[object, object]) -> dict[object, object]:
    """Returns the in-place form of each operator; None for an operator without an in-place form."""
    found: dict[object, object] = {op: inplace_operator(op) for op in chosen if op not in overrides}
    for functional, inplace in overrides.items():
        wanted, given = _overload(functional)._schema, _overload(inplace)._schema
        if not _writes_first(wanted, given):
            raise ValueError(
                f"Schema mismatch: {inplace} cannot replace {functional}. It must take the same arguments "
                f"and write the first one; the schemas are {given} and {wanted}"
            )
        if not given.name.startswith(wanted.name + "_"):
            raise ValueError(
                f"Suspicious replacement of {functional}: the name of {inplace} should start with "
                f"{wanted.name}_"
            )
        if not any(r.alias_info is not None and r.alias_info.is_write for r in given.returns):
            raise ValueError(f"{inplace} must return an argument that it writes; its schema is {given}")
        found[functional] = inplace
    return found


def _reinplace(program: ExportedProgram, replacements: Mapping[object, object]) -> bool:
    graph = program.graph
    writable = _writable_inputs(program)
    # The caller reads the results, and the program copies new values of buffers and inputs at its end.
    read = {_storage(node) for node in graph.output_node().all_input_nodes}
    changed = False
    for node in reversed(list(graph.nodes)):
        if node.op != "call_function":
            continue
        if node.target not in replacements:
            read.update(map(_storage, node.all_input_nodes))
            continue
        target = replacements[node.target]
        index = 0 if target is not None else _first_tensor(node)
        overwritten = node.args[index] if index is not None and index < len(node.args) else None
        if isinstance(overwritten, Node) and _may_overwrite(node, overwritten, read, writable):
            changed = True
            if target is None:
                meta.share_place_with_argument(node, index or 0)
            else:
                node = _replace(program, node, target)
        read.update(map(_storage, node.all_input_nodes))
    return changed


def _writable_inputs(program: ExportedProgram) -> set[str]:
    """Returns the names of the placeholders of buffers and inputs that the program writes."""
    signature = program.graph_signature
    targets = {str(spec.target) for spec in signature.output_specs if spec.kind in _WRITES_INPUT}
    return {
        spec.arg.name
        for spec in signature.input_specs
        if (spec.arg.name if spec.kind is InputKind.USER_INPUT else spec.target) in targets
    }


def _storage(node: Node) -> Node:
    """Returns the node whose memory `node` uses: the base of a chain of views, or `node` itself."""
    while is_op(node, *_VIEWS) and isinstance(node.args[0], Node):
        node = node.args[0]
    return node


def _first_tensor(node: Node) -> int | None:
    return next((i for i, value in enumerate(node.args) if isinstance(value, Node)), None)


def _may_overwrite(node: Node, overwritten: Node, read: Collection[Node], writable: Collection[str]) -> bool:
    source = _storage(overwritten)
    if source in read or not _fits(overwritten, node):
        return False
    inputs: list[Node] = []  # with repetitions
    map_arg((node.args, node.kwargs), inputs.append)
    if [_storage(value) for value in inputs].count(source) > 1:
        return False
    return source.op != "placeholder" or source.name in writable


def _fits(overwritten: Node, node: Node) -> bool:
    """Returns whether two values have the same dtype and shape for all inputs."""
    before, after = meta.get_tensor(overwritten), meta.get_tensor(node)
    if before is None or after is None:
        return True
    return (
        before.dtype == after.dtype
        and before.dim() == after.dim()
        and all(statically_known_true(a == b) for a, b in zip(before.shape, after.shape, strict=True))
    )


def _replace(program: ExportedProgram, node: Node, target: object) -> Node:
    assert callable(target)
    with node.graph.inserting_before(node):
        new = node.graph.call_function(target, node.args, node.kwargs)
    meta.copy_origin(node, new)
    meta.set_val(new, meta.get_val(node))
    node.replace_all_uses_with(new)
    rename_output(program, node, new)
    node.graph.erase_node(node)
    return new
