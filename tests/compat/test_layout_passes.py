"""Passes over images, dim orders, 1-D convolutions and biases do not change results."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tests.compat.test_transforms import counts
from torch import nn
from torch.export import ExportedProgram, export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.compat.transforms.channels_last import DecomposeChannelsLastPass
from rushlight.compat.transforms.channels_last_variants import (
    ChannelsLastOpSpec,
    ReplaceOpsWithChannelsLastVariantsPass,
)
from rushlight.compat.transforms.conv1d import ConvertConv1dToConv2dPass
from rushlight.compat.transforms.conv_biases import QuantizeFusedConvBnBiasAtenPass
from rushlight.compat.transforms.dim_orders import (
    EnforceContiguousDimOrderPass,
    ReplaceChannelsLastInputClonesPass,
    is_input_clone,
    is_output_clone,
)
from rushlight.exir import EdgeCompileConfig, to_edge
from rushlight.ir.edge_ops import is_op, ops

aten, qd = torch.ops.aten, torch.ops.quantized_decomposed
edge, last = ops.edge.aten, ops.edge.channels_last
IMAGE = torch.randn(1, 3, 8, 8)


def edge_of(model: nn.Module, *inputs: torch.Tensor) -> ExportedProgram:
    config = EdgeCompileConfig(_check_ir_validity=False)
    return to_edge(export(model.eval(), inputs), compile_config=config).exported_program()


def calls_of(module: torch.fx.GraphModule, op: Any) -> list[Any]:
    """Returns the calls of an operator, in order."""
    return [node for node in module.graph.nodes if is_op(node, op)]


def check(rewriting: Any, program: ExportedProgram, *inputs: torch.Tensor) -> dict[str, int]:
    """Runs a pass in place, requires equal results, and returns the counts of operators after it."""
    expected = program.module()(*inputs)
    assert rewriting(program.graph_module).modified
    program.graph_module.graph.lint()
    torch.testing.assert_close(program.module()(*inputs), expected)
    assert not rewriting(program.graph_module).modified
    return counts(program.graph_module)


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.max_pool2d(self.conv(x), 2)
        return nn.functional.adaptive_avg_pool2d(torch.relu(y), 1)


@pytest.mark.parametrize("batch", [True, False])
def test_operators_with_the_channels_last(batch: bool) -> None:
    image = IMAGE if batch else IMAGE[0]
    program = edge_of(Images(), image)
    found = check(ReplaceOpsWithChannelsLastVariantsPass(program), program, image)
    assert found["channels_last.convolution.default"] == 1
    assert found["channels_last.max_pool2d_with_indices.default"] == 1
    assert "aten.convolution.default" not in found
    expected = program.module()(image)
    decomposed = DecomposeChannelsLastPass()(program.graph_module)
    assert decomposed is not None
    assert not any(name.startswith("channels_last") for name in counts(decomposed.graph_module))
    weights = [program.state_dict[name] for name in program.graph_signature.parameters]
    torch.testing.assert_close(decomposed.graph_module(*weights, image)[0], expected)


def test_only_the_operators_of_the_map_are_replaced() -> None:
    program = edge_of(Images(), IMAGE)
    spec = ChannelsLastOpSpec(last.convolution.default, [0], [0], lambda node: False)
    rewriting = ReplaceOpsWithChannelsLastVariantsPass(program, {edge.convolution.default: spec})
    assert not rewriting(program.graph_module).modified  # type: ignore[union-attr]
    spec.filter_fn = None
    found = check(rewriting, program, IMAGE)
    assert found["channels_last.convolution.default"] == 1 and "aten.max_pool2d_with_indices.default" in found


class Relu(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x.contiguous(memory_format=torch.channels_last)) + 1


def test_row_major_graphs_keep_the_orders_of_their_borders() -> None:
    image = IMAGE.to(memory_format=torch.channels_last)
    program = edge_of(Relu(), image)
    check(EnforceContiguousDimOrderPass(), program, image)
    clones = calls_of(program.graph_module, torch.ops.dim_order_ops._clone_dim_order.default)
    assert [is_input_clone(node) for node in clones] == [True, False]
    assert is_output_clone(clones[1])
    for node in program.graph.nodes:
        if node.op == "call_function" and node is not clones[1]:
            assert node.meta["val"].is_contiguous(), node
    assert program.module()(image).is_contiguous(memory_format=torch.channels_last)
    found = check(ReplaceChannelsLastInputClonesPass(), program, image)
    assert found["aten.permute_copy.default"] == 1 and found["channels_last.permute_copy.default"] == 1


class Conv1d(nn.Module):
    def __init__(self, shares: bool = False) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose1d(4, 2, 3, stride=2, output_padding=1)
        self.shares = shares

    def forward(self, x: torch.Tensor) -> Any:
        y = self.up(torch.relu(self.conv(x)))
        return (y, self.conv.weight.sum()) if self.shares else y


def test_one_dimensional_convolutions() -> None:
    x = torch.randn(2, 2, 9)
    program = edge_of(Conv1d(), x)
    check(ConvertConv1dToConv2dPass(program), program, x)
    assert program.state_dict["conv.weight"].shape == (4, 2, 1, 3)
    found = calls_of(program.graph_module, aten.convolution.default)
    assert [len(node.args[3]) for node in found] == [2, 2]
    assert found[1].args[7] == [0, 1]


def test_weights_that_others_read_stay() -> None:
    x = torch.randn(2, 2, 9)
    program = edge_of(Conv1d(shares=True), x)
    check(ConvertConv1dToConv2dPass(program), program, x)
    assert program.state_dict["conv.weight"].shape == (4, 2, 3)
    assert program.state_dict["up.weight"].shape == (4, 2, 1, 3)


class Computed(nn.Module):
    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return nn.functional.conv1d(x, torch.relu(weight))


def test_computed_weights_need_permission() -> None:
    inputs = (torch.randn(1, 2, 9), torch.randn(3, 2, 3))
    program = edge_of(Computed(), *inputs)
    assert not ConvertConv1dToConv2dPass(program)(program.graph_module).modified  # type: ignore[union-attr]
    found = check(ConvertConv1dToConv2dPass(program, [edge.relu.default]), program, *inputs)
    assert found["aten.unsqueeze_copy.default"] == 2


class Branches(nn.Module):
    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        def plain(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            return nn.functional.conv1d(x, weight).sum()

        def positive(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            return nn.functional.conv1d(x, weight).relu().sum()

        result: torch.Tensor = torch.cond(x.sum() > 0, plain, positive, (x, weight))
        return result


def test_convolutions_in_bodies_of_control_flow() -> None:
    inputs = (torch.randn(1, 2, 9), torch.randn(3, 2, 3))
    program = edge_of(Branches(), *inputs)
    check(ConvertConv1dToConv2dPass(program), program, *inputs)
    bodies = [
        module for module in program.graph_module.children() if isinstance(module, torch.fx.GraphModule)
    ]
    assert [counts(body)["aten.squeeze_copy.dim"] for body in bodies] == [1, 1]


def quantized(per_channel: bool) -> tuple[torch.fx.GraphModule, torch.Tensor]:
    """Returns a quantized convolution whose float bias is added after quantization."""
    model = nn.Conv2d(3, 4, 3, bias=True).eval()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=per_channel))
    prepared = prepare_pt2e(export(model, (IMAGE,)).module(), quantizer)
    prepared(IMAGE)
    converted: torch.fx.GraphModule = convert_pt2e(prepared)
    return converted, IMAGE


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("in_program", [True, False])
def test_biases_are_quantized(per_channel: bool, in_program: bool) -> None:
    module, image = quantized(per_channel)
    program = export(module, (image,)) if in_program else None
    expected = module(image)
    graph_module = program.graph_module if program is not None else module
    rewriting = QuantizeFusedConvBnBiasAtenPass(program)
    assert rewriting(graph_module).modified  # type: ignore[union-attr]
    [conv] = calls_of(graph_module, aten.conv2d.default)
    kind = qd.dequantize_per_channel if per_channel else qd.dequantize_per_tensor
    assert conv.args[2].target is kind.default
    got = program.module()(image) if program is not None else module(image)
    # Rounding of the bias to int32 may change the int8 result by one step.
    step = calls_of(graph_module, qd.dequantize_per_tensor.default)[-1].args[1]
    torch.testing.assert_close(got, expected, atol=1.01 * step, rtol=0)
    assert ((got - expected).abs() > 1e-3).float().mean() < 0.05
    before = counts(copy.deepcopy(graph_module))
    assert not rewriting(graph_module).modified  # type: ignore[union-attr]
    assert counts(graph_module) == before


def test_convolutions_without_bias_get_zeros() -> None:
    model = nn.Conv2d(3, 4, 3, bias=False).eval()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(export(model, (IMAGE,)).module(), quantizer)
    prepared(IMAGE)
    module = convert_pt2e(prepared)
    expected = module(IMAGE)
    assert not QuantizeFusedConvBnBiasAtenPass()(module).modified  # type: ignore[union-attr]
    symmetric = QuantizeFusedConvBnBiasAtenPass(default_zero_bias=True, symmetric_quant=True)
    assert symmetric(module).modified  # type: ignore[union-attr]
    [conv] = calls_of(module, aten.conv2d.default)
    assert conv.args[2].args[3] == -(2**31) + 1
    torch.testing.assert_close(module(IMAGE), expected)
