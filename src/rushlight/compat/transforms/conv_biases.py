"""Quantizes biases of convolutions that result from folding a batch norm."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.compat.transforms.constants import (
    create_constant_placeholder,
    get_param_tensor,
    is_param_node,
    set_param_tensor,
)
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op
from rushlight.ir.fake import Evaluator

aten = torch.ops.aten
qd = torch.ops.quantized_decomposed

_CONVS = (aten.convolution.default, aten.conv2d.default, aten.conv_transpose2d.input)
_UNSQUEEZES = (aten.unsqueeze_copy.default, aten.unsqueeze.default)
_HIGHEST = 2**31 - 1


class _Tensors:
    """The stored tensors of a graph: tensors of a program, or attributes of a graph module."""

    def __init__(self, module: GraphModule, program: ExportedProgram | None) -> None:
        self._module = module
        self._program = program
        self._evaluator = Evaluator.of(module)

    def read(self, node: object) -> torch.Tensor | None:
        if not isinstance(node, Node):
            return None
        if self._program is not None:
            return get_param_tensor(self._program, node) if is_param_node(self._program, node) else None
        if node.op != "get_attr":
            return None
        value = operator.attrgetter(str(node.target))(self._module)
        return value if isinstance(value, torch.Tensor) else None

    def write(self, node: Node, tensor: torch.Tensor) -> None:
        if self._program is not None:
            set_param_tensor(self._program, node, tensor)
        else:
            path, _, name = str(node.target).rpartition(".")
            owner = self._module.get_submodule(path)
            kept = torch.nn.Parameter(tensor, requires_grad=False)
            setattr(owner, name, kept if name in owner._parameters else tensor)
        meta.set_val(node, self._evaluator.like(tensor))

    def add(self, name: str, tensor: torch.Tensor, user: Node) -> Node:
        """Adds a tensor, and returns a node that reads it."""
        graph = user.graph
        if self._program is not None:
            first = graph.find_nodes(op="placeholder")[0]
            with graph.inserting_before(first):
                return create_constant_placeholder(self._program, graph, name, InputKind.PARAMETER, tensor)
        self._module.register_parameter(name, torch.nn.Parameter(tensor, requires_grad=False))
        with graph.inserting_before(user):
            node = graph.get_attr(name)
        meta.set_val(node, self._evaluator.like(tensor))
        return node


class QuantizeFusedConvBnBiasAtenPass(PassBase):
    """Converts float biases of quantized convolutions to int32, and adds dequantize nodes.

    A bias that results from folding a batch norm did not exist when the quantizer ran. The scale of a bias is
    the product of the scales of the input and the weight.

    Before: y = conv2d(dequantize_per_tensor(x, s, ...), dequantize_per_channel(w, t, ...), b)
    Expected: y = conv2d(..., dequantize_per_channel(b, s * t, 0, 0, -2**31, 2**31 - 1, int32))

    Args:
        exported_program: the program that stores the tensors; None if they are attributes of the module.
        default_zero_bias: add a bias of zeros to convolutions without a bias.
        symmetric_quant: use -(2**31 - 1) as quant_min, instead of -2**31.
    """

    def __init__(
        self,
        exported_program: ExportedProgram | None = None,
        default_zero_bias: bool = False,
        symmetric_quant: bool = False,
    ) -> None:
        super().__init__()
        self.exported_program = exported_program
        self.default_zero_bias = default_zero_bias
        self.symmetric_quantization = symmetric_quant

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module and its stored tensors, in place."""
        tensors = _Tensors(graph_module, self.exported_program)
        changed = False
        for node in list(graph_module.graph.nodes):
            if is_op(node, *_CONVS):
                changed |= self._quantize(tensors, node)
        graph_module.recompile()
        return PassResult(graph_module, changed)

    def _quantize(self, tensors: _Tensors, node: Node) -> bool:
        image, weight = node.args[:2]
        if is_op(image, *_UNSQUEEZES):
            image = image.args[0]
        added = False
        bias: Any = node.args[2] if len(node.args) > 2 else None
        if bias is None and self.default_zero_bias:
            zeros = torch.zeros(int(meta.get_shape(node)[1]))
            bias, added = tensors.add(f"{node.name}_default_zero_bias", zeros, node), True
            node.args = (*node.args[:2], bias, *node.args[3:])
        stored = tensors.read(bias)
        quantized = isinstance(weight, Node) and len(weight.args) > 1
        if stored is None or stored.dtype is torch.int32 or not quantized:
            return added
        if not is_op(image, qd.dequantize_per_tensor.default):
            return added
        assert isinstance(weight, Node)
        lowest = -_HIGHEST if self.symmetric_quantization else -_HIGHEST - 1
        scale: Any = weight.args[1]
        input_scale: Any = image.args[1]
        if isinstance(scale, Node):
            scales = tensors.read(scale)
            if scales is None:
                return added
            scales = scales * input_scale
            zeros = torch.zeros(scales.shape, dtype=torch.int32)
            bounds: Any = (0, lowest, _HIGHEST, torch.int32)
            integers = qd.quantize_per_channel.default(stored.detach(), scales, zeros, *bounds)
            names = [f"{node.name}_bias_{kind}" for kind in ("scale", "zero_point")]
            params = [
                tensors.add(name, value, node) for name, value in zip(names, (scales, zeros), strict=True)
            ]
            op, arguments = qd.dequantize_per_channel.default, (bias, *params, *bounds)
        else:
            bounds = (input_scale * scale, 0, lowest, _HIGHEST, torch.int32)
            integers = qd.quantize_per_tensor.default(stored.detach(), *bounds)
            op, arguments = qd.dequantize_per_tensor.default, (bias, *bounds)
        value = meta.find_val(bias)
        tensors.write(bias, integers)
        with node.graph.inserting_before(node):
            floats = node.graph.call_function(op, arguments)
        meta.set_val(floats, torch.empty_like(stored) if value is None else value)
        node.replace_input_with(bias, floats)
        return True
