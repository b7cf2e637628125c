"""Reads the tensor specs of planned graphs and checks memory plans, as ExecuTorch's `memory_planning`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations
from typing import Any

import torch
from torch.export.graph_signature import ExportGraphSignature, InputKind, TensorArgument
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta
from rushlight.ir.control_flow import is_control_flow
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import InternalError, internal_assert
from rushlight.ir.spec import TensorShapeDynamism, TensorSpec
from rushlight.memory.in_place import in_place_pairs
from rushlight.memory.planning_pass import MemoryPlanningPass


def filter_nodes(inputs: Iterable[Any]) -> Iterator[Node]:
    """Yields the nodes among arguments, including those in lists."""
    return (item for item in pytree.tree_leaves(list(inputs)) if isinstance(item, Node))


def get_node_tensor_specs(node: Node) -> list[TensorSpec]:
    """Returns the specs of a node; for a memory view, the specs of its argument."""
    if node.target is memory_ops.view:
        (node,) = filter_nodes(node.args[:1])
    return meta.tensor_specs(node)


def get_graph_input_tensors(
    nodes: Iterable[Node], graph_signature: ExportGraphSignature | None = None
) -> set[TensorSpec]:
    """Returns the tensor specs of the inputs that are not mutable buffers."""
    inputs = (node for node in nodes if node.op == "placeholder")
    kept = (node for node in inputs if not _is_mutable_buffer(node, graph_signature))
    return {spec for node in kept for spec in get_node_tensor_specs(node)}


def get_graph_output_tensors(nodes: Iterable[Node]) -> set[TensorSpec]:
    """Returns the tensor specs of the outputs."""
    outputs = (node for node in nodes if node.op == "output")
    return {spec for node in outputs for spec in get_node_tensor_specs(node)}


def _is_mutable_buffer(node: Node, signature: ExportGraphSignature | None) -> bool:
    if signature is None or node.op != "placeholder":
        return False
    buffer = signature.inputs_to_buffers.get(str(node.target))
    return buffer is not None and buffer in signature.buffers_to_mutate.values()


def _mutable_buffers(nodes: Iterable[Node], signature: ExportGraphSignature | None) -> set[TensorSpec]:
    buffers = (node for node in nodes if _is_mutable_buffer(node, signature))
    return {spec for node in buffers for spec in get_node_tensor_specs(node)}


def _do_user_inputs_exist(graph_signature: ExportGraphSignature | None) -> bool:
    """Returns whether a program has user inputs that are tensors."""
    if graph_signature is None:
        return False
    return any(
        spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument)
        for spec in graph_signature.input_specs
    )


def _writes(node: Node, out: bool) -> bool:
    """Whether a node calls an operator that writes an `out` argument, or its first argument."""
    op = aten_op(node.target) if node.op == "call_function" else None
    if op is None:
        return False
    written = [a for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return any(argument.kwarg_only is out for argument in written)


def _is_inplace_node(node: Node) -> bool:
    """Returns whether a node calls an in-place operator."""
    return _writes(node, out=False)


def collect_specs_from_nodes(
    nodes: Iterable[Node],
    graph_signature: ExportGraphSignature | None = None,
    ignore_graph_input: bool = False,
    ignore_graph_output: bool = False,
    ignore_mutable_buffers: bool = False,
    ignore_const: bool = True,
    ignore_out_var_node: bool = True,
    dedup: bool = True,
    do_assertion: bool = True,
    ignore_dynamic_unbound_tensor: bool = True,
) -> Iterator[TensorSpec]:
    """Yields the tensor specs of nodes.

    Args:
        nodes: the nodes.
        graph_signature: the signature, which declares the buffers.
        ignore_graph_input: leave out the inputs.
        ignore_graph_output: leave out the outputs.
        ignore_mutable_buffers: leave out the buffers that the program writes.
        ignore_const: leave out constants, except weights with a gradient.
        ignore_out_var_node: leave out calls of out variants, because another node allocates their result.
        dedup: yield each spec only once.
        do_assertion: raise an error for a node that has a spec but no memory.
        ignore_dynamic_unbound_tensor: leave out tensors whose sizes have no upper bound.

    Raises:
        InternalError: `do_assertion` is set, and a node with a spec has no memory.
    """
    listed = list(nodes)
    left_out: set[TensorSpec] = set()
    if ignore_graph_input:
        left_out |= get_graph_input_tensors(listed, graph_signature)
    if ignore_graph_output:
        left_out |= get_graph_output_tensors(listed)
    if ignore_mutable_buffers:
        left_out |= _mutable_buffers(listed, graph_signature)
    seen: set[TensorSpec] = set()
    for node in listed:
        if node.op == "get_attr" or _is_inplace_node(node) or (ignore_out_var_node and _writes(node, True)):
            continue
        specs = get_node_tensor_specs(node)
        if specs and do_assertion:
            internal_assert(_owns_memory(node), f"{node.format_node()} has no memory: unexpected {node.op}")
        keeps_constants = meta.has_gradient(node) or not ignore_const
        for spec in specs:
            unbound = spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
            if spec in left_out or (unbound and ignore_dynamic_unbound_tensor):
                continue
            if (spec.const and not keeps_constants) or (dedup and spec in seen):
                continue
            seen.add(spec)
            yield spec


def _owns_memory(node: Node) -> bool:
    if node.op in ("placeholder", "output") or is_control_flow(node):
        return True
    known = (memory_ops.alloc, memory_ops.view, operator.getitem)
    return node.target in known or node.target is torch.ops.higher_order.executorch_call_delegate


def update_tensor_lifetime(
    node: Node,
    spec: TensorSpec,
    node_idx: int,
    max_node_idx: int,
    gs: ExportGraphSignature | None = None,
) -> None:
    """Extends the lifetime of a tensor spec so that it includes a node.

    The lifetime of the tensor of a placeholder begins at 0. That of a mutable buffer ends at the last node.

    Args:
        node: the node that uses the tensor.
        spec: the tensor.
        node_idx: the index of the node in its graph.
        max_node_idx: the index of the last node.
        gs: the signature of the program; None means that it has no mutable buffers.
    """
    first, last = spec.lifetime
    begin = 0 if node.op == "placeholder" else node_idx
    end = max_node_idx if _is_mutable_buffer(node, gs) else node_idx
    spec.lifetime = [begin if first is None else min(first, begin), end if last is None else max(last, end)]


def update_all_tensors_lifetime(
    graph_module: GraphModule, graph_signature: ExportGraphSignature | None = None
) -> set[TensorSpec]:
    """Sets the lifetime of each tensor spec: the indices of the first and the last node that use it.

    The lifetime of mutable buffers extends from the first to the last node. If a spec shares the storage of
    another spec, the lifetime of the other spec includes its lifetime.

    Args:
        graph_module: a graph whose nodes have tensor specs.
        graph_signature: the signature of the program.

    Returns:
        All specs.
    """
    nodes = list(graph_module.graph.nodes)
    found: set[TensorSpec] = set()
    for index, node in enumerate(nodes):
        for user in chain([node], filter_nodes(chain(node.args, node.kwargs.values()))):
            for spec in get_node_tensor_specs(user):
                if spec not in found:
                    spec.lifetime = [None, None]
                    found.add(spec)
                update_tensor_lifetime(node, spec, index, len(nodes) - 1, graph_signature)
    _extend_storage_base_lifetimes(found)
    return found


def _extend_storage_base_lifetimes(specs: set[TensorSpec]) -> None:
    """Extends the lifetime of each storage to the lifetimes of all specs that share it."""
    for spec in specs:
        first, last = spec.lifetime
        for base in _bases(spec):
            ends = [value for value in (first, last, *base.lifetime) if value is not None]
            base.lifetime = [min(ends), max(ends)] if ends else [None, None]


def _bases(spec: TensorSpec) -> Iterator[TensorSpec]:
    """Yields the specs whose storage contains a spec, from the nearest one to the owner of the storage."""
    seen = {spec}
    while spec.storage_base is not None:
        spec = spec.storage_base
        internal_assert(spec not in seen, f"{spec} is its own storage_base, directly or indirectly")
        seen.add(spec)
        yield spec


def _in_place(node: Node) -> Iterator[tuple[TensorSpec, TensorSpec]]:
    """Yields the (argument, result) pairs of a node that have the same bytes and meet only at this node."""
    for source, result in in_place_pairs(node) if node.op == "call_function" else ():
        meets = source.lifetime[1] == result.lifetime[0]
        if meets and (source.mem_id, source.mem_offset) == (result.mem_id, result.mem_offset):
            yield source, result


def apply_algo(
    algo: Callable[..., Any],
    graph_module: GraphModule,
    alignment: int,
    graph_signature: ExportGraphSignature | None = None,
    alloc_graph_input: bool = True,
    alloc_graph_output: bool = True,
    alloc_mutable_buffers: bool = True,
    enable_non_cpu_memory_planning: bool = False,
) -> list[int]:
    """Plans the memory of a graph and of the bodies of its control flow with an algorithm.

    Args:
        algo: the algorithm, see `rushlight.memory.algorithms`.
        graph_module: a graph of out variants. The plan is written into its tensor specs.
        alignment: the alignment of every tensor in bytes.
        graph_signature: the signature, which declares the buffers.
        alloc_graph_input: whether the plan has memory for the inputs.
        alloc_graph_output: whether the plan has memory for the outputs.
        alloc_mutable_buffers: whether the plan has memory for buffers that the program writes.
        enable_non_cpu_memory_planning: plan separate memories for each device.

    Returns:
        The sizes of the memories in bytes, by memory id; entry 0 is unused.

    Raises:
        PlanError: the plan is invalid.
    """
    planning = MemoryPlanningPass(
        memory_planning_algo=algo,
        alloc_graph_input=alloc_graph_input,
        alloc_graph_output=alloc_graph_output,
        alloc_mutable_buffers=alloc_mutable_buffers,
        alignment=alignment,
    )
    planning.enable_non_cpu_memory_planning = enable_non_cpu_memory_planning
    planning.run(graph_module, graph_signature)
    return meta.get_planned_sizes(graph_module) or [0, 0]


class Verifier:
    """Checks the memory plan in the tensor specs of a graph.

    Args:
        graph_module: the graph.
        alloc_graph_input: whether the plan has memory for the inputs.
        alloc_graph_output: whether the plan has memory for the outputs.
        alloc_mutable_buffers: whether the plan has memory for buffers that the program writes.
        graph_signature: the signature, which declares the buffers.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        alloc_graph_input: bool,
        alloc_graph_output: bool,
        alloc_mutable_buffers: bool,
        graph_signature: ExportGraphSignature | None = None,
    ) -> None:
        self.graph_module = graph_module
        self.graph_signature = graph_signature
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        self.alloc_mutable_buffers = alloc_mutable_buffers

    @classmethod
    def mem_obj_id_match(
        cls, lhs_spec: TensorSpec, rhs_spec: TensorSpec, accept_both_none: bool = True
    ) -> bool:
        """Returns whether two specs belong to the same memory object."""
        if lhs_spec.mem_id != rhs_spec.mem_id:
            return False
        if lhs_spec.mem_obj_id is None and rhs_spec.mem_obj_id is None:
            return accept_both_none
        return lhs_spec.mem_obj_id == rhs_spec.mem_obj_id

    @classmethod
    def has_overlap(cls, lhs_ivl: list[int], rhs_ivl: list[int]) -> bool:
        """Returns whether two intervals overlap. An interval has its first and its last number."""
        first, last = max(lhs_ivl[0], rhs_ivl[0]), min(lhs_ivl[1], rhs_ivl[1])
        return first <= last and lhs_ivl[0] <= lhs_ivl[1] and rhs_ivl[0] <= rhs_ivl[1]

    @classmethod
    def lifetime_overlap(cls, lhs_spec: TensorSpec, rhs_spec: TensorSpec) -> bool:
        """Returns whether the lifetimes of two specs overlap.

        Raises:
            InternalError: a spec has no lifetime.
        """
        return cls.has_overlap(_lifetime(lhs_spec), _lifetime(rhs_spec))

    @classmethod
    def storage_overlap(cls, lhs_spec: TensorSpec, rhs_spec: TensorSpec) -> bool:
        """Returns whether the memory of two specs overlaps.

        Raises:
            InternalError: a spec has no offset.
        """
        if lhs_spec.mem_id != rhs_spec.mem_id:
            return False
        return cls.has_overlap(_bytes(lhs_spec), _bytes(rhs_spec))

    def verify_storage_reuse(self, allow_lifetime_and_storage_overlap: bool = False) -> int:
        """Checks that the memory of specs with overlapping lifetimes does not overlap.

        A spec may overlap the spec whose storage it shares. The result of an elementwise operator may overlap
        an argument whose lifetime ends there.

        Args:
            allow_lifetime_and_storage_overlap: do not check lifetimes.

        Returns:
            The number of pairs of specs whose memory overlaps.

        Raises:
            InternalError: the memory of two specs overlaps, and so do their lifetimes, or the specs belong to
                different memory objects.
        """
        specs = collect_specs_from_nodes(
            self.graph_module.graph.nodes,
            self.graph_signature,
            ignore_graph_input=not self.alloc_graph_input,
            ignore_graph_output=not self.alloc_graph_output,
            ignore_mutable_buffers=not self.alloc_mutable_buffers,
            ignore_out_var_node=False,
            do_assertion=False,
        )
        in_place = {frozenset(pair) for node in self.graph_module.graph.nodes for pair in _in_place(node)}
        pairs = 0
        for one, other in combinations(specs, 2):
            if (one.mem_obj_id is None) != (other.mem_obj_id is None):
                raise InternalError(f"only one of {one} and {other} has a mem_obj_id")
            if not self.storage_overlap(one, other):
                continue
            shared = one in _bases(other) or other in _bases(one) or frozenset((one, other)) in in_place
            if not allow_lifetime_and_storage_overlap and not shared and self.lifetime_overlap(one, other):
                raise InternalError(
                    f"Unexpected storage overlap: {one} and {other} are alive at the same time, at the nodes "
                    f"{one.lifetime} and {other.lifetime}, and have the bytes {_bytes(one)} and "
                    f"{_bytes(other)} of memory {one.mem_id}"
                )
            if not self.mem_obj_id_match(one, other):
                raise InternalError(f"Unexpected mem_obj_id mismatch: {one} and {other}")
            pairs += 1
        return pairs

    def verify_graph_input_output(self) -> None:
        """Checks that inputs and outputs have offsets if and only if the plan includes them.

        Raises:
            AssertionError: an input or output violates this condition.
        """
        nodes = list(self.graph_module.graph.nodes)
        assert any(node.op == "output" for node in nodes), "the graph has no output"
        inputs = get_graph_input_tensors(nodes, self.graph_signature)
        outputs = self._user_outputs(nodes)
        if inputs & outputs and self.alloc_graph_input != self.alloc_graph_output:
            return  # If an input is also an output, it cannot satisfy both conditions.
        state = _mutable_buffers(nodes, self.graph_signature)
        self._check("input", inputs - state, self.alloc_graph_input)
        self._check("output", outputs - state, self.alloc_graph_output)

    def _user_outputs(self, nodes: list[Node]) -> set[TensorSpec]:
        """Returns the specs of the outputs, without outputs that are new values of buffers."""
        if self.graph_signature is None:
            return get_graph_output_tensors(nodes)
        names = set(self.graph_signature.user_outputs)
        returned = (node for node in filter_nodes(nodes[-1].args) if node.name in names)
        return {spec for node in returned for spec in get_node_tensor_specs(node)}

    def _check(self, what: str, specs: set[TensorSpec], planned: bool) -> None:
        unbound = TensorShapeDynamism.DYNAMIC_UNBOUND
        for spec in specs:
            if not spec.const and spec.shape_dynamism != unbound:
                assert (spec.mem_offset is not None) == planned, (
                    f"Misallocate graph {what}: {spec} has the offset {spec.mem_offset}, "
                    f"and alloc_graph_{what} is {planned}"
                )


def _lifetime(spec: TensorSpec) -> list[int]:
    first, last = spec.lifetime
    if first is None or last is None:
        raise InternalError(f"{spec} has no lifetime")
    return [first, last]


def _bytes(spec: TensorSpec) -> list[int]:
    """Returns the offsets of the first and the last byte of a spec in its memory."""
    if spec.mem_offset is None or spec.mem_offset < 0:
        raise InternalError(f"{spec} has no offset in memory")
    return [spec.mem_offset, spec.mem_offset + spec.allocated_memory - 1]
