"""The quantizer of XnnpackBackend."""

from __future__ import annotations

import itertools
from typing import ClassVar

import torch
from torch._ops import OpOverload
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import OperatorConfig

from rushlight.ir import meta
from rushlight.quantize import QuantizationConfig, QuantizationError, specs
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
    """Quantizes models to int8 for `XnnpackBackend`, with ranges from data, from training or at run time.

    It quantizes linear layers and convolutions (with batch norm in training, and ReLU or clamp), transposed
    convolutions, additions and multiplications (with ReLU), concatenations, means over images, and operators
    after these that only move or clamp values.
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

    @classmethod
    def get_supported_quantization_configs(cls) -> list[QuantizationConfig]:
        """Returns the configurations of `get_symmetric_quantization_config` that quantize different
        operators.
        """
        settings = itertools.product((False, True), repeat=3)
        return [
            get_symmetric_quantization_config(is_per_channel=channel, is_qat=qat, is_dynamic=dynamic)
            for dynamic, qat, channel in settings
        ]

    @classmethod
    def get_supported_operator_for_quantization_config(
        cls, quantization_config: QuantizationConfig | None
    ) -> list[list[OpOverload]]:
        """Returns the operators that a configuration quantizes, each alone or with the operator that fuses
        with it.

        Args:
            quantization_config: the configuration; None means all.
        """
        found = []
        for pattern in cls.patterns:
            if quantization_config is None:
                wanted = True
            elif specs.is_dynamic(quantization_config):
                wanted = pattern.dynamic
            elif specs.is_weight_only(quantization_config):
                wanted = pattern.weight_only
            else:
                wanted = pattern.static
            for target in sorted(pattern.targets, key=str) if wanted else ():
                found.append([target])
                found += [[target, behind] for behind in sorted(pattern.activations, key=str)]
        return found

    @classmethod
    def get_supported_operators(cls) -> list[OperatorConfig]:
        """Returns each configuration with the operators that it quantizes."""
        return [
            OperatorConfig(config, cls.get_supported_operator_for_quantization_config(config))
            for config in cls.get_supported_quantization_configs()
        ]

    def check(self, quantization_config: QuantizationConfig) -> None:
        """Checks that a configuration is supported.

        Raises:
            QuantizationError: activations have more than 8 bits.
        """
        spec = quantization_config.input_activation
        if spec is not None and spec.dtype not in (torch.int8, torch.uint8):
            raise QuantizationError(
                f"XNNPACKQuantizer cannot quantize activations to {str(spec.dtype).removeprefix('torch.')}: "
                "XNNPACK has 8-bit ones; CpuQuantizer has both"
            )
