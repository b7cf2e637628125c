"""Converts edge programs to OpenVINO models with OpenVINO's PyTorch frontend.

The frontend supports ATen operators. This module first replaces operators that the frontend does not support,
or interprets differently, by ATen operators. These are operators with dim orders, and quantize and dequantize
operators that are not in pairs.
"""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import Argument

from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload
from rushlight.ir.errors import CompileError
from rushlight.ir.quantization import (
    INTEGERS,
    PerChannelDequantize,
    QuantParams,
    dequantize_params,
    is_inverse,
    qd,
    quantize_params,
)

if TYPE_CHECKING:
    import openvino

aten = torch.ops.aten
MISSING = "OpenvinoPartitioner needs OpenVINO: pip install 'rushlight[openvino]'"
CANNOT_CONVERT = "OpenVINO cannot convert a partition: "


def aten_name(node: Node) -> str:
    """Returns the operator name, such as "aten.add.Tensor"; "" if the node calls no operator."""
    target = getattr(node.target, "_op", node.target)
    return str(target) if isinstance(target, torch._ops.OpOverload) else ""


def convert(graph: Graph, constants: Mapping[str, torch.Tensor]) -> openvino.Model:
    """Converts a graph to a model of OpenVINO.

    Args:
        graph: the graph of a partition.
        constants: the tensors of the placeholders that become constants of the model, by name.

    Raises:
        CompileError: OpenVINO is not installed or cannot convert the graph. The message contains OpenVINO's
            reason.
    """
    try:
        from openvino.frontend import FrontEndManager
        from openvino.frontend.pytorch.fx_decoder import TorchFXPythonDecoder
    except ImportError as error:
        raise CompileError(MISSING) from error
    module = _module(graph, constants)
    frontend = FrontEndManager().load_by_framework("pytorch")
    types = [str(meta.get_val(node).dtype) for node in module.graph.nodes if node.op == "placeholder"]
    # The frontend has no reference to the decoder; the variable keeps it alive.
    decoder = TorchFXPythonDecoder(module, input_types=types)
    try:
        return frontend.convert(frontend.load(decoder))
    except RuntimeError as error:
        raise CompileError(f"{CANNOT_CONVERT}{_reason(str(error))}") from error


def _reason(text: str) -> str:
    lines = [line.strip(" -") for line in text.splitlines() if line.strip()]
    chosen = [line for line in lines if "No conversion rule" in line or "Conversion is failed" in line]
    return (chosen or lines or ["no reason given"])[-1]


def serialize(model: openvino.Model) -> tuple[bytes, bytes]:
    """Returns the XML and the weights of a model, as bytes."""
    import openvino

    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder) / "model.xml"
        openvino.serialize(model, xml)
        return xml.read_bytes(), xml.with_suffix(".bin").read_bytes()


def _module(graph: Graph, constants: Mapping[str, torch.Tensor]) -> GraphModule:
    new = Graph()
    root = torch.nn.Module()
    values: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op == "placeholder" and node.name in constants:
            root.register_buffer(f"constant_{len(values)}", constants[node.name].detach())
            values[node] = new.get_attr(f"constant_{len(values)}")
        elif node.op == "call_function" and aten_name(node) in _REWRITES:
            values[node] = _REWRITES[aten_name(node)](new, node, values)
        else:
            copy = values[node] = new.node_copy(node, lambda source: values[source])
            copy.name = node.name
            if isinstance(copy.target, EdgeOpOverload):
                copy.target = copy.target._op
    return GraphModule(root, new)


_Rewrite = Callable[[Graph, Node, Mapping[Node, Node]], Node]


def _to_dim_order_copy(graph: Graph, node: Node, values: Mapping[Node, Node]) -> Node:
    dtype = node.kwargs.get("dtype")
    kwargs: dict[str, Argument] = {} if dtype is None else {"dtype": dtype}
    return graph.call_function(aten._to_copy.default, (values[node.args[0]],), kwargs)  # type: ignore[index]


def _clone_dim_order(graph: Graph, node: Node, values: Mapping[Node, Node]) -> Node:
    return graph.call_function(aten.clone.default, (values[node.args[0]],))  # type: ignore[index]


def paired_dequantizes(node: Node) -> list[Node]:
    """Returns the users of a quantize node if all of them dequantize its result; otherwise an empty list."""
    users = list(node.users)
    if not users or quantize_params(node, *INTEGERS) is None:
        return []
    return users if all(is_inverse(user, node) for user in users) else []


def _literal(params: QuantParams | None, node: Node) -> QuantParams:
    if params is None:
        raise CompileError(f"{CANNOT_CONVERT}the quantization parameters of {node.name} are not constant")
    return params


def _quantize(graph: Graph, node: Node, values: Mapping[Node, Node]) -> Node:
    params = _literal(quantize_params(node, *INTEGERS), node)
    x = values[node.args[0]]  # type: ignore[index]
    if paired_dequantizes(node):
        return graph.call_function(qd.quantize_per_tensor.default, (x, *node.args[1:6]))
    x = graph.call_function(aten.round.default, (graph.call_function(aten.div.Tensor, (x, params.scale)),))
    x = graph.call_function(aten.add.Tensor, (x, params.zero_point))
    x = graph.call_function(aten.clamp.default, (x, params.quant_min, params.quant_max))
    return graph.call_function(aten._to_copy.default, (x,), {"dtype": params.dtype})


def _dequantize(graph: Graph, node: Node, values: Mapping[Node, Node]) -> Node:
    params, source = _literal(dequantize_params(node, *INTEGERS), node), node.args[0]
    x = values[source]  # type: ignore[index]
    if isinstance(source, Node) and paired_dequantizes(source):
        return x
    x = graph.call_function(aten._to_copy.default, (x,), {"dtype": torch.float32})
    if params.zero_point:
        x = graph.call_function(aten.sub.Tensor, (x, float(params.zero_point)))
    return graph.call_function(aten.mul.Tensor, (x, params.scale))


def _dequantize_per_channel(graph: Graph, node: Node, values: Mapping[Node, Node]) -> Node:
    params, tensor = PerChannelDequantize.of(node), meta.get_tensor(node)
    assert params is not None and tensor is not None
    shape = [-1 if i == params.axis % tensor.dim() else 1 for i in range(tensor.dim())]

    def by_channel(parameter: Node) -> Node:
        value = graph.call_function(aten._to_copy.default, (values[parameter],), {"dtype": torch.float32})
        return graph.call_function(aten.view.default, (value, shape))

    x = graph.call_function(aten._to_copy.default, (values[params.source],), {"dtype": torch.float32})
    if params.zero_point is not None:
        x = graph.call_function(aten.sub.Tensor, (x, by_channel(params.zero_point)))
    return graph.call_function(aten.mul.Tensor, (x, by_channel(params.scale)))


_REWRITES: dict[str, _Rewrite] = {
    "dim_order_ops._to_dim_order_copy.default": _to_dim_order_copy,
    "dim_order_ops._clone_dim_order.default": _clone_dim_order,
    "quantized_decomposed.quantize_per_tensor.default": _quantize,
    "quantized_decomposed.dequantize_per_tensor.default": _dequantize,
    "quantized_decomposed.dequantize_per_channel.default": _dequantize_per_channel,
}


def is_item(node: Node) -> bool:
    """Returns whether a node is a getitem node, which selects one of several results."""
    return node.target is operator.getitem
