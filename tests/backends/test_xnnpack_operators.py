"""Operators that XnnpackPartitioner supports run completely in the backend, and agree with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime import Runtime


@dataclass
class Case:
    """A function of tensors, or a module, and the shapes of its inputs."""

    function: Any
    shapes: tuple[tuple[int, ...], ...]
    is_positive: bool = False


class _Function(nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


PICTURE = ((2, 6, 9, 7),)
MATRIX = ((5, 8),)


def _norm(kind: type[nn.Module], channels: int) -> nn.Module:
    norm: Any = kind(channels)
    norm.running_mean.uniform_(-1, 1)
    norm.running_var.uniform_(0.5, 2)
    norm.weight.data.uniform_(0.5, 2)
    norm.bias.data.uniform_(-1, 1)
    return norm


class _Shared(nn.Module):
    """An image that is used in both layouts."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(6, 6, 3, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.conv(x)
        return y + x, y.flatten(1)


class _PerChannel(nn.Module):
    """Constants with fewer dimensions and an image in channels-last layout."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(6, 4, 1)
        self.register_buffer("scale", torch.randn(4, 1, 1))
        self.register_buffer("row", torch.randn(7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x) * self.scale + self.row


CASES: dict[str, Case] = {
    "abs": Case(torch.abs, MATRIX),
    "add": Case(torch.add, ((5, 8), (8,))),
    "add_self": Case(lambda x: x + x, MATRIX),
    "add_constant": Case(lambda x: x + 2.5, MATRIX),
    "add_relu": Case(lambda x, y: F.relu(x + y), ((5, 8), (5, 8))),
    "addmm": Case(nn.Linear(8, 3), MATRIX),
    "avg_pool": Case(nn.AvgPool2d(3, 2), PICTURE),
    "avg_pool_padded": Case(nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), PICTURE),
    "batch_norm": Case(_norm(nn.BatchNorm2d, 6), PICTURE),
    "batch_norm_1d": Case(_norm(nn.BatchNorm1d, 8), MATRIX),
    "batch_norm_line": Case(_norm(nn.BatchNorm1d, 6), ((2, 6, 9),)),
    "bmm": Case(torch.bmm, ((3, 5, 8), (3, 8, 4))),
    "cat": Case(lambda x, y: torch.cat([x, y], 1), ((2, 6, 9, 7), (2, 4, 9, 7))),
    "cat_many": Case(lambda x: torch.cat([x, x + 1, x * 2, x - 1, -x, x, x * 3], -1), MATRIX),
    "cat_channels_last": Case(
        nn.Sequential(nn.Conv2d(6, 5, 1), _Function(lambda x: torch.cat([x, x * 2], 1))), PICTURE
    ),
    "ceil": Case(torch.ceil, MATRIX),
    "clamp": Case(lambda x: torch.clamp(x, -0.5, 0.25), MATRIX),
    "clamp_min": Case(lambda x: torch.clamp(x, min=0.1), MATRIX),
    "clone": Case(lambda x: (x + 1).clone(), MATRIX),
    "constant_pad": Case(lambda x: F.pad(x, (1, 2, 0, 3), value=0.5), MATRIX),
    "constant_pad_channels_last": Case(
        nn.Sequential(nn.Conv2d(6, 5, 1), nn.ZeroPad2d((1, 2, 3, 0))), PICTURE
    ),
    "conv": Case(nn.Conv2d(6, 8, 3, stride=2, padding=1), PICTURE),
    "conv_1d": Case(nn.Conv1d(6, 8, 3, stride=2, padding=1), ((2, 6, 11),)),
    "conv_1d_relu": Case(nn.Sequential(nn.Conv1d(6, 6, 3, groups=6), nn.ReLU()), ((2, 6, 11),)),
    "conv_batch_norm": Case(
        nn.Sequential(nn.Conv2d(6, 8, 3, bias=False), _norm(nn.BatchNorm2d, 8), nn.ReLU6()), PICTURE
    ),
    "conv_depthwise": Case(nn.Conv2d(6, 12, 3, groups=6, dilation=2), PICTURE),
    "conv_grouped": Case(nn.Conv2d(6, 4, (3, 1), groups=2), PICTURE),
    "conv_transposed": Case(nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1), PICTURE),
    "conv_transposed_batch_norm": Case(
        nn.Sequential(nn.ConvTranspose2d(6, 4, 3, groups=2), _norm(nn.BatchNorm2d, 4)), PICTURE
    ),
    "conv_transposed_grouped": Case(nn.ConvTranspose2d(6, 4, 3, groups=2), PICTURE),
    "cos": Case(torch.cos, MATRIX),
    "div": Case(torch.div, ((5, 8), (5, 1)), is_positive=True),
    "elu": Case(nn.ELU(0.7), MATRIX),
    "exp": Case(torch.exp, MATRIX),
    "floor": Case(torch.floor, MATRIX),
    "gelu": Case(F.gelu, MATRIX),
    "hardswish": Case(F.hardswish, MATRIX),
    "hardtanh": Case(lambda x: F.hardtanh(x, -0.3, 0.8), MATRIX),
    "leaky_relu": Case(lambda x: F.leaky_relu(x, 0.2), MATRIX),
    "linear_relu": Case(nn.Sequential(nn.Linear(8, 3, bias=False), nn.ReLU()), ((2, 3, 8),)),
    "log": Case(torch.log, MATRIX, is_positive=True),
    "max_pool": Case(nn.MaxPool2d(3, 2, padding=1), PICTURE),
    "max_pool_ceil": Case(nn.MaxPool2d(2, ceil_mode=True), PICTURE),
    "max_pool_dilated": Case(nn.MaxPool2d(2, 1, dilation=2), PICTURE),
    "maximum": Case(torch.maximum, ((5, 8), (8,))),
    "max_dim": Case(lambda x: x.max(2)[0], PICTURE),
    "max_dim_channels_last": Case(
        nn.Sequential(nn.Conv2d(6, 5, 1), _Function(lambda x: x.max(-1, keepdim=True)[0])), PICTURE
    ),
    "conv_behind_padding": Case(
        nn.Sequential(nn.ZeroPad2d((1, 2, 0, 3)), nn.Conv2d(6, 5, 3, padding=1)), PICTURE
    ),
    "mean": Case(lambda x: x.mean((-1, -2), keepdim=True), PICTURE),
    "minimum": Case(torch.minimum, ((5, 8), (1, 8))),
    "mul": Case(torch.mul, ((5, 8), (5, 8))),
    "neg": Case(torch.neg, MATRIX),
    "per_channel": Case(_PerChannel(), PICTURE),
    "permute": Case(lambda x: x.permute(0, 3, 1, 2), PICTURE),
    "permute_channels_last": Case(
        nn.Sequential(nn.Conv2d(6, 5, 1), _Function(lambda x: x.permute(1, 0, -1, 2))), PICTURE
    ),
    "prelu": Case(nn.PReLU(6), PICTURE),
    "prelu_one": Case(nn.PReLU(), PICTURE),
    "relu": Case(F.relu, MATRIX),
    "rsqrt": Case(torch.rsqrt, MATRIX, is_positive=True),
    "shared": Case(_Shared(), PICTURE),
    "sigmoid": Case(torch.sigmoid, MATRIX),
    "sin": Case(torch.sin, MATRIX),
    "slice": Case(lambda x: x[:, 2:-1], MATRIX),
    "slice_channels_last": Case(
        nn.Sequential(nn.Conv2d(6, 5, 1), _Function(lambda x: x[:, 1:4, 2:])), PICTURE
    ),
    "softmax": Case(lambda x: torch.softmax(x, -1), MATRIX),
    "softmax_channels_last": Case(nn.Sequential(nn.Conv2d(6, 5, 1), nn.Softmax(-1)), PICTURE),
    "sqrt": Case(torch.sqrt, MATRIX, is_positive=True),
    "square": Case(lambda x: x**2, MATRIX),
    "squeeze": Case(lambda x: (x + 1).squeeze(1), ((5, 1, 8),)),
    "sub": Case(torch.sub, ((5, 8), (8,))),
    "tanh": Case(torch.tanh, MATRIX),
    "unsqueeze": Case(lambda x: (x + 1).unsqueeze(1), MATRIX),
    "upsample": Case(lambda x: F.interpolate(x, (13, 5), mode="bilinear"), PICTURE),
    "upsample_corners": Case(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), PICTURE
    ),
    "view": Case(lambda x: x.reshape(2, -1, 7), PICTURE),
}


def inputs_of(case: Case, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    tensors = (torch.randn(shape).to(dtype) for shape in case.shapes)
    return tuple(tensor.abs() + 0.5 if case.is_positive else tensor for tensor in tensors)


def module_of(case: Case) -> nn.Module:
    module = case.function if isinstance(case.function, nn.Module) else _Function(case.function)
    return module.eval()


def run(program: Any, inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    loaded = Runtime.get().load_program(bytes(program.buffer))
    return [torch.as_tensor(item) for item in loaded.load_method("forward").execute(list(inputs))]


def assert_close(got: list[torch.Tensor], expected: Any, tolerance: float) -> None:
    expected = torch.utils._pytree.tree_leaves(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert (a.double() - b.double()).abs().max() <= tolerance * max(1.0, float(b.double().abs().max()))


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    case = CASES[name]
    module, inputs = module_of(case), inputs_of(case)
    edge = to_edge_transform_and_lower(
        torch.export.export(module, inputs), partitioner=[XnnpackPartitioner()]
    )
    assert get_non_lowered_nodes(edge.exported_program().graph) == []
    with torch.no_grad():
        assert_close(run(edge.to_executorch(), inputs), module(*inputs), 2e-6)


NOT_TAKEN: dict[str, tuple[Case, str]] = {
    "max_dim_indices": (Case(lambda x: x.max(2), PICTURE), "the indices are used"),
    "max_dim_of_channels": (Case(lambda x: x.max(1)[0], PICTURE), "height or the width"),
    "max_dim_of_rows": (Case(lambda x: x.max(1)[0], MATRIX), "height or the width"),
    "mean": (Case(lambda x: x.mean((2, 3)), PICTURE), "only keepdim=True"),
}


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_an_operator_that_is_left(name: str) -> None:
    case, reason = NOT_TAKEN[name]
    module, inputs = module_of(case), inputs_of(case)
    partitioner = XnnpackPartitioner()
    edge = to_edge_transform_and_lower(torch.export.export(module, inputs), partitioner=[partitioner])
    assert not get_lowered_backend_modules(edge.exported_program().graph_module)
    assert reason in partitioner.report.get_table_report()
    assert_close(run(edge.to_executorch(), inputs), module(*inputs), 2e-6)


# XNNPACK does not support these floating-point nodes in half precision.
NOT_IN_HALF = {"gelu"}


@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_IN_HALF])
def test_operator_in_half_precision(name: str) -> None:
    case = CASES[name]
    module, inputs = module_of(case), inputs_of(case, torch.float16)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_map(
            lambda t: t.to(torch.float16), module.float()(*(tensor.float() for tensor in inputs))
        )
    half = module.half()
    try:
        edge = to_edge_transform_and_lower(
            torch.export.export(half, inputs), partitioner=[XnnpackPartitioner()]
        )
    finally:
        module.float()
    assert get_non_lowered_nodes(edge.exported_program().graph) == []
    assert_close(run(edge.to_executorch(), inputs), expected, 4e-3)
