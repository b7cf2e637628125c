"""The bodies of control-flow nodes, and the graphs that call them."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop

from rushlight.ir.control_flow import (
    bfs_trace_with_node_process,
    contains_any_call_fn_target_op,
    get_cond_while_submodules,
    get_control_flow_submodules,
    get_scan_submodules,
)

aten = torch.ops.aten


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def positive(t: torch.Tensor) -> torch.Tensor:
            return torch.cond(t.max() > 1, lambda u: u.exp(), lambda u: u.cos(), (t,))

        y = torch.cond(x.sum() > 0, positive, lambda t: t.sin(), (x,))
        return while_loop(lambda t: t.sum() < 9, lambda t: (t.abs() + 1,), (y,))[0]


@pytest.fixture(scope="module")
def module() -> torch.fx.GraphModule:
    return torch.export.export(Net(), (torch.ones(3),)).graph_module


def test_submodules_by_operator(module: torch.fx.GraphModule) -> None:
    def targets(found: list[tuple[str, torch.fx.GraphModule, torch.fx.Node]]) -> list[str]:
        assert all(getattr(module, name) is child for name, child, _ in found)
        return [str(node.target) for _, _, node in found]

    assert targets(get_control_flow_submodules(module)) == ["cond", "cond"]
    assert targets(get_cond_while_submodules(module)) == ["cond", "cond", "while_loop", "while_loop"]
    assert get_scan_submodules(module) == []


def test_trace_goes_graph_by_graph(module: torch.fx.GraphModule) -> None:
    seen: list[str] = []
    bfs_trace_with_node_process(module, lambda node: seen.append(str(node.target)))
    calls = [target for target in seen if target in ("cond", "aten.sin.default", "aten.cos.default")]
    assert calls == ["cond", "cond", "aten.sin.default", "aten.cos.default"]


@pytest.mark.parametrize(("op", "there"), [(aten.exp.default, True), (aten.tan.default, False)])
def test_operators_of_bodies(module: torch.fx.GraphModule, op: object, there: bool) -> None:
    assert contains_any_call_fn_target_op(module, {op}) is there


def test_operators_that_another_dialect_wraps() -> None:
    class Wrapped:
        __name__ = "wrapped"
        _op = aten.exp.default

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x.exp()

    graph = torch.fx.Graph()
    graph.output(graph.call_function(Wrapped(), (graph.placeholder("x"),)))
    module = torch.fx.GraphModule({}, graph)
    assert contains_any_call_fn_target_op(module, {aten.exp.default})
    assert not contains_any_call_fn_target_op(module, {aten.tan.default})
