"""Taps: intermediate values as outputs of a program."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch.export import Dim, export

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compat import intermediate_output_tap
from rushlight.compat.intermediate_output_tap import (
    FULL_TENSOR,
    STATS,
    StatReducer,
    find_tap_nodes,
    get_reducer,
    select_all,
    select_all_call_function,
    select_any,
    select_by_module_class,
    select_by_module_path,
    select_by_op_type,
    select_not,
    strip_taps_,
    tap_compare,
    tap_intermediate_outputs_,
)
from rushlight.delegate.partitioner import Partitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.ir.edge_ops import ops


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.lin(x)))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = Block(), Block()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.a(x)).sum()


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


X = (torch.linspace(-1, 2, 12).reshape(3, 4),)


@pytest.mark.parametrize("partitioner", [[], [CpuPartitioner()], [XnnpackPartitioner()]])
def test_statistics_of_all_nodes(partitioner: list[Partitioner], net: Net) -> None:
    frame, specs = tap_compare(net, X, partitioner)
    assert [spec.node_name for spec in specs][:3] == ["linear", "layer_norm", "relu"]
    assert [spec.output_index for spec in specs] == list(range(1, 8))
    assert specs[1].module_path == "a.norm" and specs[1].module_class == "LayerNorm"
    assert "def forward" in (specs[1].stack_trace or "") or "self.norm" in (specs[1].stack_trace or "")
    for name in STATS.fields:
        expected, got = (torch.tensor(frame[f"{side}_{name}"].to_list()) for side in ("aot", "rt"))
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
    hidden = net.a.norm(net.a.lin(X[0])).detach()
    row = frame.iloc[1]
    assert row["aot_max"] == pytest.approx(float(hidden.max()), abs=1e-5)
    assert row["aot_std"] == pytest.approx(float(hidden.std(unbiased=False)), abs=1e-5)
    assert row["aot_l2_norm"] == pytest.approx(float(hidden.norm()), abs=1e-5)


def test_whole_values_of_modules(net: Net) -> None:
    frame, specs = tap_compare(net, X, rules=(select_by_module_path("a", "b.lin"), FULL_TENSOR))
    assert [(spec.node_name, spec.module_path) for spec in specs] == [("relu", "a"), ("linear_1", "b.lin")]
    assert (frame["sqnr_db"] > 100).all() and frame["rt_numel"].to_list() == [12, 12]


def test_the_first_rule_that_selects_counts(net: Net) -> None:
    rules = [(select_by_module_class("Block"), FULL_TENSOR), (select_by_op_type("linear.default"), STATS)]
    _, specs = tap_compare(net, X, rules=rules)
    assert [spec.reducer_name for spec in specs] == ["STATS", "FULL_TENSOR"] * 2


def names(net: Net, *selectors: object, **options: object) -> list[str]:
    rules = [(selector, FULL_TENSOR) for selector in selectors]
    _, specs = tap_intermediate_outputs_(export(net, X), rules, **options)  # type: ignore[arg-type]
    return [spec.node_name for spec in specs]


def test_selectors(net: Net) -> None:
    linear, in_b = select_by_op_type("aten.linear.default"), select_by_module_path("b*", output_only=False)
    assert names(net, linear) == ["linear", "linear_1"]
    assert names(net, select_all(linear, in_b)) == ["linear_1"]
    assert names(net, select_all(in_b, select_not(linear))) == ["layer_norm_1", "relu_1"]
    assert names(net, select_any(linear, select_by_op_type("sum.default"))) == ["linear", "linear_1", "sum_1"]
    assert names(net, select_by_module_path("b*")) == ["relu_1"]
    assert names(net, select_by_module_class("Linear", output_only=False)) == ["linear", "linear_1"]
    assert len(names(net, select_all_call_function(), max_taps=2)) == 2
    assert names(net, select_all_call_function(exclude=("aten.relu.default",)))[:3] == [
        "linear",
        "layer_norm",
        "linear_1",
    ]


def test_nothing_is_selected(net: Net) -> None:
    absent = select_by_op_type("aten.conv2d.default")
    with pytest.raises(ValueError, match="no rule selects a node"):
        names(net, absent)
    with pytest.warns(UserWarning, match="no rule selects a node"):
        assert names(net, absent, error_on_empty=False) == []


def test_taps_stay_outside_of_delegates_until_they_are_stripped(net: Net) -> None:
    program, specs = tap_intermediate_outputs_(export(net, X))
    assert len(find_tap_nodes(program.graph_module)) == len(specs) == len(program.module()(*X)) - 1
    manager = to_edge_transform_and_lower(program, partitioner=[CpuPartitioner()])
    assert len(find_tap_nodes(manager.exported_program().graph_module)) == len(specs)
    strip_taps_(manager)
    assert find_tap_nodes(manager.exported_program().graph_module) == []


def test_values_of_other_dtypes_and_numbers() -> None:
    class Mixed(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x > 0).to(torch.int64) / x

    frame, _ = tap_compare(Mixed(), (torch.tensor([-1.0, 0.0, 2.0, float("inf")]),))
    for name in STATS.fields:
        pairs = zip(frame[f"aot_{name}"], frame[f"rt_{name}"], strict=True)
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs), name
    assert frame["rt_nan_count"].to_list()[-1] == 1 and frame["rt_zero_count"].to_list()[0] == 2


def test_a_reducer_of_the_user(net: Net) -> None:
    largest = StatReducer(
        "LARGEST",
        ("max",),
        lambda graph, source: graph.call_function(ops.edge.aten.amax.default, (source, [], False)),
        lambda tensor: tensor.amax(),
    )
    frame, _ = tap_compare(net, X, rules=(select_by_op_type("relu.default"), largest))
    assert frame["rt_max"].to_list() == pytest.approx(frame["aot_max"].to_list(), abs=1e-5)
    with pytest.raises(ValueError, match="the name STATS belongs to a predefined reducer"):
        tap_compare(net, X, rules=(select_by_op_type("relu.default"), replace(largest, name="STATS")))
    with pytest.raises(ValueError, match="no reducer has the name 'MEDIAN'"):
        get_reducer("MEDIAN")


def test_statistics_need_static_sizes(net: Net) -> None:
    program = export(net, X, dynamic_shapes=({0: Dim("n", max=8)},))
    with pytest.raises(ValueError, match="use the reducer FULL_TENSOR"):
        tap_intermediate_outputs_(program)


@pytest.mark.parametrize("name", ["select_by_op_type", "select_by_module_path", "select_by_module_class"])
def test_a_selector_without_names_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} needs at least one name"):
        getattr(intermediate_output_tap, name)()
