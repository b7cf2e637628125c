"""NaN, infinities, denormals, empty batches and dynamic sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import PRECISIONS, Inputs, assert_close, expected, lower, plan_of, run
from torch import nn
from torch.export import Dim, export
from torch.nn import functional as F

import rushlight
from rushlight.backends.cpu.options import Float32MatmulPrecision
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Winograd
from rushlight.exir import to_edge


class Encoder(nn.Module):
    """A transformer layer."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Network(nn.Module):
    """Convolutions of every kind, then a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1)
        self.depthwise = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.plain = nn.Conv2d(16, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.classify = nn.Linear(16, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu6(self.stem(x))
        y = y + self.plain(F.hardswish(self.depthwise(y)))
        return torch.softmax(self.classify(self.pool(y).mean((2, 3))), -1)


SPECIAL = (float("nan"), float("inf"), -float("inf"), 1e-40, -1e-42, 3e38, -3e38, 0.0, -0.0)


def special(*shape: int) -> torch.Tensor:
    """Returns random numbers that contain all special values."""
    torch.manual_seed(3)
    x = torch.randn(shape)
    flat = x.view(-1)
    flat[torch.randperm(flat.numel())[: len(SPECIAL)]] = torch.tensor(SPECIAL)
    return x


EXACT: dict[str, tuple[Any, Inputs]] = {
    "chain": (lambda x: F.hardswish(x * 2 + 1) - F.relu(x), (special(9, 7),)),
    "clamp": (lambda x: torch.clamp(x, -1, 1) + F.relu6(x), (special(9, 7),)),
    "functions": (
        # On some processors, GELU of huge numbers is infinity and GELU of infinity is NaN in eager PyTorch.
        lambda x: (
            *(torch.exp(x), torch.tanh(x), torch.sigmoid(x)),
            *(F.silu(x), F.gelu(x.clamp(max=1e9)), torch.erf(x)),
        ),
        (special(9, 7),),
    ),
    "angles": (lambda x: (torch.sin(x), torch.cos(x)), (special(9, 7),)),
    "logarithms": (
        lambda x: (torch.log1p(x), torch.expm1(x), torch.log2(x), torch.log10(x)),
        (special(9, 7),),
    ),
    "activations": (
        lambda x: (F.softplus(x), F.softplus(x, 2.0, 1.5), F.mish(x), F.elu(x, 0.5), F.logsigmoid(x)),
        (special(9, 7),),
    ),
    "atan2": (lambda x, y: torch.atan2(x, y * 1), (special(9, 7), special(7, 9).t().contiguous())),
    "roundings": (
        lambda x: (torch.floor(x), torch.ceil(x), torch.trunc(x), torch.round(x), torch.sign(x)),
        (torch.cat([special(9, 7) * 3, torch.tensor([[0.5, -0.5, 1.5, 2.5, -2.5, 8388607.5, -0.25]])]),),
    ),
    "maximum": (
        lambda x, y: (torch.maximum(x, y), torch.minimum(x, y)),
        (special(9, 7), special(7, 9).t().contiguous()),
    ),
    "linear": (nn.Linear(7, 5), (special(30, 7),)),
    "linear_relu": (nn.Sequential(nn.Linear(7, 5), nn.ReLU()), (special(30, 7),)),
    "depthwise_relu": (
        nn.Sequential(nn.Conv2d(3, 3, 3, padding=1, groups=3), nn.ReLU6()),
        (special(1, 3, 16, 16),),
    ),
    "pools": (nn.MaxPool2d(3, 1, 1), (special(1, 3, 9, 9),)),
    "softmax": (lambda x: torch.softmax(x, -1), (special(40, 7),)),
    "amax": (lambda x: (x.amax(-1), x.amin(0)), (special(12, 7),)),
    "layer_norm": (nn.LayerNorm(7), (torch.where(special(40, 7).abs() > 1e30, 1.0, special(40, 7)),)),
}


@pytest.mark.parametrize("name", EXACT)
def test_special_numbers(name: str) -> None:
    model, inputs = EXACT[name]
    program, outside = lower(model, inputs)
    assert not outside
    for got, want in zip(run(program, inputs), expected(model, inputs), strict=True):
        assert torch.equal(got.isnan(), want.isnan())
        assert torch.equal(got.isinf(), want.isinf())
        usual = want.isfinite()
        torch.testing.assert_close(got[usual], want[usual], rtol=2e-6, atol=1e-6)


def test_signs_of_zeros() -> None:
    def functions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rounded = torch.floor(x), torch.ceil(x), torch.trunc(x), torch.round(x), torch.sign(x)
        return *rounded, torch.log1p(x), torch.expm1(x), F.elu(x), F.mish(x)

    inputs = (torch.tensor([0.0, -0.0, 0.25, -0.25]),)
    program, outside = lower(functions, inputs)
    assert not outside
    for got, want in zip(run(program, inputs), expected(functions, inputs), strict=True):
        assert torch.equal(got.signbit(), want.signbit())


class Transformed(nn.Module):
    """A 3 x 3 convolution with an activation, and with a residual if the stride is 1."""

    def __init__(self, channels: int, height: int, stride: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3, stride, padding=1)
        self.shape = (2, channels, height, height + 3)
        self.stride = stride

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.convolution(x)
        return F.hardswish(y + x if self.stride == 1 else y)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "channels, height, stride", [(32, 21, 1), (32, 9, 1), (20, 30, 1), (96, 5, 1), (72, 40, 2)]
)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_special_numbers_in_transformed_convolutions(
    precision: Float32MatmulPrecision, channels: int, height: int, stride: int, threads: int
) -> None:
    """An infinity changes only the outputs whose windows contain it, although tiles are larger."""
    torch.manual_seed(4)
    model = Transformed(channels, height, stride).eval()
    inputs = (special(*model.shape),)
    program, _ = lower(model, inputs, partitioner=CpuPartitioner(float32_matmul_precision=precision))
    assert Winograd in [type(step.operation) for step in plan_of(program).steps]
    for got, want in zip(run(program, inputs, threads), expected(model, inputs), strict=True):
        assert torch.equal(got.isnan(), want.isnan())
        assert torch.equal(got.isinf(), want.isinf())
        usual = want.isfinite()
        torch.testing.assert_close(got[usual], want[usual], rtol=1e-4, atol=1e-4)


def test_constant_rows_are_normalized_to_the_bias() -> None:
    model, inputs = nn.LayerNorm(24), (torch.full((3, 24), 5.0),)
    program, _ = lower(model, inputs)
    assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize("name", ["network", "encoder"])
def test_dynamic_sizes(name: str) -> None:
    torch.manual_seed(1)
    most = 5
    batch = torch.export.Dim("batch", min=0, max=most)
    if name == "network":
        model: nn.Module = Network()
        shapes: dict[int, Any] = {0: batch}
        given = [(n, 3, 20, 20) for n in (2, 0, 5, 1, 3)]
    else:
        model = Encoder()
        shapes = {0: batch, 1: torch.export.Dim("rows", min=2, max=40)}
        given = [(n, rows, 32) for n, rows in ((2, 17), (0, 3), (5, 40), (1, 2), (3, 8))]  # type: ignore[misc]
    program, outside = lower(model, (torch.randn(given[0]),), (shapes,))
    assert not [name for name in outside if "sym_size" not in name]
    for shape in given:
        inputs = (torch.randn(shape),)
        assert_close(run(program, inputs), expected(model, inputs))


def test_quotients_of_sizes_that_may_be_zero() -> None:
    """In torch, a size of the result is `(batch**2) // batch`."""

    class Pairs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(3, 16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            squares = x @ x.mT
            return F.gelu(self.project(torch.stack([squares] * 3, 2)))

    batch = torch.export.Dim("batch", min=0, max=9)
    model = Pairs()
    program, _ = lower(model, (torch.randn(5, 4),), ({0: batch},))
    for count in (0, 1, 9):
        inputs = (torch.randn(count, 4),)
        assert_close(run(program, inputs), expected(model, inputs))


def test_smaller_images_may_take_more_scratch_memory() -> None:
    # The widest image is convolved row by row, narrow ones with im2col windows.
    height, width = (torch.export.Dim(name, min=8, max=64) for name in ("height", "width"))
    model = nn.Conv2d(3, 8, 3, stride=2, padding=1).eval()
    program, _ = lower(model, (torch.randn(1, 3, 32, 48),), ({2: height, 3: width},))
    for shape in ((64, 64), (16, 16), (64, 8), (9, 64)):
        inputs = (torch.randn(1, 3, *shape),)
        assert_close(run(program, inputs), expected(model, inputs))


def test_static_empty_batch() -> None:
    inputs = (torch.randn(0, 3, 20, 20),)
    model = Network()
    program, _ = lower(model, inputs)
    assert_close(run(program, inputs), expected(model, inputs))


def test_same_bits_every_time() -> None:
    torch.manual_seed(2)
    model, inputs = Network(), (torch.randn(2, 3, 40, 40),)
    program, _ = lower(model, inputs)
    first = run(program, inputs)[0]
    assert all(torch.equal(run(program, inputs)[0], first) for _ in range(3))


def test_sizes_without_bound_stay_outside() -> None:
    class Sum(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x).sum(0) * 2

    shapes = ({0: torch.export.Dim("n", min=2)},)
    exported = torch.export.export(Sum(), (torch.randn(3, 4),), dynamic_shapes=shapes)
    tags = CpuPartitioner().partition(to_edge(exported).exported_program()).partition_tags
    assert not tags


class Parts(nn.Module):
    """Differences of sizes, which torch assumes to be positive."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = x + y.sum()
        return torch.exp(x[1:]), torch.cat([x[:-1], x]) * 3, (x[1:].t() * 2).contiguous(), x[1:].sum(0)


@pytest.mark.parametrize("half", [0, 1, 4])
def test_parts_of_nothing_are_empty(half: int) -> None:
    size = Dim("half", min=0, max=4)
    example = torch.randn(6, 5), torch.randn(3)
    program = export(Parts(), example, dynamic_shapes=({0: 2 * size}, {0: size}))
    module = rushlight.load(rushlight.compile(program).buffer)
    inputs = torch.randn(2 * half, 5), torch.randn(half)
    torch.testing.assert_close(module(*inputs), Parts()(*inputs))


@pytest.mark.damage
def test_columns_of_an_input_without_rows() -> None:
    """An input without rows has no memory, so that the address of later columns does not exist."""

    class Columns(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.exp(x[:, 2:]) * torch.tanh(x[:, 1:3])

    program, _ = lower(Columns(), (torch.randn(3, 4),), ({0: Dim("rows", min=0, max=5)},))
    for rows in (0, 5):
        inputs = (torch.randn(rows, 4),)
        assert_close(run(program, inputs), expected(Columns(), inputs))
