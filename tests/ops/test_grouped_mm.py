"""Products of rows with the matrix of their group agree with a loop of products."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import rushlight
from rushlight.ir.custom_ops import grouped_mm
from rushlight.runtime import Runtime, call_kernel

ENDS = [[2, 2, 5], [0, 3, 6], [1, 2, 3]]


def by_loop(x: Any, weight: Any, ends: Any) -> Any:
    out = x.new_zeros(x.shape[0], weight.shape[2])
    for row in range(x.shape[0]):
        group = next((g for g, end in enumerate(ends) if row < end), None)
        if group is not None:
            out[row] = x[row] @ weight[group]
    return out


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_groups(ends: Any, index: Any, dtype: torch.dtype) -> None:
    x, weight = torch.randn(6, 4).to(dtype), torch.randn(3, 4, 5).to(dtype)
    out = torch.full((6, 5), 9.0).to(dtype)
    call_kernel("rushlight::grouped_mm.out", [x, weight, torch.tensor(ends, dtype=index), out])
    torch.testing.assert_close(out, by_loop(x, weight, ends), atol=5e-3, rtol=5e-3)


def test_ends_past_the_rows_are_refused() -> None:
    inputs = [torch.randn(2, 4), torch.randn(1, 4, 5), torch.tensor([3]), torch.zeros(2, 5)]
    with pytest.raises(RuntimeError):
        call_kernel("rushlight::grouped_mm.out", inputs)


class Experts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 4, 5))

    def forward(self, x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        order = group.argsort(stable=True)
        ends = torch.nn.functional.one_hot(group, 3).sum(0).cumsum(0)
        return grouped_mm(x[order], self.weight, ends)[order.argsort()]


def test_a_program() -> None:
    x, group = torch.randn(6, 4), torch.tensor([2, 0, 1, 0, 2, 2])
    module = Experts()
    data = rushlight.compile(module, (x, group)).buffer
    got = Runtime.get().load_program(data).load_method("forward").execute([x, group])[0]
    torch.testing.assert_close(got, torch.stack([x[i] @ module.weight[g] for i, g in enumerate(group)]))
