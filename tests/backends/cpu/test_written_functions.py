"""Activations that a model writes as several operators become one function, also as a part of a product."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, operations, run
from torch import Tensor, nn
from torch.nn import functional as F

from rushlight.backends.cpu.plan.tables import Elementwise, Gemm, UnaryFunction

Function = Callable[[Tensor], Tensor]

FORMS: dict[str, tuple[Function, UnaryFunction]] = {
    "gelu, tanh, cube": (
        lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))),
        UnaryFunction.GELU_TANH,
    ),
    "gelu, tanh, factors": (
        lambda x: x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))),
        UnaryFunction.GELU_TANH,
    ),
    "gelu, erf": (lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))), UnaryFunction.GELU),
    "gelu, erf, half at the end": (lambda x: x * (1.0 + torch.erf(x * 2**-0.5)) / 2, UnaryFunction.GELU),
    "silu": (lambda x: x * torch.sigmoid(x), UnaryFunction.SILU),
    "silu, exp": (lambda x: x / (1 + torch.exp(-x)), UnaryFunction.SILU),
    "mish": (lambda x: x * torch.tanh(F.softplus(x)), UnaryFunction.MISH),
}

OTHERS: dict[str, Function] = {
    "another factor": lambda x: x * torch.sigmoid(1.702 * x),
    "another constant": lambda x: x * 0.5 * (1.0 + torch.tanh(0.8 * x * (1 + 0.044715 * x * x))),
    "clamped": lambda x: torch.clamp(x, -20, 20) * torch.sigmoid(x) * 1.0,
}


class Layer(nn.Module):
    def __init__(self, function: Function, *, reads_twice: bool = False) -> None:
        super().__init__()
        self.linear, self.function, self.reads_twice = nn.Linear(16, 24), function, reads_twice

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return self.function(y) + y if self.reads_twice else self.function(y)


@pytest.mark.parametrize("form", FORMS)
def test_an_activation_joins_the_product(form: str) -> None:
    torch.manual_seed(0)
    function, name = FORMS[form]
    layer, inputs = Layer(function), (torch.randn(2, 50, 16) * 8,)
    program, outside = lower(layer, inputs)
    assert not outside and kinds(program) == [Gemm]
    assert [gemm.epilogue.function for gemm in operations(program, Gemm)] == [name]
    assert_close(run(program, inputs), expected(layer, inputs))


@pytest.mark.parametrize("form", FORMS)
def test_an_activation_of_a_shared_result_is_a_step(form: str) -> None:
    torch.manual_seed(0)
    function, name = FORMS[form]
    layer, inputs = Layer(function, reads_twice=True), (torch.randn(5, 16),)
    program, _ = lower(layer, inputs)
    assert kinds(program) == [Gemm, Elementwise]
    (chain,) = operations(program, Elementwise)
    assert name in [plan_code.unary for plan_code in chain.code]
    assert_close(run(program, inputs), expected(layer, inputs))


@pytest.mark.parametrize("form", OTHERS)
def test_other_functions_stay_chains(form: str) -> None:
    torch.manual_seed(0)
    layer, inputs = Layer(OTHERS[form]), (torch.randn(5, 16) * 20,)
    program, _ = lower(layer, inputs)
    assert kinds(program) == [Gemm, Elementwise]
    assert_close(run(program, inputs), expected(layer, inputs))


def test_infinite_and_tiny_numbers() -> None:
    x = torch.tensor([[0.0, -0.0, 1e-30, -1e-30, 87.0, -87.0, 1e30, math.inf, math.nan]])
    for function in (FORMS["silu"][0], FORMS["gelu, erf"][0], FORMS["gelu, tanh, factors"][0]):
        program, _ = lower(function, (x,))
        assert_close(run(program, (x,)), expected(function, (x,)))


def test_a_factor_that_changes_is_no_constant() -> None:
    class Scaled(nn.Module):
        factor: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("factor", torch.ones(1, 1))
            self.linear = nn.Linear(16, 24)

        def forward(self, x: Tensor) -> Tensor:
            y = self.linear(x)
            y = y * torch.sigmoid(y * self.factor)
            self.factor.mul_(2)
            return y

    torch.manual_seed(0)
    inputs = (torch.randn(5, 16),)
    program, _ = lower(Scaled(), inputs)
    assert Elementwise in kinds(program)
