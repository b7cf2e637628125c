"""Parts inside the bodies of control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.delegate.conftest import assert_close, backends, load, needs_xnnpack, outputs_of
from torch import nn
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import export

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.exir import to_edge_transform_and_lower

pytestmark = needs_xnnpack
XNN = "XnnpackBackend"


class Layer(nn.Module):
    """A layer whose weights are captured by the bodies of control flow under their own names."""

    def __init__(self, run: Callable[..., Any]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.run = run

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.run(self.linear, *inputs)


def _cond(layer: nn.Module, predicate: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(
        predicate, lambda x: torch.relu(layer(x)) + 1, lambda x: torch.sigmoid(layer(x)) * x, (x,)
    )


def _while(layer: nn.Module, count: torch.Tensor, x: torch.Tensor) -> Any:
    start = torch.zeros((), dtype=torch.int64)
    return while_loop(lambda i, x: i < count, lambda i, x: (i + 1, torch.tanh(layer(x)) + x), (start, x))


def _map(layer: nn.Module, rows: torch.Tensor) -> Any:
    return map_rows(lambda row: torch.relu(layer(row)) * 2 + 1, rows)


def _scan(layer: nn.Module, state: torch.Tensor, rows: torch.Tensor) -> Any:
    def step(state: torch.Tensor, row: torch.Tensor) -> Any:
        new = torch.tanh(layer(state) + row)
        return new, new * 2

    return scan(step, state, rows)


def _cond_in_map(layer: nn.Module, predicate: torch.Tensor, rows: torch.Tensor) -> Any:
    return map_rows(lambda row: _cond(layer, predicate, row) * 2, rows)


TRUE, FALSE = torch.tensor(True), torch.tensor(False)
CASES: dict[str, tuple[Callable[..., Any], list[tuple[torch.Tensor, ...]], list[Any]]] = {
    "cond": (_cond, [(TRUE, torch.randn(2, 4)), (FALSE, torch.randn(2, 4))], [[XNN], [XNN]]),
    "while": (_while, [(torch.tensor(n), torch.randn(2, 4)) for n in (3, 0)], [[], [XNN]]),
    "map": (_map, [(torch.randn(3, 2, 4),)], [[XNN]]),
    "scan": (_scan, [(torch.randn(2, 4), torch.randn(5, 2, 4))], [[XNN]]),
    "cond_in_map": (
        _cond_in_map,
        [(TRUE, torch.randn(3, 2, 4)), (FALSE, torch.randn(3, 2, 4))],
        [[XNN, [XNN], [XNN]]],
    ),
}


def _distinct(found: list[Any]) -> list[Any]:
    """Lists of backends without repetitions."""
    result: list[Any] = []
    for item in found:
        item = _distinct(item) if isinstance(item, list) else item
        if isinstance(item, list) or item not in result:
            result.append(item)
    return result


@pytest.mark.parametrize("name", CASES)
def test_parts_in_bodies(name: str) -> None:
    run, calls, expected = CASES[name]
    torch.manual_seed(0)
    model = Layer(run).eval()
    edge = to_edge_transform_and_lower(
        export(model, calls[0]), partitioner=[XnnpackPartitioner(), CpuPartitioner()]
    )
    program = edge.exported_program()
    assert _distinct(backends(program.graph_module)) == expected
    method = load(edge.to_executorch().buffer)
    for inputs in calls:
        assert_close(outputs_of(method, inputs), model(*inputs))
        assert_close(program.module()(*inputs), model(*inputs))
