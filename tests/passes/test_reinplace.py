"""Functional operators become in-place operators if no later node reads the old value."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import calls, edge_of

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.ir.edge_ops import ops
from rushlight.memory.algorithms import naive
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.passes.reinplace import ReinplacePass, reinplace_pass
from rushlight.runtime.portable_lib import _load_for_executorch_from_buffer

INPUTS = (torch.arange(5.0), torch.tensor([1, 2]), torch.tensor([7.0, 8.0]))
index_put = torch.ops.aten.index_put.default


class Dies(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        return index_put(x + 1, [i], v)


class ReadLater(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        y = x + 1
        return index_put(y, [i], v) * y


class ViewReadLater(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        y = x + 1
        return index_put(y.view(5), [i], v) + y.view(1, 5)


class Returned(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        y = x + 1
        return y, index_put(y, [i], v)


class OfInput(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        return index_put(x, [i], v, True)


class WritesInput(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        x.index_put_((i,), v)
        return x * 2


class State(torch.nn.Module):
    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(5))

    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        self.state.index_put_((i,), v)
        return self.state * x


class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        return index_put(index_put(x + 1, [i], v), [i], v * 2)


class OfItself(torch.nn.Module):
    """The operator reads the overwritten tensor twice."""

    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        y = x + 1
        return index_put(y, [torch.tensor([4, 3, 2, 1, 0])], y, True)


class OfNewState(State):
    """The operator reads the new contents of the buffer, which the program then stores."""

    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> Any:
        self.state.copy_(self.state + x)
        return index_put(self.state, [i], v)


@pytest.mark.parametrize("planner", [None, naive])
@pytest.mark.parametrize(
    ("model", "count"),
    [(Dies, 1), (ReadLater, 0), (ViewReadLater, 0), (Returned, 0), (OfInput, 0), (WritesInput, 1), (State, 1)]
    + [(Twice, 2), (OfItself, 0), (OfNewState, 0)],
)
def test_updates_in_place(model: type[torch.nn.Module], count: int, planner: Any) -> None:
    edge = to_edge(torch.export.export(model(), INPUTS))
    result = ReinplacePass()(edge.exported_program())
    assert calls(result.exported_program.graph_module).count("index_put_.default") == count
    manager = edge.to_executorch(
        ExecutorchBackendConfig(run_reinplace_pass=True, memory_planning_pass=MemoryPlanningPass(planner))
    )
    names = [op.name for op in manager.executorch_program.execution_plan[0].operators]
    assert ("aten::index_put_" in names) == (count > 0)
    eager, module = model(), _load_for_executorch_from_buffer(manager.buffer)
    for _ in range(2):
        expected = eager(*[value.clone() for value in INPUTS])
        actual = module.forward([value.clone() for value in INPUTS])
        for want, got in zip(expected if isinstance(expected, tuple) else (expected,), actual, strict=True):
            torch.testing.assert_close(got, want)


def test_the_function_changes_the_program_that_it_is_given() -> None:
    program = edge_of(Dies(), *INPUTS)
    assert reinplace_pass(program, ops_to_inplace=[]) is program
    assert "index_put.default" in " ".join(calls(program.graph_module))
    assert reinplace_pass(program) is program
    assert "index_put_.default" in " ".join(calls(program.graph_module))
    assert program.graph_signature.output_specs[0].arg.name == program.graph.output_node().args[0][0].name


def test_dtypes_and_shapes_must_fit() -> None:
    class Grows(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return (x * 2) + y, (x * 3) < y

    program = edge_of(Grows(), torch.ones(4), torch.ones(2, 4))
    reinplace_pass(program, [ops.edge.aten.add.Tensor, ops.edge.aten.lt.Tensor])
    assert not any("_." in name for name in calls(program.graph_module))


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        (ops.edge.aten.mul.Tensor, "Schema mismatch"),
        (ops.edge.aten.relu_.default, "Schema mismatch"),
        (ops.edge.aten.sub_.Tensor, "should start with aten::add_"),
    ],
)
def test_a_replacement_that_does_not_fit_is_refused(replacement: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reinplace_pass(edge_of(Dies(), *INPUTS), inplace_overrides={ops.edge.aten.add.Tensor: replacement})


def test_an_operator_without_one_in_place_shares_the_place_of_its_argument() -> None:
    class Larger(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return torch.maximum(torch.cumsum(x, 0), y)

    def places(extra: Any) -> list[int]:
        """Returns the offsets of the argument and of the result."""
        planner = MemoryPlanningPass(naive)
        config = ExecutorchBackendConfig(reinplace_extra_ops=extra, memory_planning_pass=planner)
        edge = to_edge(torch.export.export(Larger(), (torch.ones(4), torch.ones(4))))
        nodes = edge.to_executorch(config).exported_program().graph.nodes
        (node,) = [n for n in nodes if "maximum" in str(n.target)]
        return [node.args[0].meta["spec"].mem_offset, node.meta["spec"].mem_offset]

    argument, result = places(frozenset({ops.edge.aten.maximum.default}))
    assert argument == result
    argument, result = places(None)
    assert argument != result
