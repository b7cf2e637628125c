"""What the quantized program gives in torch and what its compiled form gives agree within one quantum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

import rushlight
from rushlight.backends.cpu.quantizer import CPUQuantizer
from rushlight.quantize import (
    convert_pt2e,
    dynamic_int8,
    dynamic_int8_weight_int4,
    prepare_qat_pt2e,
    quantize,
    static_int8,
    static_int16,
    weight_only_int4,
    weight_only_int8,
)

qd = torch.ops.quantized_decomposed


class Add(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + x.flip(-1))


def linear() -> nn.Module:
    return nn.Linear(64, 24)


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 24))


def conv() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6())


def depthwise() -> nn.Module:
    return nn.Conv2d(3, 6, 3, stride=2, groups=3, bias=False)


def transposed() -> nn.Module:
    return nn.ConvTranspose2d(3, 4, 2, stride=2)


def table() -> nn.Module:
    return nn.Embedding(40, 64)


ROWS, PICTURE, WORDS = "rows", "picture", "words"


def example(kind: str, seed: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    if kind == WORDS:
        return (torch.randint(0, 40, (3, 7), generator=generator),)
    shape = (5, 64) if kind == ROWS else (2, 3, 9, 9)
    return (torch.randn(shape, generator=generator),)


@dataclass(frozen=True)
class Case:
    """A model and a configuration; exact: nothing is rounded when it runs but sums of floats."""

    name: str
    model: Callable[[], nn.Module]
    kind: str
    config: Callable[[], Any]
    exact: bool = False


CASES = [
    Case("static linear", linear, ROWS, static_int8),
    Case("static linear per tensor", linear, ROWS, lambda: static_int8(per_channel=False)),
    Case("static perceptron", perceptron, ROWS, static_int8),
    Case("static conv, batch norm, clamp", conv, PICTURE, static_int8),
    Case("static depthwise", depthwise, PICTURE, static_int8),
    Case("static transposed", transposed, PICTURE, static_int8),
    Case("static add, relu", Add, ROWS, static_int8),
    Case("static int16 linear", linear, ROWS, static_int16),
    Case("static int16 conv", conv, PICTURE, static_int16),
    Case("dynamic linear", linear, ROWS, dynamic_int8),
    Case("dynamic linear per token", linear, ROWS, lambda: dynamic_int8(per_token=True)),
    Case("dynamic linear, 4-bit weights", linear, ROWS, dynamic_int8_weight_int4),
    Case("8-bit weights", linear, ROWS, weight_only_int8, exact=True),
    Case("8-bit weights by group", linear, ROWS, lambda: weight_only_int8(group_size=16), exact=True),
    Case("4-bit weights by group", linear, ROWS, weight_only_int4, exact=True),
    Case("4-bit weights by small group", linear, ROWS, lambda: weight_only_int4(group_size=8), exact=True),
    Case("8-bit embedding", table, WORDS, weight_only_int8, exact=True),
    Case("4-bit embedding", table, WORDS, weight_only_int4, exact=True),
]


def quantum(program: Any) -> float:
    """The scale of the program's last quantization, or what one step of a dynamic input makes at most."""
    for node in reversed(program.graph.nodes):
        if node.target is qd.quantize_per_tensor.default:
            return float(node.args[1])
    weight = max(float(value.detach().abs().max()) for value in program.module().state_dict().values())
    return 6 / 255 * min(weight, 0.2)


def check(program: Any, inputs: list[tuple[torch.Tensor, ...]], exact: bool = False) -> None:
    run = rushlight.load(rushlight.compile(program).buffer)
    eager = program.module()
    largest = 1e-5 if exact else 1.001 * quantum(program)
    differing = total = 0
    for x in inputs:
        expected, actual = eager(*x), run(*x)
        apart = (expected - actual).abs()
        assert float(apart.max()) <= largest
        differing += int((apart > 1e-5).sum())
        total += apart.numel()
    # Ties fall either way; most results are the same.
    assert differing <= 0.05 * total


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_after_training(case: Case) -> None:
    torch.manual_seed(0)
    inputs = [example(case.kind, seed) for seed in range(4)]
    config = case.config()
    program = quantize(case.model().eval(), inputs[0], CPUQuantizer().set_global(config), inputs)
    check(program, inputs, case.exact)


@pytest.mark.parametrize(("make", "kind"), [(linear, ROWS), (conv, PICTURE)])
def test_trained(make: Callable[[], nn.Module], kind: str) -> None:
    from torchao.quantization.pt2e import move_exported_model_to_eval

    torch.manual_seed(0)
    inputs = [example(kind, seed) for seed in range(4)]
    exported = torch.export.export(make().train(), inputs[0])
    prepared = prepare_qat_pt2e(exported, CPUQuantizer().set_global(static_int8(qat=True)))
    optimizer = torch.optim.SGD(prepared.parameters(), lr=1e-2)
    for x in inputs:
        prepared(*x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    move_exported_model_to_eval(prepared)
    check(torch.export.export(convert_pt2e(prepared), inputs[0], strict=False), inputs)
