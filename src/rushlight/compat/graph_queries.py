"""Small functions on nodes, specs and annotations that code for ExecuTorch imports from several modules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves
from torchao.quantization.pt2e.quantizer import QuantizationSpec

from rushlight.ir import meta
from rushlight.ir.spec import TensorSpec
from rushlight.passes.export_pass import ProxyValue

_LAYOUTS = {torch.strided: 0, torch.sparse_coo: 1}
_MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1}
_RELUS = (torch.ops.aten.relu.default, torch.ops.aten.relu_.default)


def _nodes_of(graph_module: GraphModule, operator: object) -> Iterable[Node]:
    return (node for node in graph_module.graph.nodes if node.target is operator)


def get_cond_nodes(graph_module: GraphModule) -> Iterable[Node]:
    """Returns the calls of `torch.cond` in a graph."""
    return _nodes_of(graph_module, torch.ops.higher_order.cond)


def get_while_nodes(graph_module: GraphModule) -> Iterable[Node]:
    """Returns the calls of `while_loop` in a graph."""
    return _nodes_of(graph_module, torch.ops.higher_order.while_loop)


def get_map_nodes(graph_module: GraphModule) -> Iterable[Node]:
    """Returns the calls of `map` in a graph."""
    return _nodes_of(graph_module, torch.ops.higher_order.map_impl)


def get_scan_nodes(graph_module: GraphModule) -> Iterable[Node]:
    """Returns the calls of `scan` in a graph."""
    return _nodes_of(graph_module, torch.ops.higher_order.scan)


def get_input_specs(graph_module: GraphModule) -> set[TensorSpec]:
    """Returns the specs of the inputs of a graph."""
    inputs = (node for node in graph_module.graph.nodes if node.op == "placeholder")
    return {spec for node in inputs for spec in tree_leaves(meta.get_spec(node))}


def get_return_specs(graph_module: GraphModule) -> set[TensorSpec]:
    """Returns the specs of the outputs of a graph."""
    return set(tree_leaves(meta.get_spec(graph_module.graph.output_node())))


def make_spec(x: object) -> Any:
    """Returns the spec of a tensor or of a value in a pass, numbers unchanged, and None for other objects."""
    if isinstance(x, ProxyValue):
        return make_spec(meta.get_val(x.node))
    if isinstance(x, torch.Tensor):
        return TensorSpec.from_tensor(x)
    return x if isinstance(x, (int, bool, float)) else None


def is_param_node(exp_prog: ExportedProgram, node: Node) -> bool:
    """Returns whether a node is a parameter, a buffer or a constant tensor of a program."""
    signature = exp_prog.graph_signature
    kinds = (
        signature.inputs_to_parameters,
        signature.inputs_to_buffers,
        signature.inputs_to_lifted_tensor_constants,
    )
    return any(node.name in kind for kind in kinds)


def layout_enum(layout: torch.layout) -> int:
    """Returns the number of a layout in a program file.

    Raises:
        KeyError: program files do not support the layout.
    """
    return _LAYOUTS[layout]


def memory_format_enum(memory_format: torch.memory_format) -> int:
    """Returns the number of a memory format.

    Raises:
        KeyError: the memory format depends on the number of dimensions.
    """
    return _MEMORY_FORMATS[memory_format]


def is_relu_node(node: Node) -> bool:
    """Returns whether a node calls ReLU."""
    return node.op == "call_function" and node.target in _RELUS


def change_quantization_config(
    original_qspec: QuantizationSpec,
    dtype: torch.dtype | None = None,
    quant_min: int | None = None,
    quant_max: int | None = None,
    qscheme: torch.qscheme | None = None,
    ch_axis: int | None = None,
    is_dynamic: bool | None = None,
    observer_or_fake_quant_ctr: Any = None,
) -> QuantizationSpec:
    """Returns a copy of a spec of quantization with other fields.

    A value that is false, such as None or 0, changes nothing.

    Args:
        original_qspec: the spec.
        dtype: the dtype of the quantized values.
        quant_min: the smallest quantized value.
        quant_max: the largest quantized value.
        qscheme: the scheme, such as `torch.per_tensor_affine`.
        ch_axis: the dimension of the channels.
        is_dynamic: whether the range is measured at run time.
        observer_or_fake_quant_ctr: the constructor of the observer.
    """
    changes = {
        "dtype": dtype,
        "quant_min": quant_min,
        "quant_max": quant_max,
        "qscheme": qscheme,
        "ch_axis": ch_axis,
        "is_dynamic": is_dynamic,
        "observer_or_fake_quant_ctr": observer_or_fake_quant_ctr,
    }
    return replace(original_qspec, **{name: value for name, value in changes.items() if value})
