"""The layout of results of elementwise chains whose operands have different layouts."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, plan_of, run
from torch import nn
from torch.export import Dim

from rushlight.backends.cpu.plan.tables import Copy, Elementwise


def turned_sum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns a sum with a transposed operand. A separate step computes it."""
    return torch.softmax(torch.exp(x.permute(2, 1, 0)) + torch.sin(y), 0)


def test_a_large_operand_is_transposed_by_a_copy() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(32, 12, 20), torch.randn(20, 12, 32))
    program, _ = lower(turned_sum, inputs)
    plan = plan_of(program)
    (chain,) = (step.operation for step in plan.steps if isinstance(step.operation, Elementwise))
    places = [plan.values[value] for value in (*chain.inputs, chain.output)]
    assert len({tuple(place.strides) for place in places}) == 1
    assert Copy in kinds(program)
    assert_close(run(program, inputs), expected(turned_sum, inputs))


def test_a_small_operand_is_read_as_it_lies() -> None:
    inputs = (torch.randn(4, 3, 5), torch.randn(5, 3, 4))
    program, _ = lower(lambda x, y: torch.exp(x.permute(2, 1, 0) + y), inputs)
    assert kinds(program) == [Elementwise]
    assert_close(run(program, inputs), expected(lambda x, y: torch.exp(x.permute(2, 1, 0) + y), inputs))


def test_broadcast_and_dynamic_operands() -> None:
    torch.manual_seed(0)

    class Model(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
            return nn.functional.layer_norm(x.permute(2, 1, 0) + y * z, (32,))

    model = Model()

    rows = Dim("rows", min=2, max=64)
    inputs = (torch.randn(32, 12, 20), torch.randn(20, 12, 32), torch.randn(12, 1))
    program, _ = lower(model, inputs, ({2: rows}, {0: rows}, {}))
    for count in (2, 33, 64):
        inputs = (torch.randn(32, 12, count), torch.randn(count, 12, 32), torch.randn(12, 1))
        assert_close(run(program, inputs), expected(model, inputs))


SHORT_ROWS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "pairs": ((70, 1, 2), (1, 90, 2)),
    "a number for each row": ((70, 90, 1), (70, 90, 3)),
    "a number for each column": ((1, 90, 1), (70, 1, 2)),
    "rows longer than half a block": ((3, 1, 300), (1, 2, 300)),
    "rows as long as the limit": ((70, 1, 32), (1, 90, 32)),
    "one number": ((1, 1, 1), (70, 90, 2)),
}


@pytest.mark.parametrize("name", SHORT_ROWS)
def test_short_rows_of_broadcast_operands(name: str) -> None:
    torch.manual_seed(0)
    first, second = (torch.randn(shape) for shape in SHORT_ROWS[name])
    wide = torch.randn(*second.shape[:-1], second.shape[-1] + 3)

    def model(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return torch.maximum(x, y) - torch.minimum(x.exp(), z[..., 2:-1])

    inputs = (first, second, wide)
    program, _ = lower(model, inputs)
    assert set(kinds(program)) == {Elementwise}
    assert_close(run(program, inputs), expected(model, inputs))
