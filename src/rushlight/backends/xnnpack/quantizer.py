"""What XNNPACK runs quantized."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch.fx import Node

from rushlight.ir import meta
from rushlight.quantize import QuantizationConfig, QuantizationError
from rushlight.quantize import patterns as p
from rushlight.quantize.pattern_quantizer import PatternQuantizer, is_depthwise
from rushlight.quantize.patterns import Kind, Pattern
from rushlight.quantize.specs import get_symmetric_quantization_config

__all__ = ["XNNPACKQuantizer", "get_symmetric_quantization_config"]


def _conv(node: Node, dynamic: bool) -> bool:
    """Any convolution by calibration; with ranges found at run time, plain 2-d ones."""
    if not dynamic:
        return True
    weight = meta.get_tensor(node.args[1])  # type: ignore[arg-type]
    return weight is not None and weight.dim() == 4 and not is_depthwise(node)


def _conv_transpose(node: Node, dynamic: bool) -> bool:
    return p.groups_of(node) == 1 and _conv(node, dynamic)


class XNNPACKQuantizer(PatternQuantizer):
    """int8 by calibration, training or at run time, for `XnnpackBackend`.

    Linear and convolution (with batch norm in training, and ReLU or clamp), transposed convolution, add and
    multiply (with ReLU), cat, means over pictures, and what only moves or clamps values behind them.
    """

    name: ClassVar[str] = "XNNPACKQuantizer"
    patterns: ClassVar[tuple[Pattern, ...]] = (
        Pattern("linear", p.LINEAR, Kind.WEIGHTED, p.CLAMP, dynamic=True, weight_only=True),
        Pattern("conv", p.CONV, Kind.WEIGHTED, p.CLAMP, dynamic=True, weight_only=True, accept=_conv),
        Pattern(
            "conv_transpose",
            p.CONV_TRANSPOSE,
            Kind.WEIGHTED,
            p.CLAMP,
            dynamic=True,
            weight_axis=1,
            accept=_conv_transpose,
        ),
        Pattern("add", p.ADD, Kind.BINARY, p.RELU),
        Pattern("mul", p.MUL, Kind.BINARY, p.RELU),
        Pattern("cat", p.CAT, Kind.CONCAT),
        Pattern("adaptive_avg_pool2d", frozenset({p.aten.adaptive_avg_pool2d.default}), Kind.SHARED),
        Pattern(
            "shared",
            (p.MOVEMENT | p.MEANS | p.CLAMP) - {p.aten.adaptive_avg_pool2d.default},
            Kind.SHARED,
            always=False,
        ),
    )

    def check(self, quantization_config: QuantizationConfig) -> None:
        """Raises QuantizationError for activations wider than 8 bits."""
        spec = quantization_config.input_activation
        if spec is not None and spec.dtype not in (torch.int8, torch.uint8):
            raise QuantizationError(
                f"XNNPACKQuantizer cannot quantize activations to {str(spec.dtype).removeprefix('torch.')}: "
                "XNNPACK has 8-bit ones; CPUQuantizer has both"
            )
