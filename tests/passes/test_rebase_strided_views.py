"""`as_strided` of a view reads and writes the memory of the tensor behind the view."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import Function
from tests.passes.support import Build, apply, calls

import rushlight
from rushlight.ir.errors import CompileError
from rushlight.passes.rebase_strided_views import RebaseStridedViewsPass

aten = torch.ops.aten


def test_the_source_becomes_the_tensor_that_owns_the_memory() -> None:
    build = Build()
    x = build.input("x", 4, 3)
    rows = build.call(aten.slice.Tensor, x, 0, 1)
    strided = build.call(
        aten.as_strided.default, build.call(aten.permute.default, rows, [1, 0]), [2, 2], [1, 1]
    )
    module = apply(RebaseStridedViewsPass(), build.finish(strided)).graph_module
    found = next(node for node in module.graph.nodes if node.name == strided.name)
    assert [getattr(arg, "name", arg) for arg in found.args] == ["x", [2, 2], [1, 1], 3]


def test_a_result_in_another_order_is_permuted_first() -> None:
    build = Build()
    doubled = build.call(aten.relu.default, build.call(aten.permute.default, build.input("x", 4, 3), [1, 0]))
    module = build.finish(build.call(aten.as_strided.default, doubled, [2, 2], [1, 1]))
    module = apply(RebaseStridedViewsPass(), module).graph_module
    assert calls(module) == ["permute.default", "relu.default", "permute.default", "as_strided.default"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.mT.as_strided((2, 2), (1, 1)),
        lambda x: x[1:].as_strided((2, 2), (1, 1), 0),
        lambda x: x[:, 1:].as_strided((3,), (2,)),
        lambda x: (x.t() * 2).as_strided((2, 3), (1, 2)),
        lambda x: x.split(2)[1].as_strided((2,), (4,)),
        lambda x: x.unbind(0)[1].as_strided((2,), (2,), 1),
    ],
)
def test_strided_views_of_views(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.randn(4, 3)
    program = rushlight.compile(Function(function), (x,), partitioner=())
    torch.testing.assert_close(rushlight.load(program.buffer)(x), function(x), rtol=0, atol=0)


def _write(x: torch.Tensor) -> torch.Tensor:
    doubled = x.t() * 2
    doubled.as_strided((2, 2), (3, 1)).add_(5)
    return doubled


WRITES: list[Callable[[torch.Tensor], torch.Tensor]] = [
    _write,
    lambda x: torch.as_strided_scatter(x.t(), torch.zeros(2, 2), (2, 2), (3, 1)),
    lambda x: torch.as_strided_scatter(x[1:].t(), torch.zeros(2, 2), (2, 2), (3, 1)),
    lambda x: torch.as_strided_scatter(x[1:].t(), torch.zeros(2, 2), (2, 2), (3, 1), 0),
    lambda x: torch.as_strided_scatter(x[1:], torch.zeros(2), (2,), (1,)).as_strided((12,), (1,), 0),
    lambda x: torch.as_strided_scatter(x.split(2)[1].t()[1:], torch.zeros(2), (2,), (1,)),
    lambda x: torch.as_strided_scatter(x.t().expand(2, 3, 4), torch.zeros(2), (2,), (3,)),
]


@pytest.mark.parametrize("function", WRITES)
def test_writes_to_strided_views_of_views(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.randn(4, 3)
    program = rushlight.compile(Function(function), (x,), partitioner=())
    torch.testing.assert_close(rushlight.load(program.buffer)(x), function(x), rtol=0, atol=0)


@pytest.mark.parametrize(
    "function",
    [
        _write,
        lambda x: x.t().as_strided((2, 2), (1, 1)),
        lambda x: x[:, 1:].as_strided((x.shape[0], 2), (3, 1)),
        lambda x: x[-1:].as_strided((2,), (1,)),
    ],
)
def test_strided_views_with_a_dynamic_size(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    shapes = (({0: torch.export.Dim("n", min=2, max=8)},),)
    exported = torch.export.export(Function(function), (torch.randn(4, 3),), dynamic_shapes=shapes)
    module = rushlight.load(rushlight.compile(exported, partitioner=()).buffer)
    for size in (4, 7):
        x = torch.randn(size, 3)
        torch.testing.assert_close(module(x), function(x), rtol=0, atol=0)


def test_memory_with_gaps_is_refused() -> None:
    x = torch.randn(4, 6)[:, ::2]
    with pytest.raises(
        CompileError, match=r"as_strided.*support.py:.*gaps \(shape \[4, 3\], strides \[6, 2\]"
    ):
        rushlight.compile(Function(lambda x: x.as_strided((2, 2), (1, 1))), (x,), partitioner=())
