"""`as_strided` of a view reads the memory of the tensor behind the view."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import Function
from tests.passes.support import Build, apply, calls

import rushlight
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
