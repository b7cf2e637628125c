"""Sets the TensorSpecs of all nodes."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.node import map_aggregate
from typing_extensions import override

from rushlight.ir import memory_ops, meta
from rushlight.ir.constants import constant_inputs
from rushlight.ir.control_flow import is_delegate_call
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.out_variants import returns_first_argument
from rushlight.ir.spec import TensorSpec, contiguous_strides, strides_from_dim_order
from rushlight.passes.base import GraphPass, ProgramPass

_CHANNELS_LAST = ((0, 2, 3, 1), (0, 2, 3, 4, 1))


class SpecPropPass(GraphPass):
    """Sets specs from value metadata. An in-place operator shares the spec of the tensor that it writes."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        for node in module.graph.nodes:
            meta.set_spec(node, _spec_of(node, module))
        return True

    def update_placeholder_tensor_specs(
        self, exported_program: ExportedProgram, graph_module: GraphModule
    ) -> None:
        """Marks the specs of parameters, constants and unchanged buffers."""
        mark_constants(exported_program, graph_module)


class AllocationSpecPropPass(GraphPass):
    """Sets the spec of an allocation without a spec to the spec of the operator that writes it."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            if node.op == "call_function" and node.target is not memory_ops.alloc:
                outs = _allocations(node)
                if not all(meta.has_spec(out) for out in outs):
                    _share_specs(node, outs)
                    changed = True
        return changed


def _allocations(node: Node) -> list[Node]:
    """Returns the allocations that the node writes, in order."""
    return [
        value
        for given in node.kwargs.values()
        for value in (given if isinstance(given, (list, tuple)) else (given,))
        if isinstance(value, Node) and value.target is memory_ops.alloc
    ]


def _share_specs(node: Node, outs: list[Node]) -> None:
    specs = meta.tensor_specs(node)
    shared = [meta.get_spec(node)] if len(outs) == 1 and len(specs) != 1 else specs
    for out, spec in zip(outs, shared, strict=False):
        if not meta.has_spec(out):
            meta.set_spec(out, spec)


class MarkConstantsPass(ProgramPass):
    """Marks the specs of the placeholders of constants."""

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        return mark_constants(program, program.graph_module)


def mark_constants(program: ExportedProgram, graph_module: GraphModule) -> bool:
    """Marks the specs of constant placeholders. Returns whether the program has constants."""
    constants = constant_inputs(program)
    for node in graph_module.graph.nodes:
        if node.op == "placeholder" and node.name in constants:
            for spec in meta.tensor_specs(node):
                spec.const = True
    return bool(constants)


def with_known_layout(spec: TensorSpec) -> TensorSpec:
    """Sets the layout of a spec to row-major if it is neither row-major nor channels last. Returns the spec.

    Kernels support only these two layouts, and write results in the layout of the spec.
    """
    order, rank = tuple(spec.dim_order), len(spec.shape)
    if order != tuple(range(rank)) and order not in _CHANNELS_LAST:
        spec.dim_order = tuple(range(rank))
        spec.stride = contiguous_strides(spec.shape)
    return spec


def _spec_of(node: Node, module: GraphModule) -> Any:
    if node.op == "output":
        return map_aggregate(
            node.args[0], lambda item: meta.get_spec(item) if isinstance(item, Node) else None
        )
    if node.op == "get_attr":
        value = operator.attrgetter(str(node.target))(module)
        return TensorSpec.from_tensor(value, const=True) if isinstance(value, torch.Tensor) else None
    if node.op == "call_function":
        if node.target is operator.getitem:
            source = node.args[0]
            index: Any = node.args[1]
            items = meta.get_spec(source) if isinstance(source, Node) else None
            return items[index] if isinstance(items, (list, tuple)) else None
        if is_delegate_call(node) and meta.has_spec(node):
            return meta.get_spec(node)
        op = aten_op(node.target)
        if op is not None and returns_first_argument(op):
            return meta.get_spec(node.args[0])  # type: ignore[arg-type]
    spec = map_aggregate(meta.find_val(node), _make)
    order = node.kwargs.get("dim_order")
    if isinstance(spec, TensorSpec) and isinstance(order, (list, tuple)):
        _set_dim_order(spec, order)
    return spec


def _set_dim_order(spec: TensorSpec, order: Any) -> None:
    """Sets the dim order that the operator requests, because strides are ambiguous for dims of size 1."""
    spec.dim_order = tuple(order)
    spec.stride = strides_from_dim_order(spec.shape, order)


def _make(val: object) -> Any:
    if isinstance(val, torch.Tensor):
        return with_known_layout(TensorSpec.from_tensor(val))
    return val if isinstance(val, (bool, int, float)) else None
