"""Complex numbers become arguments that can be constants."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import Function
from tests.passes.support import Build, apply, calls

import rushlight
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.passes.complex_numbers import ComplexNumbersPass

aten = torch.ops.aten


def test_fill_values_and_factors() -> None:
    build = Build()
    z = build.input("z", 3, dtype=torch.complex64)
    filled = build.call(aten.full.default, [3], 1j)
    summed = build.call(aten.sub.Tensor, z, filled, alpha=2j)
    real = build.call(aten.add.Tensor, z, build.call(aten.full.default, [3], 0.5), alpha=2)
    module = apply(ComplexNumbersPass(), build.finish(summed, real)).graph_module
    assert calls(module) == [
        "full.default",
        "add.Tensor",
        "mul.Tensor",
        "sub.Tensor",
        "full.default",
        "add.Tensor",
    ]
    value = torch.randn(3, dtype=torch.complex64)
    torch.testing.assert_close(module(value), (value - 2j * 1j, value + 1))


@pytest.mark.parametrize(
    "function",
    [
        lambda z: z.masked_fill(z.real > 0, 1j),
        lambda z: torch.full((2, 3), 0.5 + 1j) + z,
        lambda z: torch.full_like(z, 1j) * z,
        lambda z: torch.where(z.imag > 0, z, 0),
        lambda z: torch.add(z, z.conj(), alpha=2j),
    ],
)
def test_programs_without_optimizations(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    def parts(x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(function(torch.view_as_complex(x)))

    x = torch.randn(2, 3, 2)
    config = ExecutorchBackendConfig(optimize=False)
    program = rushlight.compile(Function(parts), (x,), partitioner=(), backend_config=config)
    torch.testing.assert_close(rushlight.load(program.buffer)(x), parts(x))
