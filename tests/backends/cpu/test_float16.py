"""Programs with float16 and bfloat16 run completely in the backend, and agree with eager PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import Function, damaged, expected, lower, operations, refusals, run
from torch import nn
from torch.nn import functional as F

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Gemm

EPSILON = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
DTYPES = pytest.mark.parametrize("dtype", EPSILON, ids=lambda dtype: str(dtype).removeprefix("torch."))


class Block(nn.Module):
    """A transformer layer whose norm is computed in float32, as in language models."""

    def __init__(self, width: int = 48, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.scale = nn.Parameter(torch.rand(width) + 0.5)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1)
        )
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        y = x.to(torch.float32)
        y = (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.scale
        return x + self.down(F.gelu(self.up(y)))


class Images(nn.Module):
    """Convolutions for every algorithm."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU6())
        self.winograd = nn.Conv2d(32, 40, 3, padding=1)
        self.deep = nn.Sequential(nn.Conv2d(40, 80, 1), nn.Hardswish(), nn.Conv2d(80, 80, 3, 1, 1, groups=80))
        self.grouped = nn.Conv2d(80, 24, 3, 2, groups=2)
        self.larger = nn.ConvTranspose2d(24, 24, 2, 2)
        self.head = nn.Linear(24, 11)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.larger(self.grouped(self.deep(self.winograd(self.stem(x)))))
        return self.head(F.adaptive_avg_pool2d(F.max_pool2d(y, 3, 2, 1), 1).flatten(1))


class Words(nn.Module):
    """An embedding whose table is also the last matrix, a recurrent layer, masks and `where`."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(60, 40), nn.Linear(40, 60, bias=False)
        self.head.weight = self.table.weight
        self.gru = nn.GRU(40, 40, batch_first=True)

    def forward(self, ids: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        y = torch.where(x > 0, self.table(ids), torch.tanh(x)) + x
        y = torch.cat([self.gru(y)[0][:, :2], y[:, 2:].softmax(-1)], 1)
        return self.head(y)


def _cases() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    torch.manual_seed(2)
    ids = torch.randint(0, 60, (2, 5))
    return {
        "one row": (Block().eval(), (torch.randn(1, 1, 48),)),
        "few rows": (Block().eval(), (torch.randn(1, 4, 48),)),
        "rows": (Block().eval(), (torch.randn(2, 37, 48),)),
        "images": (Images().eval(), (torch.randn(2, 3, 48, 48),)),
        "words": (Words().eval(), (ids, torch.randn(2, 5, 40))),
    }


CASES = _cases()


def halved(item: Any, dtype: torch.dtype) -> Any:
    """Converts a module or a float tensor to `dtype`."""
    if isinstance(item, torch.Tensor):
        return item.to(dtype) if item.is_floating_point() else item
    return copy.deepcopy(item).to(dtype)


@DTYPES
@pytest.mark.parametrize("case", CASES)
def test_a_program_of_16_bits(case: str, dtype: torch.dtype) -> None:
    module, inputs = CASES[case]
    half, halves = halved(module, dtype), tuple(halved(x, dtype) for x in inputs)
    program, outside = lower(half, halves)
    assert not outside
    (got,) = run(program, halves)
    (eager,) = expected(half, halves)
    # The exact results for the same weights and inputs.
    wide = copy.deepcopy(half).float()
    (truth,) = expected(wide, tuple(halved(x, torch.float32) for x in halves))
    assert got.dtype is dtype and got.shape == eager.shape
    largest = float(truth.abs().max())
    error, error_of_eager = (float((y.float() - truth).abs().max()) for y in (got, eager))
    # Only results and folded weights are rounded.
    assert error <= max(error_of_eager, EPSILON[dtype] * largest)
    assert (got.float() - eager.float()).abs().max() <= error_of_eager + EPSILON[dtype] * largest


@DTYPES
@pytest.mark.parametrize("case", CASES)
def test_weights_of_16_bits(case: str, dtype: torch.dtype) -> None:
    module, inputs = CASES[case]
    whole, _ = lower(module, inputs, partitioner=CpuPartitioner(compact=True))
    program, outside = lower(module, inputs, partitioner=CpuPartitioner(weights=dtype))
    assert not outside
    (got,), (want,) = run(program, inputs), expected(module, inputs)
    assert got.dtype is torch.float32
    assert (got - want).abs().max() <= 2 * EPSILON[dtype] * want.abs().max()
    saved = sum(w.numel() for w in module.parameters() if w.dim() > 1) * 2
    assert len(program) < len(whole) - 0.9 * saved


@DTYPES
def test_a_plan_for_another_machine_runs(dtype: torch.dtype) -> None:
    module, inputs = CASES["images"]
    got = [
        run(lower(module, inputs, partitioner=CpuPartitioner(target, weights=dtype))[0], inputs)[0]
        for target in ("generic", "avx2", "avx512", "neon")
    ]
    for other in got[1:]:
        assert (other - got[0]).abs().max() < 1e-5 * got[0].abs().max()


class Cache(nn.Module):
    """A 16-bit state."""

    kept: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(4, 6, dtype=torch.float16))

    def forward(self, at: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        self.kept[at] = x
        return self.kept * 2 + x.sum()


@pytest.mark.parametrize(
    ("program", "weights", "rounds"),
    [(torch.bfloat16, None, 1), (torch.float16, None, 0), (torch.float32, torch.bfloat16, 0)],
)
def test_inputs_of_products_are_rounded_only_as_the_program_does(
    program: torch.dtype, weights: torch.dtype | None, rounds: int
) -> None:
    inputs = (halved(torch.zeros(20, 8), program),)
    partitioner = CpuPartitioner(weights=weights)
    lowered, _ = lower(halved(nn.Linear(8, 8), program), inputs, partitioner=partitioner)
    (product,) = operations(lowered, Gemm)
    assert product.rounds_input == rounds


def test_state() -> None:
    at, x = torch.tensor([1, 3]), torch.randn(2, 6).half()
    program, outside = lower(Cache(), (at, x))
    assert not outside
    (got,), (want,) = run(program, (at, x)), expected(Cache(), (at, x))
    torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-3)


@DTYPES
def test_any_order_of_dimensions_and_ends(dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 5, 7).to(dtype).to(memory_format=torch.channels_last)
    x[0, 0, 0, :4] = torch.tensor([float("inf"), float("-inf"), float("nan"), torch.finfo(dtype).max])
    model = Function(lambda a: (a.permute(0, 3, 1, 2).relu(), a * 2 + 1, torch.finfo(dtype).tiny * a.abs()))
    program, outside = lower(model, (x,))
    assert not outside
    for got, want in zip(run(program, (x,)), expected(model, (x,)), strict=True):
        torch.testing.assert_close(got, want, rtol=EPSILON[dtype], atol=0, equal_nan=True)


def test_weights_that_float16_has_no_place_for_stay() -> None:
    module = nn.Linear(32, 16)
    module.weight.data[3, 4] = 1e5
    x = torch.randn(3, 32)
    program, _ = lower(module, (x,), partitioner=CpuPartitioner(weights=torch.float16))
    torch.testing.assert_close(run(program, (x,))[0], expected(module, (x,))[0])


@pytest.mark.parametrize("rows", [1, 4, 7, 13, 20, 64, 150])
@pytest.mark.parametrize("depth", [1024, 2048, 2055, 16384])
def test_depths_of_linear_layers(depth: int, rows: int) -> None:
    """Depths and rows change the tiles and the parts of a GEMM. The number of threads changes no bit."""
    layer, x = nn.Linear(depth, 70).bfloat16(), torch.randn(rows, depth).bfloat16()
    program, _ = lower(layer, (x,))
    exact = F.linear(x.double(), layer.weight.double(), layer.bias.double())
    (result,) = run(program, (x,), threads=1)
    torch.testing.assert_close(result.double(), exact, rtol=0.004, atol=1e-3)
    for threads in (2, 3):
        assert torch.equal(run(program, (x,), threads=threads)[0], result)


def test_other_types_of_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="torch.bfloat16, but torch.float64 is given"):
        CpuPartitioner(weights=torch.float64)


@pytest.mark.damage
@pytest.mark.parametrize("case", ["images", "words"])
def test_a_damaged_plan_gives_an_error_or_a_result(case: str) -> None:
    module, inputs = CASES[case]
    half, halves = halved(module, torch.float16), tuple(halved(x, torch.float16) for x in inputs)
    assert refusals(damaged(lower(half, halves)[0], 250, 0), halves) > 20
