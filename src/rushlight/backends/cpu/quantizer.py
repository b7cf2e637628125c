"""The quantizer for the CPU backend and the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from torch.fx import GraphModule

from rushlight.quantize import patterns as p
from rushlight.quantize.layers import layer_name, listed
from rushlight.quantize.pattern_quantizer import PatternQuantizer, is_annotated
from rushlight.quantize.patterns import Kind, Pattern, aten

_POOLS = frozenset({aten.avg_pool2d.default})

# Elementwise functions of one tensor; on int8, each becomes a lookup table of 256 entries.
_FUNCTIONS = frozenset(
    {
        aten.sigmoid.default,
        aten.tanh.default,
        aten.gelu.default,
        aten.silu.default,
        aten.silu_.default,
        aten.hardswish.default,
        aten.hardswish_.default,
        aten.hardsigmoid.default,
        aten.leaky_relu.default,
        aten.leaky_relu_.default,
        aten.elu.default,
    }
)


class CpuQuantizer(PatternQuantizer):
    """Quantizes models for the CPU backend and the kernels.

    It supports int8 with ranges from calibration, from training or at run time, and weight-only quantization
    to 8 or 4 bits.

    It quantizes linear layers and convolutions (with batch norm in training, and ReLU or clamp), transposed
    convolutions, additions and multiplications (with ReLU or clamp), concatenations, average pooling and
    means, elementwise functions after quantized operators, and operators that only move or clamp values.
    Dynamic and weight-only configurations also quantize the weights of embeddings, and the matrices of LSTM,
    GRU and RNN.

    It quantizes softmax only on request, by `set_operator_type(torch.ops.aten.softmax.int, static_int8())`,
    because 8 bits are often too inexact for attention. Small devices can then compute softmax without float32
    exponentials.
    """

    name: ClassVar[str] = "CpuQuantizer"
    patterns: ClassVar[tuple[Pattern, ...]] = (
        Pattern("linear", p.LINEAR, Kind.WEIGHTED, p.CLAMP, dynamic=True, weight_only=True),
        Pattern("conv", p.CONV, Kind.WEIGHTED, p.CLAMP),
        Pattern("conv_transpose", p.CONV_TRANSPOSE, Kind.WEIGHTED, p.CLAMP, weight_axis=1),
        Pattern("embedding", p.EMBEDDING, Kind.TABLE, weight_only=True),
        Pattern("recurrent", p.RECURRENT, Kind.RECURRENT, weight_only=True),
        Pattern("add", p.ADD, Kind.BINARY, p.CLAMP),
        Pattern("mul", p.MUL, Kind.BINARY, p.CLAMP),
        Pattern("cat", p.CAT, Kind.CONCAT, always=False),
        Pattern("function", _FUNCTIONS, Kind.UNARY, always=False),
        Pattern("softmax", p.SOFTMAX, Kind.UNARY, named=True, output=p.PROBABILITIES),
        Pattern("shared", p.MOVEMENT | p.MEANS | _POOLS | p.CLAMP, Kind.SHARED, always=False),
    )

    def concerns(self, model: GraphModule) -> Iterator[str]:
        """Yields the warnings of the base class, and one for convolutions with 16-bit activations."""
        yield from super().concerns(model)
        layers = [
            layer_name(node)
            for node, pattern, config in self.weighted(model)
            if pattern.targets is not p.LINEAR
            and is_annotated(node)
            and config.input_activation is not None
            and config.input_activation.dtype == torch.int16
        ]
        if layers:
            yield (
                f"static_int16() makes {len(layers)} convolution{'s' * (len(layers) > 1)} slower than "
                f"float32 and no smaller: {listed(layers)}. No kernel computes 16-bit convolutions. They run "
                "in float32, between conversions, with weights stored in float32. static_int8() is faster "
                "and smaller"
            )
