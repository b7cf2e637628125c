"""The edge dialect: names, layouts, lifted constants, dim order operators."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import rushlight
from rushlight.compiler.config import EdgeCompileConfig
from rushlight.compiler.edge import to_edge
from rushlight.frontend import edge
from rushlight.ir import meta
from rushlight.ir.edge_ops import ops

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "frontend" / "edge_operators.json").read_text())

# After a write, the reference computes each view again from its base. Here, views of one parent share it.
FEWER = {"inplace_views"}


def operator_names(graph_module: Any) -> Any:
    counts: Counter[str] = Counter()
    for module in graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                if node.op == "call_function":
                    counts[getattr(node.target, "__name__", str(node.target))] += 1
    return counts


def edge_of(function: Any, *inputs: Any, **config: Any) -> Any:
    class Net(torch.nn.Module):
        def forward(self, *args: torch.Tensor) -> torch.Tensor:
            return function(*args)

    program = torch.export.export(Net(), inputs)
    return to_edge(program, compile_config=EdgeCompileConfig(**config)).exported_program()


def test_same_operators_as_the_reference(case_name: str, program: Any) -> None:
    """The golden counts are those of ExecuTorch 1.5.1's to_edge."""
    edge = to_edge(program).exported_program()
    expected = Counter(GOLDEN[case_name])
    actual = operator_names(edge.graph_module)
    assert actual <= expected if case_name in FEWER else actual == expected


def test_nodes_bear_the_names_of_their_operators(export_case: Any) -> None:
    edge = to_edge(export_case("digits_cnn")).exported_program()
    names = [node.name for node in edge.graph.nodes if node.op == "call_function"]
    assert names[:3] == [
        "aten_convolution_default",
        "aten__native_batch_norm_legit_no_training_default",
        "getitem",
    ]
    assert "aten_relu_default_1" in names
    assert "executorch_exir_dialects_edge__ops_aten_relu_default(" in edge.graph_module.code


def test_scalars_become_buffers_before_the_first_input(export_case: Any) -> None:
    edge = to_edge(export_case("counter")).exported_program()
    kinds = [(spec.kind.name, spec.arg.name) for spec in edge.graph_signature.input_specs]
    assert kinds == [
        ("BUFFER", "b_count"),
        ("BUFFER", "b_scale"),
        ("BUFFER", "_lifted_tensor_constant2"),
        ("USER_INPUT", "x"),
    ]
    assert edge.state_dict["_lifted_tensor_constant2"] == torch.tensor(1)
    assert list(edge.graph_signature.buffers_to_mutate.values()) == ["count"]


def test_clone_names_its_dim_order() -> None:
    x = torch.randn(1, 3, 4, 4)
    edge = edge_of(lambda x: x.clone(memory_format=torch.channels_last), x)
    node = next(node for node in edge.graph.nodes if node.op == "call_function")
    assert node.target is ops.edge.dim_order_ops._clone_dim_order.default
    assert node.kwargs == {"dim_order": [0, 2, 3, 1]}
    assert meta.get_val(node).stride() == (48, 1, 12, 3)


def test_without_dim_order_memory_formats_stay() -> None:
    x = torch.randn(1, 3, 4, 4)
    edge = edge_of(lambda x: x.clone(memory_format=torch.channels_last), x, _skip_dim_order=True)
    node = next(node for node in edge.graph.nodes if node.op == "call_function")
    assert node.target is ops.edge.aten.clone.default


def test_layouts_follow_copies(export_case: Any) -> None:
    """Views are copies, so that the results after a permute are row-major again."""
    edge = to_edge(export_case("attention")).exported_program()
    for node in edge.graph.nodes:
        val = meta.get_tensor(node) if node.op == "call_function" else None
        assert val is None or val.is_contiguous(), node


class ToFloat(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.float32).add(1).clone()


@pytest.mark.parametrize("axes", [(0, 2, 1), (2, 0, 1), (0, 1, 2)])
def test_copies_of_transposed_inputs_become_row_major(axes: Any) -> None:
    x = torch.arange(24).reshape(2, 3, 4).permute(axes)
    program = rushlight.load(rushlight.compile(ToFloat(), (x,), partitioner=()).buffer)
    torch.testing.assert_close(program(x), ToFloat()(x))


def test_constants_of_odd_layout_become_row_major() -> None:
    class Net(torch.nn.Module):
        table: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(3, 4).t())
            self.register_buffer("table", torch.randn(3, 4).t())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.weight + self.table

    program = torch.export.export(Net(), (torch.randn(4, 4),))
    edge = to_edge(program).exported_program()
    assert edge.state_dict["weight"].is_contiguous() and edge.state_dict["table"].is_contiguous()
    assert not program.state_dict["weight"].is_contiguous()
    x = torch.randn(4, 4)
    torch.testing.assert_close(edge.module()(x), program.module()(x))


def assert_same(expected: Any, actual: Any) -> None:
    expected, actual = pytree.tree_leaves(expected), pytree.tree_leaves(actual)
    for want, got in zip(expected, actual, strict=True):
        if isinstance(want, torch.Tensor):
            torch.testing.assert_close(got, want, equal_nan=True)
        else:
            assert got == want


def test_edge_programs_run_and_validate(case: Any) -> None:
    edge = to_edge(case.export()).exported_program()
    edge.validate()
    assert edge.dialect == "EDGE"
    expected = case.export().module()(*case.inputs(), **case.kwargs)
    assert_same(expected, edge.module()(*case.inputs(), **case.kwargs))


@pytest.mark.parametrize("name", ["counter", "pytree", "dynamic_batch", "cond"])
def test_an_empty_transform_changes_nothing(name: str, export_case: Any) -> None:
    manager = to_edge(export_case(name))
    again = manager.transform([])
    before, after = manager.exported_program(), again.exported_program()
    assert again is not manager and after is before


def test_empty_memory_keeps_a_dynamic_size() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            padded = torch.empty(x.shape[0], 3, 10)
            padded[..., 1:-1] = x
            padded[..., :1] = x[..., -1:]
            padded[..., -1:] = x[..., :1]
            return padded

    batch = torch.export.Dim("batch", min=1, max=6)
    program = torch.export.export(Net(), (torch.randn(3, 3, 8),), dynamic_shapes=({0: batch},))
    edge = to_edge(program).exported_program()
    empty = [n for n in edge.graph.nodes if n.target is ops.edge.dim_order_ops._empty_dim_order.default]
    assert [type(meta.get_val(node).shape[0]) for node in empty] == [torch.SymInt]
    method = rushlight.load(to_edge(program).to_executorch().buffer)
    for count in (1, 2, 6):
        x = torch.randn(count, 3, 8)
        assert torch.equal(method(x), Net()(x))


@pytest.mark.parametrize("stands", [False, True])
def test_inputs_with_names_of_builtins(stands: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ExecuTorch's edge programs give such inputs a number."""
    monkeypatch.setattr(edge, "stands_for_executorch", lambda: stands)

    class Net(torch.nn.Module):
        def forward(self, input: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            input.add_(1)
            return input * x

    arguments = (torch.randn(3), torch.randn(3))
    core = torch.export.export(Net(), arguments).run_decompositions()
    program = edge.to_edge_dialect(core)
    name = "input_1" if stands else "input"
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    assert [(node.name, node.target) for node in placeholders[-2:]] == [(name, "input"), ("x", "x")]
    assert list(program.graph_signature.user_inputs) == [name, "x"]
    assert list(program.graph_signature.user_inputs_to_mutate.values()) == [name]
    assert list(core.graph_signature.user_inputs) == ["input", "x"]
    if not stands:  # torch does not find an input of this name that the program writes
        return
    mine, expected = arguments[0].clone(), arguments[0] + 1
    torch.testing.assert_close(program.module()(mine, arguments[1]), expected * arguments[1])
    torch.testing.assert_close(mine, expected)
