"""Convolutions that read the inputs of a concatenation instead of its result."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import Kind, assert_close, damaged, expected, lower, plan_of, refusals, run
from torch import nn

from rushlight.backends.cpu.options import Float32MatmulPrecision
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Copy, Gemm, Winograd


class Skip(nn.Module):
    """A skip connection, a branch with half the resolution, and a convolution of their concatenation."""

    def __init__(self, last: nn.Module, grow: int = 32, rank: int = 2) -> None:
        super().__init__()
        convolution, pool = (nn.Conv2d, nn.MaxPool2d(2)) if rank == 2 else (nn.Conv1d, nn.MaxPool1d(2))
        self.first, self.pool = convolution(3, 16, 1), pool
        width = 64 >> (2 - rank)
        self.deep = nn.Sequential(*(convolution(i, width, 3, padding=1) for i in (16, *(width,) * 4)))
        transposed = nn.ConvTranspose2d if rank == 2 else nn.ConvTranspose1d
        self.grow, self.last = transposed(width, grow, 2, stride=2), last

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        top = torch.relu(self.first(x))
        return self.last(torch.cat((top, self.grow(self.deep(self.pool(top)))), 1))


def conv(kernel: int, outputs: int = 20, **options: int) -> nn.Module:
    return nn.Conv2d(48, outputs, kernel, **options)  # type: ignore[arg-type]


# The options of the last layer, the precision, and the possible steps.
LAYERS: dict[str, tuple[dict[str, int], Float32MatmulPrecision, set[Kind]]] = {
    "winograd_4": ({"kernel": 3, "padding": 1}, "high", {Winograd}),
    "winograd_2": ({"kernel": 3, "padding": 1}, "highest", {Winograd}),
    "winograd_strided": ({"kernel": 3, "outputs": 64, "padding": 1, "stride": 2}, "highest", {Winograd}),
    "direct": ({"kernel": 5, "padding": 2}, "highest", {Gemm}),
    "direct_strided": ({"kernel": 5, "stride": 2}, "highest", {Gemm}),
    "pixels": ({"kernel": 1}, "highest", {Gemm}),
}


def readers(program: bytes) -> list[Kind]:
    """Returns the kinds of the convolutions that read several parts."""
    return [
        type(step.operation)
        for step in plan_of(program).steps
        if isinstance(step.operation, (Gemm, Winograd)) and step.operation.more_inputs
    ]


@pytest.mark.parametrize("name", LAYERS)
def test_channels_are_read_from_their_places(name: str) -> None:
    torch.manual_seed(1)
    options, precision, kinds = LAYERS[name]
    model, inputs = Skip(conv(**options)), (torch.randn(2, 3, 44, 36),)
    program, outside = lower(model, inputs, partitioner=CpuPartitioner(float32_matmul_precision=precision))
    assert not outside
    assert set(readers(program)) == kinds
    assert Copy not in [type(step.operation) for step in plan_of(program).steps][1:-1]
    for threads in (1, 2):
        assert_close(
            run(program, inputs, threads), expected(model, inputs), 5e-5 if precision == "high" else 1e-5
        )


def test_rows_are_read_from_their_places() -> None:
    model, inputs = Skip(nn.Conv1d(48, 20, 5, padding=2), rank=1), (torch.randn(2, 3, 400),)
    program, _ = lower(model, inputs)
    assert readers(program) == [Gemm]
    assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_16_bits(dtype: torch.dtype) -> None:
    model, inputs = Skip(conv(5, padding=2)), (torch.randn(1, 3, 44, 36),)
    program, _ = lower(model, inputs, partitioner=CpuPartitioner(weights=dtype))
    assert readers(program) == [Gemm]
    assert_close(run(program, inputs), expected(model, inputs), 0.03)


def test_dynamic_sizes() -> None:
    model = Skip(conv(3, padding=1))
    batch = torch.export.Dim("batch", min=1, max=4)
    inputs = (torch.randn(3, 3, 44, 36),)
    program, _ = lower(model, inputs, dynamic_shapes=({0: batch},))
    assert readers(program) == [Winograd]
    for count in (1, 4):
        some = (torch.randn(count, 3, 44, 36),)
        assert_close(run(program, some), expected(model, some))


def test_infinities_reach_no_other_outputs_than_they_should() -> None:
    """Tiles with infinities are summed directly. The lower level has no infinities."""
    torch.manual_seed(1)
    model = Skip(conv(3, padding=1))
    model.pool = nn.AvgPool2d(1, 2)  # type: ignore[assignment]
    x = torch.randn(1, 3, 48, 48)
    x[0, 1, 5, 7], x[0, 2, 31, 31] = float("inf"), float("-inf")
    program, _ = lower(model, (x,))
    assert readers(program) == [Winograd]
    (got,), (want,) = run(program, (x,)), expected(model, (x,))
    assert torch.equal(got.isfinite(), want.isfinite())
    assert not want.isfinite().all()
    usual = want.isfinite()
    torch.testing.assert_close(got[usual], want[usual], rtol=1e-4, atol=1e-4)


def test_maps_of_few_channels_are_joined() -> None:
    """Without a copy, the products would have few terms."""
    model, inputs = Skip(nn.Conv2d(23, 20, 5), grow=7), (torch.randn(1, 3, 44, 36),)
    program, _ = lower(model, inputs)
    assert readers(program) == []
    assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.damage
def test_a_damaged_plan_gives_an_error_or_a_result() -> None:
    model, inputs = Skip(conv(3, padding=1)), (torch.randn(1, 3, 44, 36),)
    assert refusals(damaged(lower(model, inputs)[0], 800, 3), inputs) > 100
