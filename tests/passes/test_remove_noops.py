"""Slices of all elements and conversions to the same dtype are removed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import Build, apply, apply_to_program, calls
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.fx import GraphModule

import rushlight
from rushlight.ir.program import copy_program
from rushlight.passes.remove_noops import (
    RemoveNoopConversionsPass,
    RemoveNoopCopiesPass,
    RemoveNoopSlicesPass,
    SqueezeStaticDimsPass,
)

aten = torch.ops.aten


def test_remove_noop_slices() -> None:
    build = Build()
    x = build.input("x", 4, 3)
    whole = build.call(aten.slice_copy.Tensor, x, 0, 0, 9223372036854775807)
    part = build.call(aten.slice_copy.Tensor, whole, 0, 1, 3)
    module = apply(RemoveNoopSlicesPass(), build.finish(part)).graph_module
    assert calls(module) == ["slice_copy.Tensor"]
    value = torch.randn(4, 3)
    assert torch.equal(module(value)[0], value[1:3])


def test_remove_noop_conversions() -> None:
    build = Build()
    x = build.input("x", 4, 3)
    same = build.call(aten._to_copy.default, x, dtype=torch.float32)
    half = build.call(aten._to_copy.default, same, dtype=torch.float16)
    module = apply(RemoveNoopConversionsPass(), build.finish(half)).graph_module
    assert calls(module) == ["_to_copy.default"]
    assert module(torch.ones(4, 3))[0].dtype == torch.float16


def without_copies(net: torch.nn.Module, *inputs: torch.Tensor) -> GraphModule:
    """Returns the graph of a decomposed program after the pass."""
    program = copy_program(torch.export.export(net, inputs).run_decompositions({}))
    result: GraphModule = apply_to_program(RemoveNoopCopiesPass(), program).exported_program.graph_module
    return result


class Buffers(torch.nn.Module):
    first: torch.Tensor
    second: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("first", torch.zeros(4, 3))
        self.register_buffer("second", torch.zeros(4, 3))

    def assign(self, buffer: torch.Tensor, value: torch.Tensor) -> None:
        buffer.copy_(aten.copy.default(buffer, value))


def test_remove_noop_copies() -> None:
    class Net(Buffers):
        def forward(self, x: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
            self.assign(self.first, x.neg())
            self.assign(self.second, row.neg())
            return self.first + self.second

    module = without_copies(Net(), torch.randn(4, 3), torch.randn(3))
    # The copy of a row to all rows stays.
    assert calls(module) == ["neg.default", "neg.default", "copy.default", "add.Tensor"]


def test_an_input_becomes_the_value_of_a_buffer() -> None:
    class Net(Buffers):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.assign(self.first, x)
            return self.first + 1

    module = without_copies(Net(), torch.randn(4, 3))
    assert calls(module) == ["add.Tensor"]
    results: Any = module.graph.output_node().args[0]
    assert results[0].name == "x"


def test_copies_that_are_no_value_of_a_buffer_stay() -> None:
    class Net(Buffers):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            self.first.copy_(x)
            self.first.mul_(2)
            self.second[0].copy_(x[0])
            y.copy_(x.neg())
            return self.first + y

    module = without_copies(Net(), torch.randn(4, 3), torch.randn(4, 3))
    assert [name for name in calls(module) if "copy" in name] == ["copy.default"] * 3


def test_a_result_is_the_value_of_one_buffer() -> None:
    class Net(Buffers):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x.neg()
            self.assign(self.first, y)
            self.assign(self.second, y)
            return y

    module = without_copies(Net(), torch.randn(4, 3))
    assert calls(module) == ["neg.default", "copy.default"]
    results: Any = module.graph.output_node().args[0]
    first, second, result = results
    assert first is result and second is not result


@pytest.mark.parametrize("dims", [(0,), (0, 1), (1,), None])
def test_squeezed_dynamic_dims_stay(dims: tuple[int, ...] | None) -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 2).squeeze() if dims is None else (x * 2).squeeze(dims)

    batch = torch.export.Dim("batch", min=1, max=4)
    program = torch.export.export(Net(), (torch.ones(3, 1, 2),), dynamic_shapes=({0: batch},))
    squeezed = [1] if dims is None or 1 in dims else []
    for partitioner in (None, ()):
        module = rushlight.load(rushlight.compile(program, partitioner=partitioner).buffer)
        for size in (1, 4):
            x = torch.randn(size, 1, 2)
            torch.testing.assert_close(module(x), (x * 2).squeeze(squeezed))


def test_squeezes_of_static_shapes_stay() -> None:
    build = Build()
    x = build.input("x", 1, 3)
    squeezed = build.call(aten.squeeze_copy.dims, x, [0, 1])
    assert not apply(SqueezeStaticDimsPass(), build.finish(squeezed)).modified


class Swap(torch.nn.Module):
    """Both loops exchange two carried values with copies to the same dtype."""

    def forward(self, x: torch.Tensor) -> Any:
        def copy(y: torch.Tensor) -> torch.Tensor:
            return y.to(torch.float32, copy=True)

        looped = while_loop(
            lambda i, a, b: i < 3, lambda i, a, b: (i + 1, copy(b), copy(a)), (torch.tensor(0), x, x + 1)
        )
        scanned = scan(lambda c, row: ((copy(c[1]), copy(c[0])), c[0] * row), (x[0] * 2, x[1] * 2), x)
        return looped, scanned


def test_a_body_does_not_return_its_inputs() -> None:
    x = torch.randn(3, 4)
    program = torch.export.export(Swap(), (x,))
    for partitioner in (None, ()):
        module = rushlight.load(rushlight.compile(program, partitioner=partitioner).buffer)
        torch.testing.assert_close(module(x), Swap()(x))
