"""A custom quantizer: a linear layer and the ReLU after it are one operator of an imaginary accelerator.

    python examples/quantizer/partner.py

The operator has int8 inputs and int8 results. Its weights have int4 values, stored as int8, with a scale for
each output channel. Its bias is int32 with the product of the scales of the input and the weights as its
scale. No other operator is quantized.
"""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import HistogramObserver, PerChannelMinMaxObserver

import rushlight
from rushlight.quantize import (
    DerivedQuantizationSpec,
    QuantizationAnnotation,
    QuantizationError,
    QuantizationSpec,
    Quantizer,
    compare,
    export_float,
    quantize,
)

aten = torch.ops.aten

ACTIVATION = QuantizationSpec(
    dtype=torch.int8,
    quant_min=-128,
    quant_max=127,
    qscheme=torch.per_tensor_affine,
    observer_or_fake_quant_ctr=HistogramObserver,
)
WEIGHT = QuantizationSpec(
    dtype=torch.int8,
    quant_min=-7,
    quant_max=7,
    qscheme=torch.per_channel_symmetric,
    ch_axis=0,
    observer_or_fake_quant_ctr=PerChannelMinMaxObserver,
)


def bias_parameters(observed: list[object]) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns scales and zero points of the bias, from the observers of the input and the weight."""
    (scale, _), (weight_scales, _) = (observer.calculate_qparams() for observer in observed)  # type: ignore[attr-defined]
    scales = scale * weight_scales
    return scales, torch.zeros_like(scales, dtype=torch.int32)


class PartnerQuantizer(Quantizer):
    """Annotates a linear layer and its ReLU as one operator. A linear layer without a ReLU stays in float."""

    def annotate(self, model: GraphModule) -> GraphModule:
        for relu in model.graph.nodes:
            if relu.target is not aten.relu.default:
                continue
            linear = relu.args[0]
            if isinstance(linear, Node) and linear.target is aten.linear.default and len(linear.users) == 1:
                self._annotate(linear, relu)
        return model

    def _annotate(self, linear: Node, relu: Node) -> None:
        inputs, weight, *bias = linear.args
        specs = {inputs: ACTIVATION, weight: WEIGHT}
        if bias:
            specs[bias[0]] = DerivedQuantizationSpec(
                derived_from=[(inputs, linear), (weight, linear)],
                derive_qparams_fn=bias_parameters,
                dtype=torch.int32,
                quant_min=-(2**31) + 1,
                quant_max=2**31 - 1,
                qscheme=torch.per_channel_symmetric,
                ch_axis=0,
            )
        linear.meta["quantization_annotation"] = QuantizationAnnotation(specs, None, _annotated=True)
        relu.meta["quantization_annotation"] = QuantizationAnnotation({}, ACTIVATION, _annotated=True)

    def validate(self, model: GraphModule) -> None:
        if not any("quantization_annotation" in node.meta for node in model.graph.nodes):
            raise QuantizationError("the model has no linear layer that a ReLU follows")


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 4),
    )
    data = [torch.randn(8, 16) for _ in range(16)]
    program = export_float(model, data[0])
    quantized = quantize(program, data[0], PartnerQuantizer(), data)
    compiled = rushlight.load(rushlight.compile(quantized).buffer)
    print(compare(program, quantized, data, also={"in the runtime": compiled}).text())


if __name__ == "__main__":
    main()
