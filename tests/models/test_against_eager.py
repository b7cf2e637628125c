"""Regression tests: compiled programs agree with eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import rushlight
from rushlight.exir import to_edge
from rushlight.ir.verifier import DialectError
from rushlight.runtime import Runtime

aten = torch.ops.aten
g = torch.Generator().manual_seed(3)
X = torch.randn(4, 5, generator=g)
MASK = torch.tensor([[True, False, True, True, False]] * 4)
BYTES = torch.randint(0, 256, (2, 3, 21, 30), generator=g, dtype=torch.uint8)
INDEX = [torch.tensor([[0], [3]]), torch.tensor([[1, 4]])]

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "decomposition_that_writes_its_list": (
        lambda x, m, i, j: aten._unsafe_masked_index(x, m, [i, j], 2.5),
        (X, MASK[:2, :2], *INDEX),
    ),
    "sizes_of_slices_that_depend_on_data": (lambda x, n: x.tensor_split(n, 1), (X, torch.tensor([2, 3]))),
    "masked_select": (torch.masked_select, (X, MASK)),
    "masked_select_by_a_larger_mask": (lambda x, m: torch.masked_select(x, m) * 2, (X[:1], MASK)),
    "circular_padding_starts_uninitialised": (
        lambda x: F.pad(x, (1, 2), "circular"),
        (MASK.reshape(2, 2, 5),),
    ),
    "bytes_resampled_by_cubics": (lambda x: F.interpolate(x, (11, 7), mode="bicubic"), (BYTES,)),
    "resampled_by_factors": (lambda x: F.interpolate(x, scale_factor=1.7, mode="linear"), (X[None],)),
    "bitwise_shift": (torch.bitwise_left_shift, (torch.arange(5), torch.tensor(3))),
    "round_decimals": (lambda x: torch.round(x, decimals=1), (X,)),
    "var_mean": (lambda x: torch.var_mean(x, 1), (X,)),
    "repeat_interleave": (lambda n: torch.repeat_interleave(n), (torch.tensor([2, 0, 3]),)),
}


class Net(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def run(module: torch.nn.Module, inputs: tuple[Any, ...]) -> list[Any]:
    buffer = rushlight.compile(module, inputs).buffer
    return list(Runtime.get().load_program(buffer).load_method("forward").execute(inputs))


@pytest.mark.parametrize("name", list(CASES))
def test_agrees_with_eager(name: str) -> None:
    function, inputs = CASES[name]
    expected = torch.utils._pytree.tree_leaves(function(*inputs))
    torch.testing.assert_close(run(Net(function), inputs), expected)


@pytest.mark.parametrize("name", ["masked_select", "bitwise_shift", "round_decimals", "var_mean"])
def test_edge_programs_stay_core_aten_unless_asked(name: str) -> None:
    function, inputs = CASES[name]
    program = torch.export.export(Net(function), inputs)
    with pytest.raises(DialectError, match="not in Core ATen opset"):
        to_edge(program)
