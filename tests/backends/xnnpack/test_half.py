"""Models in float16 and bfloat16 that XNNPACKQuantizer quantizes: annotations, delegates and results."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

import rushlight
from rushlight.backends.cpu import CpuPartitioner
from rushlight.backends.xnnpack import XnnpackPartitioner
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.exir import to_edge_transform_and_lower
from rushlight.ir import meta
from rushlight.quantize import quantize
from rushlight.runtime import Runtime

STATIC = get_symmetric_quantization_config()
PER_CHANNEL = get_symmetric_quantization_config(is_per_channel=True)
DYNAMIC = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
ONE_SCALE = get_symmetric_quantization_config(is_dynamic=True)
HALVES = (torch.float16, torch.bfloat16)


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 8, 3)
        self.up = torch.nn.ConvTranspose2d(8, 8, 2)
        self.linear = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.conv(x))
        y = torch.cat([y + y, self.up(y)[:, :, 1:, 1:]], 1) * 2
        return self.linear(F.adaptive_avg_pool2d(y[:, :8], 1).flatten(1))


def linear(relu: bool) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(16, 6), *[torch.nn.ReLU()] * relu)


IMAGE, ROWS = (1, 4, 8, 8), (3, 16)
MODELS: dict[str, tuple[torch.nn.Module, tuple[int, ...]]] = {
    "linear": (linear(False), ROWS),
    "linear and relu": (linear(True), ROWS),
    "conv": (torch.nn.Conv2d(4, 8, 3), IMAGE),
    "conv and relu": (torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3), torch.nn.ReLU()), IMAGE),
    "depthwise": (torch.nn.Conv2d(4, 4, 3, groups=4), IMAGE),
    "transposed": (torch.nn.ConvTranspose2d(4, 6, 3), IMAGE),
    "layers": (Layers(), IMAGE),
}


@pytest.mark.parametrize("dtype", HALVES)
def test_all_operators_but_additions_and_multiplications_are_annotated(dtype: torch.dtype) -> None:
    """ExecuTorch's quantizer annotates additions and multiplications of float32 tensors only."""
    module = torch.export.export(Layers().to(dtype).eval(), (torch.randn(IMAGE, dtype=dtype),)).module()
    XNNPACKQuantizer().set_global(STATIC).annotate(module)
    found = {}
    for node in module.graph.nodes:
        annotation = meta.get_annotation(node) if node.op == "call_function" else None
        if annotation is not None and (annotation.input_qspec_map or annotation.output_qspec):
            found[node.name] = annotation
    assert {"conv2d", "relu", "conv_transpose2d", "cat", "linear"} <= set(found)
    assert not {"add", "mul", "adaptive_avg_pool2d_1"} & set(found)
    double = torch.export.export(linear(False).double(), (torch.randn(ROWS).double(),)).module()
    XNNPACKQuantizer().set_global(STATIC).annotate(double)
    assert all(meta.get_annotation(node) is None for node in double.graph.nodes)


def quantized(name: str, config: Any, dtype: torch.dtype) -> tuple[Any, tuple[torch.Tensor]]:
    torch.manual_seed(0)
    model, shape = MODELS[name]
    inputs = (torch.randn(shape).to(dtype),)
    data = [inputs] if config in (STATIC, PER_CHANNEL) else None
    return quantize(model.to(dtype).eval(), inputs, XNNPACKQuantizer().set_global(config), data), inputs


def check(program: bytes, expected: torch.Tensor, inputs: tuple[torch.Tensor]) -> None:
    (result,) = Runtime.get().load_program(program).load_method("forward").execute([*inputs])
    assert result.dtype == expected.dtype
    # A rounding error of a float may change a quantized number by one.
    step = float(expected.detach().float().abs().max()) / 50
    torch.testing.assert_close(result.float(), expected.float(), atol=step, rtol=0.01)


@pytest.mark.parametrize(
    ("name", "config"),
    [*((name, STATIC) for name in MODELS), ("linear", PER_CHANNEL), ("layers", PER_CHANNEL)],
)
def test_static_layers_run_in_delegates(name: str, config: Any) -> None:
    program, inputs = quantized(name, config, torch.float16)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    left = [str(n.target) for n in lowered.exported_program().graph.nodes if n.op == "call_function"]
    assert any("call_delegate" in target for target in left)
    assert not any("quantize" in target or "convolution" in target for target in left)
    check(lowered.to_executorch().buffer, program.module()(*inputs), inputs)


@pytest.mark.parametrize("name", ["linear", "linear and relu", "conv"])
def test_dynamic_layers_with_a_scale_for_each_channel_run_in_a_delegate(name: str) -> None:
    program, inputs = quantized(name, DYNAMIC, torch.float16)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert not any("quantize" in str(node.target) for node in lowered.exported_program().graph.nodes)
    check(lowered.to_executorch().buffer, program.module()(*inputs), inputs)


def test_bfloat16_conversions_stay_outside_of_the_delegates() -> None:
    """XNNPACK does not convert between bfloat16 and int8."""
    program, inputs = quantized("linear and relu", STATIC, torch.bfloat16)
    partitioner = XnnpackPartitioner(enable_bf16=True)
    lowered = to_edge_transform_and_lower(program, partitioner=[partitioner])
    assert "bfloat16 tensors cannot be quantized" in partitioner.report.reasons.values()
    left = [str(node.target) for node in lowered.exported_program().graph.nodes]
    assert sum(".quantize_per_tensor" in target for target in left) == 2
    check(lowered.to_executorch().buffer, program.module()(*inputs), inputs)


@pytest.mark.parametrize(
    ("config", "dtype"),
    [(STATIC, torch.float16), (DYNAMIC, torch.float16), (ONE_SCALE, torch.bfloat16)],
    ids=["static", "dynamic", "one scale"],
)
def test_the_cpu_backend_and_the_kernels(config: Any, dtype: torch.dtype) -> None:
    program, inputs = quantized("layers", config, dtype)
    expected = program.module()(*inputs)
    for partitioners in ([CpuPartitioner()], []):
        lowered = to_edge_transform_and_lower(program, partitioner=partitioners)
        check(lowered.to_executorch().buffer, expected, inputs)
    check(rushlight.compile(program).buffer, expected, inputs)
