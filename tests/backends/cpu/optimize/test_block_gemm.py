"""Linear layers with int16 blocks: weights, errors, and layers for which the backend does not use them."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import damaged, expected, kinds, lower, refusals, run
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

from rushlight.backends.cpu.optimize.block_gemm import block_numbers, pack_blocks
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import BlockGemm, Gemm
from rushlight.backends.cpu.target import TARGETS

ROWS, WIDTH = 100, 200
TARGET = "avx2"


def coarse(target: str | None = TARGET, weights: torch.dtype | None = None) -> CpuPartitioner:
    """Returns a partitioner that may use int16 blocks."""
    return CpuPartitioner(target, weights=weights, float32_matmul_precision="high")


class Layer(nn.Module):
    """The MLP of a transformer: (rows, WIDTH) to the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 3 * WIDTH + 5), nn.Linear(3 * WIDTH + 5, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))


def error_of(got: list[torch.Tensor], want: list[torch.Tensor]) -> float:
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(got, want, strict=True))


def test_numbers_are_within_half_a_step_of_the_weights() -> None:
    torch.manual_seed(0)
    values = torch.randn(3, 192, 7)
    values[0, 5] *= 1000
    values[1, :, 2] = 0
    values[2, :, 3] = 1e-37
    values[2, 4, 1] = 1e-12
    numbers, scales = block_numbers(values)
    rounded = numbers.double() * scales.double()[:, None]
    steps = scales.double()[:, None].expand_as(values)
    assert ((rounded - values).abs() <= torch.where(numbers.abs() == 1, 1.0, 0.5001) * steps).all()
    assert (numbers.double().norm(dim=1) <= 46340).all()
    assert torch.equal(numbers.sign(), values.sign().to(torch.int16)), (
        "a product with infinity keeps its sign"
    )


def test_panels_lie_as_tiles_read_them() -> None:
    torch.manual_seed(0)
    k, n, blocks = 7, 21, 2
    matrix = torch.randn(k, n)
    words = pack_blocks(matrix, blocks, TARGETS["avx2"])
    numbers, scales = block_numbers(F.pad(matrix, (0, 3, 0, 1)).view(2, 4, 24))
    assert words.dtype is torch.int32 and words.numel() == (2 * 2 + 2) * 24
    first, second = words[: 6 * 16].view(6, 16), words[6 * 16 :].view(6, 8)
    for panel, columns in ((first, slice(0, 16)), (second, slice(16, 24))):
        assert torch.equal(
            panel[:4].view(torch.int16).view(4, -1, 2)[..., 0], numbers.flatten(0, 1)[::2, columns]
        )
        assert torch.equal(
            panel[:4].view(torch.int16).view(4, -1, 2)[..., 1], numbers.flatten(0, 1)[1::2, columns]
        )
        assert torch.equal(panel[4:].contiguous().view(torch.float32), scales[:, columns])


@pytest.mark.threads
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", ["avx2", "avx512"])
def test_a_plan_runs_on_any_machine(target: str, threads: int) -> None:
    """On a machine without int16 products or with other panels, the runtime converts weights to floats."""
    torch.manual_seed(0)
    model, inputs = Layer(), (torch.randn(ROWS, WIDTH),)
    program, outside = lower(model, inputs, partitioner=coarse(target))
    assert not outside and kinds(program).count(BlockGemm) == 2
    got, want = run(program, inputs, threads), expected(model, inputs)
    assert 1e-6 < error_of(got, want) < 3e-4
    assert torch.equal(got[0], run(program, inputs, threads)[0])


def test_weights_take_half_the_bytes() -> None:
    model, inputs = Layer(), (torch.randn(ROWS, WIDTH),)
    sizes = [
        len(lower(model, inputs, partitioner=partitioner)[0])
        for partitioner in (CpuPartitioner(TARGET), coarse())
    ]
    assert sizes[1] < 0.6 * sizes[0]


@pytest.mark.parametrize(
    "partitioner",
    [
        CpuPartitioner(TARGET),
        coarse(weights=torch.float16),
        coarse("neon"),
    ],
    ids=["highest", "float16", "neon"],
)
def test_other_products_are_of_floats(partitioner: CpuPartitioner) -> None:
    program, _ = lower(Layer(), (torch.randn(ROWS, WIDTH),), partitioner=partitioner)
    assert BlockGemm not in kinds(program)


@pytest.mark.parametrize("rows", [1, 16, ROWS])
def test_small_products_are_of_floats(rows: int) -> None:
    program, _ = lower(nn.Linear(WIDTH, 64), (torch.randn(rows, WIDTH),), partitioner=coarse())
    assert kinds(program) == [Gemm]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
def test_weights_without_blocks_are_floats(bad: float) -> None:
    model = nn.Linear(WIDTH, 600)
    model.weight.data[3, 4] = bad
    inputs = (torch.randn(ROWS, WIDTH),)
    program, _ = lower(model, inputs, partitioner=coarse())
    assert kinds(program) == [Gemm]
    torch.testing.assert_close(run(program, inputs), expected(model, inputs), equal_nan=True)


def test_convolutions_are_of_floats() -> None:
    model, inputs = nn.Conv2d(128, 256, 1), (torch.randn(1, 128, 28, 28),)
    program, _ = lower(model, inputs, partitioner=coarse())
    assert BlockGemm not in kinds(program)


def test_the_budget_bounds_how_many_there_are() -> None:
    model = nn.Sequential(
        *(nn.Linear(WIDTH, WIDTH) for _ in range(3)), *(nn.Linear(WIDTH, WIDTH) for _ in range(120))
    )
    program, _ = lower(model, (torch.randn(128, WIDTH),), partitioner=coarse())
    assert kinds(program).count(BlockGemm) == 100


@pytest.mark.threads
@pytest.mark.parametrize("threads", [1, 2])
def test_special_numbers_stay_in_their_rows(threads: int) -> None:
    torch.manual_seed(0)
    model = nn.Linear(WIDTH, 600)
    plain = torch.randn(ROWS, WIDTH)
    special = plain.clone()
    special[3, 7], special[40, 100], special[41, 0] = float("nan"), float("inf"), -float("inf")
    special[50], special[51], special[52] = 0, 1e-30, 1e-40
    special[60, 5], special[61] = 1e30, plain[61] * 1e25
    program, _ = lower(model, (plain,), partitioner=coarse(None))
    (got,), (want,) = run(program, (special,), threads), expected(model, (special,))
    assert torch.equal(got.isnan(), want.isnan())
    assert torch.equal(got.isinf(), want.isinf()) and torch.equal(got[want.isinf()], want[want.isinf()])
    for a, b in zip(got, want, strict=True):
        usual = b.isfinite()
        if usual.any():
            assert (a[usual] - b[usual]).abs().max() <= 3e-4 * b[usual].abs().max()
    (before,) = run(program, (plain,), threads)
    untouched = (special == plain).all(1)
    assert torch.equal(got[untouched], before[untouched])


def test_any_number_of_rows() -> None:
    torch.manual_seed(0)
    model = Layer()
    program, _ = lower(model, (torch.randn(40, WIDTH),), ({0: Dim("rows", min=1, max=300)},), coarse(None))
    for rows in (1, 13, 14, 15, 100, 300):
        inputs = (torch.randn(rows, WIDTH),)
        got = run(program, inputs)
        assert error_of(got, expected(model, inputs)) < 3e-4
        assert torch.equal(got[0][:1], run(program, (inputs[0][:1],))[0]), (
            "a row's result depends on the others"
        )


def test_an_empty_batch() -> None:
    program, _ = lower(Layer(), (torch.randn(40, WIDTH),), ({0: Dim("rows", min=0, max=300)},), coarse(None))
    (got,) = run(program, (torch.randn(0, WIDTH),))
    assert got.shape == (0, WIDTH)


@pytest.mark.damage
def test_a_damaged_plan_gives_an_error_or_a_result() -> None:
    inputs = (torch.randn(ROWS, WIDTH),)
    program, _ = lower(Layer(), inputs, partitioner=coarse(None))
    assert refusals(damaged(program, 600, 0), inputs) > 60
