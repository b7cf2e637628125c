"""The layout of results of elementwise chains whose operands have different layouts."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, plan_of, run
from torch import nn
from torch.export import Dim

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Copy, Elementwise
from rushlight.backends.cpu.plan.tensor import Storage, Tensor, strides_in_order
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.exir import to_edge_transform_and_lower
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import static_int8


def turned_sum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns a sum with a transposed operand. A separate step computes it."""
    return torch.softmax(torch.exp(x.permute(2, 1, 0)) + torch.sin(y), 0)


def test_a_large_operand_is_transposed_by_a_copy() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(32, 12, 20), torch.randn(20, 12, 32))
    program, _ = lower(turned_sum, inputs)
    plan = plan_of(program)
    # The first chain computes the sum, the next ones softmax.
    chain = next(step.operation for step in plan.steps if isinstance(step.operation, Elementwise))
    assert len(chain.inputs) == 2
    places = [plan.values[value] for value in (*chain.inputs, chain.output)]
    assert len({tuple(place.strides) for place in places}) == 1
    assert Copy in kinds(program)
    assert_close(run(program, inputs), expected(turned_sum, inputs))


def test_a_small_operand_is_read_as_it_lies() -> None:
    inputs = (torch.randn(4, 3, 5), torch.randn(5, 3, 4))
    program, _ = lower(lambda x, y: torch.exp(x.permute(2, 1, 0) + y), inputs)
    assert kinds(program) == [Elementwise]
    assert_close(run(program, inputs), expected(lambda x, y: torch.exp(x.permute(2, 1, 0) + y), inputs))


def test_broadcast_and_dynamic_operands() -> None:
    torch.manual_seed(0)

    class Model(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
            return nn.functional.layer_norm(x.permute(2, 1, 0) + y * z, (32,))

    model = Model()

    rows = Dim("rows", min=2, max=64)
    inputs = (torch.randn(32, 12, 20), torch.randn(20, 12, 32), torch.randn(12, 1))
    program, _ = lower(model, inputs, ({2: rows}, {0: rows}, {}))
    for count in (2, 33, 64):
        inputs = (torch.randn(32, 12, count), torch.randn(count, 12, 32), torch.randn(12, 1))
        assert_close(run(program, inputs), expected(model, inputs))


SHORT_ROWS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "pairs": ((70, 1, 2), (1, 90, 2)),
    "a number for each row": ((70, 90, 1), (70, 90, 3)),
    "a number for each column": ((1, 90, 1), (70, 1, 2)),
    "rows longer than half a block": ((3, 1, 300), (1, 2, 300)),
    "rows as long as the limit": ((70, 1, 32), (1, 90, 32)),
    "one number": ((1, 1, 1), (70, 90, 2)),
}


@pytest.mark.parametrize("name", SHORT_ROWS)
def test_short_rows_of_broadcast_operands(name: str) -> None:
    torch.manual_seed(0)
    first, second = (torch.randn(shape) for shape in SHORT_ROWS[name])
    wide = torch.randn(*second.shape[:-1], second.shape[-1] + 3)

    def model(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return torch.maximum(x, y) - torch.minimum(x.exp(), z[..., 2:-1])

    inputs = (first, second, wide)
    program, _ = lower(model, inputs)
    assert set(kinds(program)) == {Elementwise}
    assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize("length", [1, 2, 3, 8, 16, 17])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_short_rows_are_written_into_a_concatenation(length: int, dim: int) -> None:
    torch.manual_seed(0)
    sizes = [(length, 70, 9), (70, length, 9), (70, 9, length)][dim]

    def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.sin(x * 2), x + y, torch.exp(y), x], dim)

    inputs = (torch.randn(sizes), torch.randn(sizes))
    program, outside = lower(model, inputs)
    assert not outside
    assert_close(run(program, inputs), expected(model, inputs))
    assert_close(run(program, inputs, threads=2), expected(model, inputs))


class ChannelShuffle(nn.Module):
    """Two convolutions, and between them a concatenation whose channels are interleaved."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, channels, 3, padding=1), nn.Conv2d(channels, 5, 1)
        self.groups = groups

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        n, channels, height, width = y.shape
        y = y.view(n, self.groups, channels // self.groups, height, width).transpose(1, 2)
        return self.second(y.reshape(n, channels, height, width))  # type: ignore[no-any-return]


@pytest.mark.parametrize(("channels", "groups"), [(6, 2), (58, 2), (64, 4), (24, 12)])
@pytest.mark.parametrize("is_int8", [False, True])
def test_channels_are_interleaved_by_one_copy(channels: int, groups: int, is_int8: bool) -> None:
    torch.manual_seed(0)
    model = ChannelShuffle(channels, groups).eval()
    inputs = (torch.randn(2, 3, 9, 7),)
    if is_int8:
        quantizer = CpuQuantizer().set_global(static_int8())
        exported = quantize(model, inputs, quantizer, [inputs])
        program = bytes(
            to_edge_transform_and_lower(exported, partitioner=[CpuPartitioner()]).to_executorch().buffer
        )
        reference = exported.module()(*inputs)
    else:
        program, _ = lower(model, inputs)
        reference = model(*inputs)
    copies = [step.operation for step in plan_of(program).steps if isinstance(step.operation, Copy)]
    assert sum(len(plan_of(program).values[copy.input].sizes) == 5 for copy in copies) == 1
    assert len(copies) <= 2  # the other copies the result to row-major memory
    torch.testing.assert_close(
        torch.as_tensor(run(program, inputs)[0]), reference, rtol=1e-4, atol=0.1 if is_int8 else 1e-5
    )


# Sizes and memory order of a tensor, the sizes of a view, and the memory order of a copy.
ORDERS = [
    ((2, 3, 4, 5), (0, 1, 2, 3), (6, 20), [0, 1, 2, 3]),
    ((2, 3, 4, 5), (0, 2, 3, 1), (2, 12, 5), [0, 3, 1, 2]),
    ((1, 58, 2, 7, 6), (0, 3, 4, 2, 1), (1, 116, 7, 6), [0, 3, 4, 1, 2]),
    ((1, 58, 2, 7, 6), (0, 3, 4, 2, 1), (116 * 42,), [0, 1, 2, 3, 4]),
    ((4, 6), (1, 0), (2, 2, 3, 2), [1, 0]),
    ((3, 1, 4), (2, 1, 0), (12,), [1, 0, 2]),
]


@pytest.mark.parametrize(("sizes", "memory", "view", "order"), ORDERS)
def test_copies_for_views_keep_the_memory_order(
    sizes: tuple[int, ...], memory: tuple[int, ...], view: tuple[int, ...], order: list[int]
) -> None:
    tensor = Tensor(Storage(1), sizes, strides_in_order(sizes, memory))
    assert tensor.order_for(view) == order
    copied = Tensor(Storage(1), sizes, strides_in_order(sizes, order))
    assert copied.view(view) is not None


class MixedHeads(nn.Module):
    """Attention whose scores are mixed across heads, before and after the softmax."""

    def __init__(self, heads: int, *, bias: bool) -> None:
        super().__init__()
        self.before, self.after = (nn.Linear(heads, heads, bias=bias) for _ in range(2))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = self.before((q @ k.transpose(-2, -1)).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.after(scores.softmax(-1).permute(0, 2, 3, 1)).permute(0, 3, 1, 2) @ v


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("batch", "heads", "rows"), [(1, 4, 40), (3, 8, 17), (2, 1, 30), (1, 4, 5), (1, 24, 20)]
)
def test_heads_are_mixed_without_copies(batch: int, heads: int, rows: int, bias: bool) -> None:
    torch.manual_seed(0)
    model = MixedHeads(heads, bias=bias).eval()
    inputs = tuple(torch.randn(batch, heads, rows, 12) for _ in range(3))
    program, _ = lower(model, inputs)
    if heads <= 16 and rows >= 17:
        assert Copy not in kinds(program)
    assert_close(run(program, inputs), expected(model, inputs))
