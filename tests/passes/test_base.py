"""The base class of graph passes, and shared helpers of passes."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply, calls, edge_of
from torch.fx import GraphModule

from rushlight.ir import meta
from rushlight.passes.base import GraphPass, add_constant, eliminate_dead_code, map_arguments
from rushlight.passes.remove_dead_code import RemoveDeadCodePass
from rushlight.passes.runner import run_passes

aten = torch.ops.aten


class SinToCos(GraphPass):
    def rewrite(self, module: GraphModule) -> bool:
        found = [node for node in module.graph.nodes if "sin" in str(node.target)]
        for node in found:
            node.target = aten.cos.default
        return bool(found)


def test_the_code_of_changed_graphs_is_generated_anew() -> None:
    build = Build()
    x = build.input("x", 2)
    module = build.finish(build.call(aten.sin.default, x))
    result = apply(SinToCos(), module)
    assert result.modified
    value = torch.tensor([0.5, 1.0])
    torch.testing.assert_close(result.graph_module(value)[0], value.cos())
    assert not apply(SinToCos(), result.graph_module).modified


class Branches(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.exp(), (x,))


def test_bodies_of_control_flow_are_visited() -> None:
    x = torch.tensor([0.5, 1.0])
    program = edge_of(Branches(), x)
    changed = run_passes(program, [SinToCos()]).exported_program
    torch.testing.assert_close(changed.module()(x), x.cos())
    torch.testing.assert_close(changed.module()(-x), (-x).exp())
    torch.testing.assert_close(program.module()(x), x.sin())


def test_what_a_pass_is_given_stays_as_it_is() -> None:
    build = Build()
    module = build.finish(build.call(aten.sin.default, build.input("x", 2)))
    assert calls(apply(SinToCos(), module).graph_module) == ["cos.default"]
    assert calls(module) == ["sin.default"]
    assert apply(RemoveDeadCodePass(), module).graph_module is module


def test_what_has_an_effect_is_not_dead() -> None:
    build = Build()
    x = build.input("x", 2)
    build.call(aten.neg.default, x)
    build.graph.call_function(aten._assert_async.msg, (x, "must hold"))
    build.graph.call_function(aten.copy_.default, (x, x))
    module = build.finish(x)
    assert eliminate_dead_code(module.graph)
    assert calls(module) == ["_assert_async.msg", "copy_.default"]
    assert not eliminate_dead_code(module.graph)


def test_constants_get_names_of_their_own() -> None:
    build = Build()
    x = build.input("x", 2)
    node = build.call(aten.add.Tensor, x, x)
    module = build.finish(node)
    values = [torch.tensor(float(index)) for index in range(2)]
    added = [add_constant(module, value, node, value) for value in values]
    assert [module.get_buffer(str(new.target)) for new in added] == values
    assert all(meta.get_val(new) is value for new, value in zip(added, values, strict=True))


def test_arguments_are_changed_by_position_and_by_name() -> None:
    build = Build()
    x = build.input("x", 2)
    node = build.call(aten.add.Tensor, x, x, alpha=2)
    assert map_arguments(
        node, aten.add.Tensor, lambda value, argument: 3 if argument.name == "alpha" else value
    )
    assert node.args == (x, x) and node.kwargs == {"alpha": 3}
    assert not map_arguments(node, aten.add.Tensor, lambda value, arg: value)
