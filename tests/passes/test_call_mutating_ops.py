"""Programs call operators that change arguments. Results and buffers are those of eager PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.ir.errors import CompileError, MissingOutVariantError
from rushlight.passes.call_mutating_ops import CallMutatingOpsPass
from rushlight.passes.runner import run_passes
from rushlight.runtime import aten_lib

NAMES = "mutating_ops_test"


@torch.library.custom_op(f"{NAMES}::put", mutates_args=("cache",))
def put(value: torch.Tensor, cache: torch.Tensor, position: int) -> None:
    cache[position] = value


@torch.library.custom_op(f"{NAMES}::swap", mutates_args=("cache",))
def swap(value: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    old = cache.clone()
    cache.copy_(value)
    return old


swap.register_fake(lambda value, cache: torch.empty_like(cache))
torch.library.define(
    f"{NAMES}::swap.out", "(Tensor value, Tensor(a!) cache, *, Tensor(b!) out) -> Tensor(b!)"
)


@torch.library.custom_op(f"{NAMES}::count", mutates_args=("left", "right"))
def count(left: torch.Tensor, right: torch.Tensor | None, step: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    left.add_(step)
    if right is not None:
        right.sub_(step)
    return left * 2, left - 1


count.register_fake(lambda left, right, step=1: (torch.empty_like(left), torch.empty_like(left)))
torch.library.define(
    f"{NAMES}::count.out",
    "(Tensor(a!) left, Tensor(b!)? right, int step=1, *, Tensor(c!) out0, Tensor(d!) out1) "
    "-> (Tensor(c!), Tensor(d!))",
)


@torch.library.custom_op(f"{NAMES}::double", mutates_args=("x",))
def double(x: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return x + 1


double.register_fake(torch.empty_like)


class Cached(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.arange(6.0).reshape(2, 3))
        self.register_buffer("other", torch.ones(2, 3))
        self.cache: torch.Tensor
        self.other: torch.Tensor


class Put(Cached):
    """The operator returns nothing, and later nodes read the new contents."""

    def forward(self, x: torch.Tensor) -> Any:
        put(x[0], self.cache, 1)
        return self.cache.sum(), x * 2


class PutTwice(Cached):
    """The second call changes the result of the first, and a node reads the contents between them."""

    def forward(self, x: torch.Tensor) -> Any:
        put(x[0], self.cache, 0)
        between = self.cache * 1
        put(x[1], self.cache, 1)
        return between, self.cache + x


class ReadBefore(Cached):
    """A view of the old contents is read after the call."""

    def forward(self, x: torch.Tensor) -> Any:
        old = self.cache.clone().view(6)
        put(x[0], self.cache, 1)
        return old + self.cache.view(6)


class Returned(Cached):
    """The new contents of the buffer are also a result."""

    def forward(self, x: torch.Tensor) -> Any:
        put(x[1], self.cache, 0)
        return self.cache


class Swapped(Cached):
    """The operator has a result and an out variant."""

    def forward(self, x: torch.Tensor) -> Any:
        old = swap(x, self.cache)
        return old - x, self.cache * old


class Counted(Cached):
    """The operator changes two arguments and has two results."""

    def forward(self, x: torch.Tensor) -> Any:
        twice, less = count(self.cache, self.other, 2)
        return twice + x, less, self.other + 0


class CountedOne(Cached):
    """An optional argument that the operator would change is absent, and one result is not read."""

    def forward(self, x: torch.Tensor) -> Any:
        return count(self.cache, None)[1] + x


class Intermediate(Cached):
    """The operator changes a tensor that the program computes."""

    def forward(self, x: torch.Tensor) -> Any:
        y = x + 1
        put(x[1], y, 0)
        return y * x


class Input(Cached):
    """The operator changes an input."""

    def forward(self, x: torch.Tensor) -> Any:
        put(x[1] * 3, x, 0)
        return x + 1


class Branch(Cached):
    """The operator changes a tensor in a branch."""

    def forward(self, x: torch.Tensor) -> Any:
        def changed(x: torch.Tensor) -> torch.Tensor:
            y = x * 2
            put(x[1], y, 0)
            return y

        return torch.cond(x.sum() > 0, changed, lambda x: x - 1, (x,))


MODELS = [Put, PutTwice, ReadBefore, Returned, Swapped, Counted, CountedOne, Intermediate, Input, Branch]


@pytest.mark.parametrize(("make", "written"), [(Swapped, "b_cache"), (Returned, "clone_default")])
def test_graph_and_signature(make: type[Cached], written: str) -> None:
    x = torch.ones(2, 3)
    before = to_edge(torch.export.export(make(), (x,))).exported_program()
    after = run_passes(before, [CallMutatingOpsPass()]).exported_program
    functional = torch.ops.higher_order.auto_functionalized_v2
    operators = {torch.ops.mutating_ops_test.swap.default, torch.ops.mutating_ops_test.put.default}
    targets = {node.target for node in before.graph.nodes}
    assert functional in targets and not operators & targets
    targets = {node.target for node in after.graph.nodes}
    assert functional not in targets and operators & targets
    assert after.graph_signature.buffers_to_mutate == {written: "cache"}


def compiled(model: torch.nn.Module, x: torch.Tensor) -> Any:
    edge = to_edge(torch.export.export(model, (x.clone(),)))
    return edge.to_executorch(ExecutorchBackendConfig(target=None))


@pytest.mark.parametrize("make", MODELS, ids=[model.__name__ for model in MODELS])
def test_results_and_buffers_of_two_calls(make: type[Cached]) -> None:
    x = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, 7.0]])
    eager = make()
    program = compiled(copy.deepcopy(eager), x)
    module = aten_lib._load_for_executorch_from_buffer(program.buffer)
    for call in range(2):
        expected = eager(x + call)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        torch.testing.assert_close(module.forward([x + call]), expected)


@pytest.mark.parametrize(
    ("make", "copies"), [(Put, 0), (Swapped, 0), (Counted, 0), (Returned, 2), (Intermediate, 1)]
)
def test_a_buffer_is_changed_without_a_copy_where_possible(make: type[Cached], copies: int) -> None:
    x = torch.ones(2, 3)
    names = [op.name for op in compiled(make(), x).executorch_program.execution_plan[0].operators]
    assert names.count("aten::clone") + names.count("aten::copy_") == copies, names


def test_an_operator_with_results_needs_an_out_variant() -> None:
    class Doubles(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            y = x + 1
            return double(y) + y

    with pytest.raises(MissingOutVariantError, match=r"double\.out") as raised:
        compiled(Doubles(), torch.ones(2))
    assert "x, *, Tensor(b!) out) -> Tensor(b!)" in str(raised.value)


def test_a_part_of_a_tensor_is_refused() -> None:
    class Part(Cached):
        def forward(self, x: torch.Tensor) -> Any:
            put(x[0, 0], self.cache[1], 0)
            return self.cache + x

    with pytest.raises(CompileError, match="changes a part of a tensor") as raised:
        compiled(Part(), torch.ones(2, 3))
    assert "test_call_mutating_ops.py" in str(raised.value), "the message names the line of the model"
