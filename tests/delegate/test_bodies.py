"""Parts inside the bodies of control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.delegate.support import assert_close, backends, load, needs_xnnpack, outputs_of
from torch import nn
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import export

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.format.pte import read_pte

HERE = "the backend"
PARTITIONERS = {
    "XnnpackBackend": [XnnpackPartitioner(), CpuPartitioner()],
    "CpuBackend": [CpuPartitioner()],
}


class Layer(nn.Module):
    """A layer whose weights are captured by bodies of control flow under other names."""

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
    return map_rows(lambda row: torch.relu(layer(row)) * 2 + 1, rows)  # type: ignore[arg-type, misc]


def _scan(layer: nn.Module, state: torch.Tensor, rows: torch.Tensor) -> Any:
    def step(state: torch.Tensor, row: torch.Tensor) -> Any:
        new = torch.tanh(layer(state) + row)
        return new, new * 2

    return scan(step, state, rows)


def _cond_in_map(layer: nn.Module, predicate: torch.Tensor, rows: torch.Tensor) -> Any:
    return map_rows(lambda row: torch.sigmoid(_cond(layer, predicate, row)) * 2, rows)  # type: ignore[arg-type, misc]


def _constants(layer: nn.Module, count: torch.Tensor, x: torch.Tensor) -> Any:
    start = torch.zeros((), dtype=torch.int64)
    weights = [1.0, 2.0, 3.0, 4.0]
    return while_loop(
        lambda i, x: i < count,
        lambda i, x: (i + 1, torch.tanh(layer(x)) * torch.tensor(weights) + torch.tensor(0.5)),
        (start, x),
    )


TRUE, FALSE = torch.tensor(True), torch.tensor(False)
CASES: dict[str, tuple[Callable[..., Any], list[tuple[torch.Tensor, ...]], list[Any]]] = {
    "cond": (_cond, [(TRUE, torch.randn(2, 4)), (FALSE, torch.randn(2, 4))], [[HERE], [HERE]]),
    "while": (_while, [(torch.tensor(n), torch.randn(2, 4)) for n in (3, 0)], [[], [HERE]]),
    "map": (_map, [(torch.randn(3, 2, 4),)], [[HERE]]),
    "constants": (_constants, [(torch.tensor(3), torch.randn(2, 4))], [[], [HERE]]),
    "scan": (_scan, [(torch.randn(2, 4), torch.randn(5, 2, 4))], [[HERE]]),
    "cond_in_map": (
        _cond_in_map,
        [(TRUE, torch.randn(3, 2, 4)), (FALSE, torch.randn(3, 2, 4))],
        [[HERE, [HERE], [HERE]]],
    ),
}


def _distinct(found: list[Any]) -> list[Any]:
    """Returns lists of backends without duplicates."""
    result: list[Any] = []
    for item in found:
        item = _distinct(item) if isinstance(item, list) else item
        if isinstance(item, list) or item not in result:
            result.append(item)
    return result


def _named(expected: list[Any], backend: str) -> list[Any]:
    return [_named(item, backend) if isinstance(item, list) else backend for item in expected]


@pytest.mark.parametrize("backend", [pytest.param("XnnpackBackend", marks=needs_xnnpack), "CpuBackend"])
@pytest.mark.parametrize("name", CASES)
def test_parts_in_bodies(name: str, backend: str) -> None:
    run, calls, expected = CASES[name]
    torch.manual_seed(0)
    model = Layer(run).eval()
    edge = to_edge_transform_and_lower(export(model, calls[0]), partitioner=PARTITIONERS[backend])  # type: ignore[arg-type]
    program = edge.exported_program()
    assert _distinct(backends(program.graph_module)) == _named(expected, backend)
    method = load(edge.to_executorch().buffer)
    for inputs in calls:
        assert_close(outputs_of(method, inputs), model(*inputs))
        assert_close(program.module()(*inputs), model(*inputs))


def test_compile_delegates_a_matrix_product_in_a_loop() -> None:
    model = Layer(_while).eval()
    inputs = (torch.tensor(3), torch.randn(2, 4))
    program = rushlight.compile(model, inputs).buffer
    assert {delegate.id for delegate in read_pte(program).program.execution_plan[0].delegates} == {
        "CpuBackend"
    }
    assert_close(outputs_of(load(program), inputs), model(*inputs))
