"""The operators that the suite tests: a module with one operator for each case, and its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Function = Callable[..., Any]
Inputs = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Case:
    """A test case.

    Attributes:
        name: the name of the operator, and a suffix for a special case.
        module: creates the module.
        inputs: creates the inputs of the module.
    """

    name: str
    module: Callable[[], nn.Module]
    inputs: Callable[[], Inputs]

    def make(self) -> tuple[nn.Module, Inputs]:
        """Returns the module in evaluation mode, and its inputs."""
        return self.module().eval(), self.inputs()


class _Function(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


class _First(nn.Module):
    """A module that returns the first result of a recurrent layer."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x)[0]


def _normal(*shapes: tuple[int, ...]) -> Callable[[], Inputs]:
    return lambda: tuple(torch.randn(shape) for shape in shapes)


def _positive(*shapes: tuple[int, ...]) -> Callable[[], Inputs]:
    return lambda: tuple(torch.rand(shape) + 0.5 for shape in shapes)


def _function(name: str, function: Function, inputs: Callable[[], Inputs]) -> Case:
    return Case(name, lambda: _Function(function), inputs)


_ROWS = _normal((4, 6))
_PAIR = _normal((4, 6), (4, 6))
_LINE = _normal((2, 4, 16))
_IMAGE = _normal((1, 4, 12, 10))
_VOLUME = _normal((1, 2, 6, 6, 6))
_SEQUENCE = _normal((2, 5, 8))

_UNARY: dict[str, Function] = {
    "abs": torch.abs,
    "ceil": torch.ceil,
    "clamp": lambda x: torch.clamp(x, -0.5, 1),
    "cos": torch.cos,
    "elu": functional.elu,
    "exp": torch.exp,
    "floor": torch.floor,
    "gelu": functional.gelu,
    "hardsigmoid": functional.hardsigmoid,
    "hardswish": functional.hardswish,
    "hardtanh": functional.hardtanh,
    "leaky_relu": functional.leaky_relu,
    "logsigmoid": functional.logsigmoid,
    "neg": torch.neg,
    "pow": lambda x: x**2,
    "relu": torch.relu,
    "relu6": functional.relu6,
    "round": torch.round,
    "sigmoid": torch.sigmoid,
    "silu": functional.silu,
    "sin": torch.sin,
    "softplus": functional.softplus,
    "tanh": torch.tanh,
    "trunc": torch.trunc,
}
_UNARY_POSITIVE: dict[str, Function] = {
    "log": torch.log,
    "log1p": torch.log1p,
    "reciprocal": torch.reciprocal,
    "rsqrt": torch.rsqrt,
    "sqrt": torch.sqrt,
}
_BINARY: dict[str, Function] = {
    "add": torch.add,
    "atan2": torch.atan2,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mul": torch.mul,
    "sub": torch.sub,
}
_REDUCTIONS: dict[str, Function] = {
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin(1),
    "argmax": lambda x: x.argmax(1),
    "cumsum": lambda x: x.cumsum(1),
    "log_softmax": lambda x: functional.log_softmax(x, -1),
    "max_values": lambda x: x.max(1, keepdim=True)[0],
    "mean": lambda x: x.mean(1),
    "softmax": lambda x: torch.softmax(x, -1),
    "sum": lambda x: x.sum(1),
    "var": lambda x: x.var(1),
}
_SHAPES: dict[str, Function] = {
    "cat": lambda x: torch.cat([x, x + 1], 1),
    "chunk": lambda x: x.chunk(2, 1),
    "expand": lambda x: x[:, :1].expand(4, 6),
    "flatten": lambda x: x.unsqueeze(0).flatten(0, 1),
    "flip": lambda x: x.flip(1),
    "glu": lambda x: functional.glu(x, 1),
    "index_select": lambda x: x.index_select(1, torch.tensor([4, 0])),
    "masked_fill": lambda x: x.masked_fill(x > 0, 2.0),
    "pad": lambda x: functional.pad(x, (1, 2)),
    "permute": lambda x: x.permute(1, 0),
    "repeat": lambda x: x.repeat(2, 1),
    "reshape": lambda x: x.reshape(2, 12),
    "select": lambda x: x.select(1, 2),
    "slice": lambda x: x[:, 1:5],
    "split": lambda x: x.split(2, 1),
    "squeeze": lambda x: x[:, :1].squeeze(1),
    "stack": lambda x: torch.stack([x, x * 2]),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "where": lambda x: torch.where(x > 0, x, x * 2),
}
_POOLS: dict[str, Function] = {
    "adaptive_avg_pool2d": lambda x: functional.adaptive_avg_pool2d(x, 1),
    "avg_pool2d": lambda x: functional.avg_pool2d(x, 3, 2),
    "avg_pool2d_padded": lambda x: functional.avg_pool2d(x, 3, 2, 1),
    "max_dim_of_image": lambda x: x.max(2, keepdim=True)[0],
    "max_pool2d": lambda x: functional.max_pool2d(x, 2),
    "max_pool2d_ceil": lambda x: functional.max_pool2d(x, 3, 2, ceil_mode=True),
    "mean_of_image": lambda x: x.mean((2, 3), keepdim=True),
    "pixel_shuffle": lambda x: functional.pixel_shuffle(x, 2),
    "upsample_bilinear2d": lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"),
    "upsample_nearest2d": lambda x: functional.interpolate(x, scale_factor=2),
}
_LAYERS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Inputs]]] = {
    "batch_norm2d": (lambda: nn.BatchNorm2d(4), _IMAGE),
    "conv1d": (lambda: nn.Conv1d(4, 8, 3, padding=1), _LINE),
    "conv1d_same_even": (lambda: nn.Conv1d(4, 8, 4, padding="same"), _LINE),
    "conv2d": (lambda: nn.Conv2d(4, 8, 3, 2, 1), _IMAGE),
    "conv2d_depthwise": (lambda: nn.Conv2d(4, 8, 3, groups=4), _IMAGE),
    "conv2d_dilated": (lambda: nn.Conv2d(4, 8, 3, dilation=2), _IMAGE),
    "conv2d_grouped": (lambda: nn.Conv2d(4, 8, 3, groups=2), _IMAGE),
    "conv2d_relu": (lambda: nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU()), _IMAGE),
    "conv2d_same_even": (lambda: nn.Conv2d(4, 8, 4, padding="same"), _IMAGE),
    "conv3d": (lambda: nn.Conv3d(2, 4, 3), _VOLUME),
    "conv_transpose1d": (lambda: nn.ConvTranspose1d(4, 6, 3), _LINE),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, 2), _IMAGE),
    "embedding": (lambda: nn.Embedding(10, 8), lambda: (torch.randint(0, 10, (3, 4)),)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), _IMAGE),
    "gru": (lambda: _First(nn.GRU(8, 6, batch_first=True)), _SEQUENCE),
    "layer_norm": (lambda: nn.LayerNorm(8), _SEQUENCE),
    "linear": (lambda: nn.Linear(6, 5), _ROWS),
    "linear_relu": (lambda: nn.Sequential(nn.Linear(6, 5), nn.ReLU()), _ROWS),
    "linear_without_bias": (lambda: nn.Linear(8, 5, bias=False), _SEQUENCE),
    "lstm": (lambda: _First(nn.LSTM(8, 6, batch_first=True)), _SEQUENCE),
    "prelu": (lambda: nn.PReLU(4), _IMAGE),
}

CASES: tuple[Case, ...] = (
    *(_function(name, function, _ROWS) for name, function in _UNARY.items()),
    *(_function(name, function, _positive((4, 6))) for name, function in _UNARY_POSITIVE.items()),
    *(_function(name, function, _PAIR) for name, function in _BINARY.items()),
    _function("add_broadcast", torch.add, _normal((4, 6), (6,))),
    _function("add_scalar", lambda x: x + 2.5, _ROWS),
    _function("div", torch.div, _positive((4, 6), (4, 6))),
    _function("mul_scalar", lambda x: x * 2.5, _ROWS),
    *(_function(name, function, _ROWS) for name, function in _REDUCTIONS.items()),
    *(_function(name, function, _ROWS) for name, function in _SHAPES.items()),
    *(_function(name, function, _IMAGE) for name, function in _POOLS.items()),
    _function("bmm", torch.bmm, _normal((2, 4, 6), (2, 6, 5))),
    _function("matmul", torch.matmul, _normal((4, 6), (6, 5))),
    _function(
        "scaled_dot_product_attention",
        functional.scaled_dot_product_attention,
        _normal((1, 2, 6, 8), (1, 2, 6, 8), (1, 2, 6, 8)),
    ),
    *(Case(name, module, inputs) for name, (module, inputs) in _LAYERS.items()),
)
