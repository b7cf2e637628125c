"""examples/quantizer/partner.py: a custom quantizer, from annotation to the runtime."""

from __future__ import annotations

import pytest
import torch
from examples.quantizer import partner

import rushlight
from rushlight.quantize import QuantizationError, quantize


def test_linear_and_relu_are_one() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    data = [torch.randn(8, 16) for _ in range(4)]
    program = quantize(model, data[0], partner.PartnerQuantizer(), data)
    nodes = {node.name: node for node in program.graph.nodes}
    linear, relu = nodes["linear"], nodes["relu"]
    # There is no quantization between the two operators, and there are integers before and after them.
    assert relu.args[0] is linear
    assert all("dequantize" in arg.name for arg in linear.args)
    assert "quantize_per_tensor" in next(iter(relu.users)).name
    assert "dequantize" not in nodes["linear_1"].args[1].name
    bias = linear.args[2]
    stored = program.state_dict | program.constants
    scales = {
        arg.name: stored[program.graph_signature.inputs_to_buffers[arg.args[1].name]]
        for arg in linear.args[1:]
    }
    input_scale = linear.args[0].args[1]
    assert bias.args[6] == torch.int32
    torch.testing.assert_close(scales[bias.name], scales[linear.args[1].name] * input_scale)
    run = rushlight.load(rushlight.compile(program).buffer)
    torch.testing.assert_close(run(data[0]), program.module()(data[0]), atol=1e-2, rtol=0)


def test_a_model_without_the_pattern() -> None:
    x = torch.randn(2, 4)
    with pytest.raises(QuantizationError, match="no linear layer that a ReLU follows"):
        quantize(torch.nn.Linear(4, 4), x, partner.PartnerQuantizer(), [x])
