"""Elements and slices that indices select, and cumulative sums."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, run

import rushlight
from rushlight.backends.cpu.plan.tables import CumulativeSum, Gather, Take

Function = Callable[..., torch.Tensor]
SHAPES = [(7,), (5, 7), (3, 5, 7), (2, 3, 4, 600)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_gather_along_each_axis(shape: tuple[int, ...], threads: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    for axis in range(-1, len(shape) - 1):
        sizes = [max(1, size - 1) for size in shape]
        sizes[axis] = 9
        index = torch.randint(0, shape[axis], sizes)
        choose: Function = lambda x, i, axis=axis: torch.gather(x * 2, axis, i) + 1  # noqa: E731
        program, outside = lower(choose, (x, index))
        assert not outside and Take in kinds(program)
        assert_close(run(program, (x, index), threads), expected(choose, (x, index)))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("count", [0, 1, 9])
def test_index_select_along_each_axis(shape: tuple[int, ...], count: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    for axis in range(-1, len(shape) - 1):
        index = torch.randint(0, shape[axis], (count,))
        choose: Function = lambda x, i, axis=axis: torch.index_select(x * 2, axis, i) + 1  # noqa: E731
        program, outside = lower(choose, (x, index))
        assert not outside and (Take in kinds(program) or Gather in kinds(program))
        assert_close(run(program, (x, index)), expected(choose, (x, index)))


def test_constant_indices_and_views() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(4, 6, 5),)

    def choose(x: torch.Tensor) -> torch.Tensor:
        places = torch.tensor([3, 0, 3])
        chosen = torch.index_select((x * 2).transpose(1, 2), 2, places)
        return (
            torch.gather(chosen.permute(2, 0, 1), 0, torch.tensor([2, 1]).view(2, 1, 1).expand(2, 4, 5)) + 1
        )

    program, outside = lower(choose, inputs)
    assert not outside
    assert_close(run(program, inputs), expected(choose, inputs))


@pytest.mark.parametrize("place", [5, -1, 2**40])
def test_places_outside_are_errors(place: int) -> None:
    choose: Function = lambda x, i: torch.gather(x * 2, 1, i) + 1  # noqa: E731
    x = torch.randn(3, 5)
    index = torch.zeros(3, 2, dtype=torch.int64)
    program, outside = lower(choose, (x, index))
    assert not outside
    index[1, 1] = place
    with pytest.raises(rushlight.RushlightError, match="an index is outside of a dimension of 5"):
        run(program, (x, index))


def test_indices_of_int32_stay_outside() -> None:
    choose: Function = lambda x, i: torch.index_select(x * 2, 1, i) + 1  # noqa: E731
    inputs = (torch.randn(3, 5), torch.tensor([1, 4], dtype=torch.int32))
    program, outside = lower(choose, inputs)
    assert "index_select" in {op.split(".")[1] for op in outside}
    assert_close(run(program, inputs), expected(choose, inputs))


@pytest.mark.parametrize("shape", [*SHAPES, (0, 3), (3, 0), (1000,), (9, 1000), (1000, 300)], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_cumulative_sums_along_each_axis(shape: tuple[int, ...], threads: int) -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(shape),)
    for axis in range(-1, len(shape) - 1):
        add: Function = lambda x, axis=axis: torch.cumsum(x * 2, axis) + 1  # noqa: E731
        program, outside = lower(add, inputs)
        assert not outside and CumulativeSum in kinds(program)
        # Eager PyTorch also adds float32 numbers in double.
        torch.testing.assert_close(run(program, inputs, threads)[0], expected(add, inputs)[0], rtol=0, atol=0)


def test_cumulative_sums_of_views_and_special_numbers() -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 7, 5)
    x[0, 3, 2], x[1, 2, 1], x[2, 4, 1], x[3, 1, 1] = float("nan"), float("inf"), -float("inf"), 1e-42
    x[4] = -0.0

    def add(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 1
        return torch.cumsum(y.transpose(0, 2), 1), torch.cumsum(y[:, ::2], 0) * 1, torch.cumsum(y, 1)

    program, outside = lower(add, (x,))
    assert not outside
    for got, want in zip(run(program, (x,)), expected(add, (x,)), strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


def test_dynamic_sizes() -> None:
    rows, columns = torch.export.Dim("rows", min=1, max=50), torch.export.Dim("columns", min=1, max=40)

    def choose(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(torch.gather(torch.index_select(x * 2, 1, i[0]), 1, i), 0)

    make: Callable[[int, int], tuple[torch.Tensor, ...]] = lambda m, n: (  # noqa: E731
        torch.randn(m, n),
        torch.randint(0, n, (m, n)),
    )
    program, outside = lower(choose, make(5, 6), (({0: rows, 1: columns}, {0: rows, 1: columns}),))
    assert not outside
    for m, n in ((5, 6), (1, 1), (50, 40), (3, 40)):
        inputs = make(m, n)
        assert_close(run(program, inputs), expected(choose, inputs))
