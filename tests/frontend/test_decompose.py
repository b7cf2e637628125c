"""The decomposer and torch's own have the same operators and the same results, and the program is valid."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from rushlight.frontend import tables
from rushlight.frontend.decompose import decompose, why_general
from rushlight.ir import (
    delta_rule_ops,  # noqa: F401  (defines llama::gated_delta_rule)
    meta,
)

# Operators that the decomposer leaves to torch, and the reasons.
GENERAL = {
    "data_dependent": "aten.nonzero.default makes a size that depends on data",
    "item": "aten.item.default makes a size that depends on data",
}

# After a write, torch computes each view again from its base. Here, views of one parent share it.
FEWER = {"inplace_views"}


def operators(graph_module: Any) -> Any:
    counts: Counter[str] = Counter()
    for module in graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            counts.update(str(node.target) for node in module.graph.nodes if node.op == "call_function")
    return counts


def assert_same(expected: Any, actual: Any) -> None:
    expected, actual = pytree.tree_leaves(expected), pytree.tree_leaves(actual)
    assert len(expected) == len(actual)
    for want, got in zip(expected, actual, strict=True):
        if isinstance(want, torch.Tensor):
            torch.testing.assert_close(got, want, equal_nan=True)
        else:
            assert got == want


def test_same_operators_as_torch(case_name: str, program: Any) -> None:
    ours = decompose(program)
    torchs = program.run_decompositions(tables.general_table())
    expected, actual = operators(torchs.graph_module), operators(ours.graph_module)
    assert actual <= expected if case_name in FEWER else actual == expected


def test_same_results_as_the_module(case: Any, program: Any) -> None:
    torch.manual_seed(0)
    module = case.make().eval()
    core = decompose(program)
    run = core.module()
    for _ in range(2):  # the state is kept between calls
        assert_same(module(*case.inputs(), **case.kwargs), run(*case.inputs(), **case.kwargs))


def test_the_result_is_valid(program: Any) -> None:
    core = decompose(program)
    core.validate()
    assert len(core.graph_signature.user_outputs) == len(program.graph_signature.user_outputs)
    for node in core.graph.nodes:
        assert node.op in ("output", "get_attr") or meta.has_val(node)


def test_the_program_is_left_alone(program: Any) -> None:
    before = str(program.graph)
    decompose(program)
    assert str(program.graph) == before


def test_only_the_listed_programs_need_torchs_decomposer(case_name: str, program: Any) -> None:
    assert why_general(program) == GENERAL.get(case_name)


def test_source_lines_survive(export_case: Any) -> None:
    core = decompose(export_case("conv_bn"))
    calls = [node for node in core.graph.nodes if node.op == "call_function"]
    assert all(meta.source_of(node).code.startswith("return self.up(") for node in calls)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "op", [torch.ops.aten.linear.default, torch.ops.aten.hardswish.default, torch.ops.aten.layer_norm.default]
)
def test_preserved_operators_stay_whole(op: Any) -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            self.norm = torch.nn.LayerNorm(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.hardswish(self.norm(self.linear(x)))

    program = torch.export.export(Net().eval(), (torch.randn(2, 4),))
    core = decompose(program, [op])
    assert operators(core.graph_module)[str(op)] == 1
    assert str(op) not in operators(decompose(program).graph_module)
    torchs = program.run_decompositions(tables.general_table([op]))
    assert operators(core.graph_module) == operators(torchs.graph_module)


def test_a_decomposed_program_decomposes_to_itself(export_case: Any) -> None:
    core = decompose(export_case("kv_cache"))
    again = decompose(core)
    assert operators(again.graph_module) == operators(core.graph_module)
    assert again.graph_signature.buffers_to_mutate.keys() == core.graph_signature.buffers_to_mutate.keys()


def test_repeated_layers_are_expanded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.frontend import recorder

    count = 0
    original = recorder.Recorder.expand

    def counted(self: Any, *args: Any) -> Any:
        nonlocal count
        count += 1
        return original(self, *args)

    monkeypatch.setattr(recorder.Recorder, "expand", counted)
    layers = [layer for _ in range(12) for layer in (torch.nn.Linear(4, 4), torch.nn.Hardswish())]
    program = torch.export.export(torch.nn.Sequential(*layers).eval(), (torch.randn(2, 4),))
    decompose(program)
    assert count == 2


def test_no_grad_blocks_are_inlined() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                y = x * 2
                y.add_(1)
            return y + x

    program = torch.export.export(Net(), (torch.randn(3),))
    assert why_general(program) is None
    core = decompose(program)
    x = torch.randn(3)
    torch.testing.assert_close(core.module()(x), x * 3 + 1)


def test_composite_operators_with_loops_need_torchs_decomposer() -> None:
    class Net(torch.nn.Module):
        def forward(self, *inputs: torch.Tensor) -> Any:
            return torch.ops.llama.gated_delta_rule(*inputs)

    shapes = (1, 2, 9, 3), (1, 2, 9, 3), (1, 2, 9, 4), (1, 2, 9), (1, 2, 9), (1, 2, 3, 4)
    inputs = tuple(torch.rand(shape) for shape in shapes)
    program = torch.export.export(Net(), inputs)
    assert why_general(program) == "the decomposition calls scan"
    assert_same(Net()(*inputs), decompose(program).module()(*inputs))


class Positive(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x > 0]


class PositiveFactor(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x[x > 0], torch.linalg.cholesky(x)


def test_torchs_own_decomposition_drops_error_checks() -> None:
    x = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    program = torch.export.export(PositiveFactor(), (x,))
    assert why_general(program) is not None
    core = decompose(program)
    assert not core.graph.find_nodes(op="call_function", target=torch.ops.higher_order.with_effects)
    assert_same(PositiveFactor()(x), core.module()(x))


def test_torchs_own_decomposition_gives_no_warning() -> None:
    program = torch.export.export(Positive(), (torch.randn(4),))
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        decompose(program)


def test_constants_come_behind_parameters_and_buffers() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.full((2,), 3.0)
            self.other = torch.full((2,), 5.0)
            self.count = torch.nn.Buffer(torch.ones(2))
            self.linear = torch.nn.Linear(2, 2, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x * self.scale) + self.count * self.other

    program = torch.export.export(Net(), (torch.randn(1, 2),), strict=True)
    core = decompose(program)
    expected = program.run_decompositions().graph_signature.input_specs
    assert core.graph_signature.input_specs == expected
    named = [spec.arg.name for spec in core.graph_signature.input_specs]
    assert named == [node.name for node in core.graph.find_nodes(op="placeholder")]
    x = torch.randn(1, 2)
    assert_same(program.module()(x), core.module()(x))


def test_torchs_own_decomposition_writes_through_inactive_dropout() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.clone()
            torch.nn.functional.dropout(y, 0.3, training=False).add_(1)
            return y, torch.nonzero(x), torch.nn.functional.dropout(x, training=False)

    x = torch.ones(3)
    program = torch.export.export(Net(), (x,))
    assert why_general(program) is not None
    torch.testing.assert_close(decompose(program).module()(x), Net()(x))
