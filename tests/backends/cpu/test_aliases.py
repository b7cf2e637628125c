"""Operators that read a value and views of it. The value must not be removed or overwritten too early."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import Function, Kind, assert_close, expected, kinds, lower, run
from torch import nn
from torch.nn import functional as F

from rushlight.backends.cpu.options import Float32MatmulPrecision
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Attention, Copy, Elementwise, Gemm, Scatter
from rushlight.runtime import Runtime


class Layers(nn.Module):
    """A module that calls a function with layers and inputs."""

    def __init__(self, function: Callable[..., Any], *layers: nn.Module) -> None:
        super().__init__()
        self.layers, self.function = nn.ModuleList(layers), function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*self.layers, *inputs)


class Buffer(nn.Module):
    """A module that calls a function with a buffer and an input. The function may change the buffer."""

    state: torch.Tensor

    def __init__(self, function: Callable[[torch.Tensor, torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("state", torch.arange(12.0).view(4, 3) / 5)

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self.state, x)


def doubled(function: Callable[[torch.Tensor], Any]) -> Function:
    return Function(lambda x: function(x * 2))


def convolved(function: Callable[[torch.Tensor], Any]) -> Layers:
    return Layers(lambda layer, x: function(layer(x)), nn.Conv2d(6, 6, 3, padding=1))


def projected(function: Callable[[torch.Tensor], Any]) -> Layers:
    return Layers(lambda layer, x: function(layer(x)), nn.Linear(6, 6))


def around_depthwise() -> Layers:
    """Returns a depthwise convolution of large images, whose result is an input of a product and of a sum."""

    def forward(grow: nn.Module, depthwise: nn.Module, mix: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(depthwise(torch.relu(grow(x))))
        return mix(y) + y

    return Layers(
        forward, nn.Conv2d(8, 64, 1), nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.Conv2d(64, 64, 1)
    )


def joined_attention(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns attention whose queries, keys and values are the same concatenation."""
    y = torch.cat((a, b), -2)
    return F.scaled_dot_product_attention(y, y, y)


def scaled_queries(x: torch.Tensor) -> torch.Tensor:
    query = x * 0.5
    return torch.softmax(query @ query.transpose(-1, -2), -1) @ x


def shares_of_shares(x: torch.Tensor) -> torch.Tensor:
    shares = torch.softmax((x * 2) @ x.t(), -1)
    return shares @ shares.t()


def scores_as_values(x: torch.Tensor) -> torch.Tensor:
    scores = x @ x.t()
    return torch.softmax(scores, -1) @ scores


def copy_read_later(state: torch.Tensor, x: torch.Tensor) -> Any:
    changed = state.clone()
    changed[0] = x
    before = state + 1
    state.copy_(changed)
    return before * 2, changed.exp()


def rows_from_rows(state: torch.Tensor, x: torch.Tensor) -> Any:
    before = torch.exp(state[1]) * 2
    state[1] = x + before
    total = state.sum(0)
    state[2:4] = state[0:2] * 1
    return before * total, state.tanh()


def rows_swapped(state: torch.Tensor, x: torch.Tensor) -> Any:
    state.copy_(state.flip(0) + x)
    return state * 2


def through_view(state: torch.Tensor, x: torch.Tensor) -> Any:
    flat = state.view(-1)
    before = flat * 2
    state[0] = x
    return before + 1, flat * 3


SQUARE, IMAGE, SEQUENCE = ((6, 6),), ((1, 6, 6, 6),), ((2, 5, 8),)

CASES: dict[str, tuple[nn.Module, tuple[tuple[int, ...], ...]]] = {
    "transpose": (doubled(lambda y: y + y.t()), SQUARE),
    "first_row": (doubled(lambda y: y - y[:1]), SQUARE),
    "first_column": (doubled(lambda y: y * y[..., :1]), SQUARE),
    "one_row": (doubled(lambda y: y + y[0]), SQUARE),
    "maximum": (doubled(lambda y: torch.maximum(y, y.t())), SQUARE),
    "where": (doubled(lambda y: torch.where(y > y.t(), y, 0.0)), SQUARE),
    "last_column": (Function(lambda x: torch.sigmoid(x) + torch.sigmoid(x)[..., -1:]), SQUARE),
    "shifted_exponent": (doubled(lambda y: torch.exp(y - y[..., -1:])), SQUARE),
    "view_first": (doubled(lambda y: y.t() - y), SQUARE),
    "view_of_view": (doubled(lambda y: y.view(36).view(6, 6).t() * y), SQUARE),
    "same_elements": (doubled(lambda y: F.pad(y, (0, 0)) * y), SQUARE),
    "same_elements_thrice": (doubled(lambda y: (F.pad(y, (0, 0)) * y.clone()).maximum(y)), SQUARE),
    "by_itself": (doubled(lambda y: y * y), SQUARE),
    "prelu": (Layers(lambda layer, x: layer(x * 2), nn.PReLU(6)), IMAGE),
    "convolution_first_channel": (convolved(lambda y: y - y[:, :1]), IMAGE),
    "convolution_transposed": (convolved(lambda y: y + y.transpose(2, 3)), IMAGE),
    "convolution_flipped": (convolved(lambda y: y.transpose(2, 3) + y), IMAGE),
    "convolution_rectified": (convolved(lambda y: torch.relu(y) * torch.relu(y)[..., :1]), IMAGE),
    "convolution_relu_and_before": (convolved(lambda y: torch.relu(y) + y), IMAGE),
    "convolution_pooled": (convolved(lambda y: F.avg_pool2d(y, 2) + y[..., :3, :3]), IMAGE),
    "convolution_normed": (
        convolved(lambda y: F.batch_norm(y, torch.zeros(6), torch.ones(6)) + y.transpose(2, 3)),
        IMAGE,
    ),
    "linear_first_column": (projected(lambda y: y - y[:, :1]), SQUARE),
    "linear_transposed": (projected(lambda y: y + y.t()), SQUARE),
    "linear_relu_transposed": (projected(lambda y: torch.relu(y) + y.t()), SQUARE),
    "product_by_itself": (doubled(lambda y: y @ y), SQUARE),
    "shares_by_themselves": (doubled(lambda y: torch.softmax(y, -1) @ torch.softmax(y, -1)), SQUARE),
    "shares_of_shares": (Function(shares_of_shares), SQUARE),
    "scores_as_values": (Function(scores_as_values), SQUARE),
    "scaled_queries": (Function(scaled_queries), SEQUENCE),
    "joined_attention": (Function(joined_attention), ((1, 2, 3, 8), (1, 2, 1, 8))),
    "joined_twice": (doubled(lambda y: torch.cat((y, y, y.t()), 1) + y[:, :1]), SQUARE),
    "joined_and_read": (convolved(lambda y: torch.relu(torch.cat((y, y + 1), 1)) + y[:, :1]), IMAGE),
    "group_norm": (Layers(lambda norm, x: norm(x * 2) + (x * 2)[:, :1], nn.GroupNorm(2, 6)), IMAGE),
    "around_depthwise": (around_depthwise(), ((1, 8, 128, 128),)),
    "padded_masks": (Function(lambda x: F.pad(x > 0, (0, 1, 1, 2)) | (F.pad(x, (0, 1, 1, 2)) > 1)), SQUARE),
    "outputs": (doubled(lambda y: (y, y.t(), y.view(36), y + y.t(), torch.relu(y))), SQUARE),
    "state_copy_read_later": (Buffer(copy_read_later), ((3,),)),
    "state_rows_from_rows": (Buffer(rows_from_rows), ((3,),)),
    "state_rows_swapped": (Buffer(rows_swapped), ((3,),)),
    "state_through_view": (Buffer(through_view), ((3,),)),
}


@pytest.mark.parametrize("precision", ["highest", "high"])
@pytest.mark.parametrize("name", CASES)
def test_views_of_a_value_are_read_beside_it(name: str, precision: Float32MatmulPrecision) -> None:
    torch.manual_seed(0)
    model, shapes = CASES[name]
    model = copy.deepcopy(model).eval()
    inputs = tuple(torch.randn(shape) for shape in shapes)
    # Another input in between, so that stale memory would have other values.
    calls = [tuple(item * 1e6 for item in inputs), inputs, inputs]
    program, _ = lower(model, inputs, partitioner=CpuPartitioner(float32_matmul_precision=precision))
    for threads in (1, 2):
        method = Runtime.get().load_program(program, threads=threads).load_method("forward")
        reference = copy.deepcopy(model)
        for given in calls:
            with torch.no_grad():
                want = reference(*given)
            got = [torch.as_tensor(item) for item in method.execute(list(given))]
            assert_close(got, list(want) if isinstance(want, tuple) else [want])


FUSED: dict[str, tuple[Callable[..., Any], Kind, int]] = {
    "same_elements": (lambda y: torch.relu(F.pad(y, (0, 0)) * y), Elementwise, 1),
    "by_itself": (lambda y: torch.exp(y * y), Elementwise, 1),
    "transpose": (lambda y: torch.exp(y + y.t()), Elementwise, 2),
    "read_once": (lambda y: torch.exp(y.view(6, 6)), Elementwise, 1),
}


@pytest.mark.parametrize("name", FUSED)
def test_chains_are_joined_where_all_that_is_read_lies_alike(name: str) -> None:
    function, kind, count = FUSED[name]
    program, outside = lower(doubled(function), (torch.randn(6, 6),))
    assert not outside and kinds(program).count(kind) == count


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.transpose(-1, -2) * 0.5, -1) @ v


def updated(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.index_put(x * 2, (torch.tensor([3, 1]),), y) * 3


# The examples in the docstring of Aliases: modules, shapes of inputs, and the steps of the plan. The copies
# convert the result to row-major memory.
EXAMPLES: dict[str, tuple[nn.Module, tuple[tuple[int, ...], ...], list[Kind]]] = {
    "is_only_read_by": (
        Layers(lambda layer, x: layer(F.pad(x * 2, (1, 1, 1, 1))), nn.Conv2d(6, 6, 2)),
        IMAGE,
        [Elementwise, Gemm, Copy],
    ),
    "sole_writer": (nn.Sequential(nn.Conv2d(6, 6, 1), nn.ReLU()), IMAGE, [Gemm, Copy]),
    "sole_writer_for_step": (Function(attention), ((1, 2, 5, 8),) * 3, [Attention, Copy]),
    "may_overwrite": (Function(updated), ((6, 3), (2, 3)), [Elementwise, Scatter, Elementwise]),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_fused_or_overwritten(name: str) -> None:
    torch.manual_seed(0)
    model, shapes, steps = EXAMPLES[name]
    inputs = tuple(torch.randn(shape) for shape in shapes)
    program, outside = lower(model, inputs)
    assert not outside and kinds(program) == steps
    assert_close(run(program, inputs), expected(model, inputs))


def test_inputs_lie_as_the_program_says() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.exp(x * 2) @ x

    x = torch.randn(2, 3, 5, 5)
    for given in (
        x,
        x.transpose(2, 3),
        x.to(memory_format=torch.channels_last),
        torch.randn(2, 3, 5, 10)[..., ::2],
        x.permute(1, 0, 2, 3),
    ):
        program, outside = lower(function, (given,))
        method = Runtime.get().load_program(program).load_method("forward")
        assert not outside
        assert_close([torch.as_tensor(item) for item in method.execute([given])], [function(given)])


REFUSED: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "types": (Function(lambda x: torch.cat((x * 2, torch.argsort(x)), -1)), (3, 4)),
    "no_inputs": (nn.Linear(0, 7), (3, 0)),
    "no_outputs": (nn.Linear(64, 0), (30, 64)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_plans_cannot_express_stays_outside(name: str) -> None:
    model, shape = REFUSED[name]
    x = torch.randn(shape)
    program, outside = lower(nn.Sequential(model, nn.Sigmoid(), nn.Softmax(-1)).eval(), (x,))
    assert outside
    method = Runtime.get().load_program(program).load_method("forward")
    want = torch.softmax(torch.sigmoid(model(x)), -1)
    assert_close([torch.as_tensor(item) for item in method.execute([x])], [want.detach()])
