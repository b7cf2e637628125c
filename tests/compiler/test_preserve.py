"""Operators that partitioners preserve from decomposition."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

from rushlight.compiler import to_edge_transform_and_lower
from rushlight.delegate.backend import BackendDetails, PreprocessResult
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.frontend.decompose import decompose
from rushlight.ir import meta
from rushlight.ir.edge_ops import ops
from rushlight.ir.errors import CompileError

LINEAR = torch.ops.aten.linear.default


class KeptBackend(BackendDetails):
    @staticmethod
    def preprocess(edge_program: Any, compile_specs: Any) -> Any:
        return PreprocessResult(b"payload")


class Keep(Partitioner):
    """Preserves the operators `kept` if `accepts` is true, and lowers the calls of `lowered`."""

    def __init__(self, kept: Any, lowered: Any, accepts: Any = None) -> None:
        super().__init__()
        self.kept, self.lowered, self.accepts = kept, lowered, accepts

    def ops_to_not_decompose(self, ep: Any) -> Any:
        return self.kept, self.accepts

    def partition(self, exported_program: Any) -> Any:
        tags: dict[str, Any] = {}
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and node.target in self.lowered:
                tag = f"part{len(tags)}"
                meta.set_delegation_tag(node, tag)
                tags[tag] = DelegationSpec("KeptBackend", [])
        return PartitionResult(exported_program, tags)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.hardswish(self.b(torch.relu(self.a(x))))


@pytest.fixture(scope="module")
def program() -> Any:
    return torch.export.export(Net().eval(), (torch.randn(2, 4),))


def names(manager: Any) -> Any:
    graph = manager.exported_program().graph
    return Counter(
        getattr(node.target, "__name__", str(node.target))
        for node in graph.nodes
        if node.op == "call_function"
    )


def test_kept_operators_reach_the_partitioner(program: Any) -> None:
    manager = to_edge_transform_and_lower(
        program, partitioner=[Keep([LINEAR], [ops.edge.aten.linear.default])]
    )
    counts = names(manager)
    assert counts["executorch_call_delegate"] == 2
    assert counts["aten.addmm.default"] == counts["aten.linear.default"] == 0
    assert (
        counts["aten.hardswish.default"] == 0 and counts["aten.div.Tensor"] + counts["aten.mul.Tensor"] >= 1
    )
    x = torch.randn(2, 4)
    torch.testing.assert_close(manager.exported_program().module()(x), program.module()(x))


def test_without_a_partitioner_they_decompose(program: Any) -> None:
    assert names(to_edge_transform_and_lower(program))["aten.addmm.default"] == 2


def test_a_partitioner_chooses_node_by_node(program: Any) -> None:
    def only_the_wide_one(node: Any) -> Any:
        return meta.get_val(node).shape[-1] == 8

    manager = to_edge_transform_and_lower(
        program, partitioner=[Keep([LINEAR], [ops.edge.aten.linear.default], only_the_wide_one)]
    )
    counts = names(manager)
    assert counts["executorch_call_delegate"] == 1 and counts["aten.addmm.default"] == 1
    x = torch.randn(2, 4)
    torch.testing.assert_close(manager.exported_program().module()(x), program.module()(x))


def test_what_is_kept_and_then_left_over_is_an_error(program: Any) -> None:
    with pytest.raises(CompileError, match="aten.linear.default.* was not decomposed or delegated") as error:
        to_edge_transform_and_lower(program, partitioner=[Keep([LINEAR], [])])
    assert "Keep preserves this operator in method forward" in str(error.value)
    assert "test_preserve.py:" in str(error.value)


def test_what_is_left_over_may_decompose_after_all(program: Any) -> None:
    partitioner = Keep([LINEAR], [])
    partitioner.decomposes_leftovers = True
    manager = to_edge_transform_and_lower(program, partitioner=[partitioner])
    assert names(manager)["aten.linear.default"] == 0 and names(manager)["aten.addmm.default"] == 2
    x = torch.randn(2, 4)
    torch.testing.assert_close(manager.exported_program().module()(x), program.module()(x))


@pytest.mark.parametrize("case", ["refused", "left over"])
def test_a_program_is_decomposed_once(program: Any, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    calls = []

    def counted(*args: Any) -> Any:
        calls.append(args)
        return decompose(*args)

    monkeypatch.setattr("rushlight.compiler.preserve.decompose", counted)
    partitioner = Keep([LINEAR], [], (lambda node: False) if case == "refused" else None)
    partitioner.decomposes_leftovers = case == "left over"
    manager = to_edge_transform_and_lower(program, partitioner=[partitioner])
    assert names(manager)["aten.linear.default"] == 0 and names(manager)["aten.addmm.default"] == 2
    assert len(calls) == 1


def test_a_node_that_another_partitioner_claims_stays_whole(program: Any) -> None:
    refusing = Keep([LINEAR], [], lambda node: False)
    taking = Keep([LINEAR], [ops.edge.aten.linear.default])
    counts = names(to_edge_transform_and_lower(program, partitioner=[refusing, taking]))
    assert counts["executorch_call_delegate"] == 2 and counts["aten.addmm.default"] == 0


def test_operators_that_passes_rewrite_are_not_kept() -> None:
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2.0

    program = torch.export.export(Scaled(), (torch.randn(2),))
    mul = torch.ops.aten.mul.Tensor
    manager = to_edge_transform_and_lower(program, partitioner=[Keep([mul], [])])
    node = next(node for node in manager.exported_program().graph.nodes if node.op == "call_function")
    assert isinstance(node.args[1], torch.fx.Node)


def test_partitioners_run_in_order_and_by_method(program: Any) -> None:
    relu = Keep([], [ops.edge.aten.relu.default])
    linear = Keep([LINEAR], [ops.edge.aten.linear.default])
    manager = to_edge_transform_and_lower(
        {"both": program, "none": program}, partitioner={"both": [relu, linear]}
    )
    both = manager.exported_program("both").graph
    delegates = [node for node in both.nodes if "call_delegate" in str(node.target)]
    assert len(delegates) == 3
    assert not any(
        "call_delegate" in str(node.target) for node in manager.exported_program("none").graph.nodes
    )
    plans = {plan.name: plan.delegates for plan in manager.to_executorch().executorch_program.execution_plan}
    assert [delegate.id for delegate in plans["both"]] == ["KeptBackend"] * 3 and plans["none"] == []


def test_the_program_before_decomposition_may_be_replaced(program: Any) -> None:
    class Replace(Keep):
        def transform_for_pre_decomposition(self, exported_program: Any) -> Any:
            class Other(torch.nn.Module):
                def forward(self, x: torch.Tensor) -> torch.Tensor:
                    return torch.sigmoid(x)

            return torch.export.export(Other(), (torch.randn(2, 4),))

    assert names(to_edge_transform_and_lower(program, partitioner=[Replace([], [])])) == {
        "aten.sigmoid.default": 1
    }


def test_what_torch_keeps_stays_whole_when_a_partitioner_refuses_it() -> None:
    class Resize(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.interpolate(x, scale_factor=1.3, mode="bilinear")

    program = torch.export.export(Resize(), (torch.randn(1, 1, 2, 8),))
    resize = torch.ops.aten.upsample_bilinear2d.vec
    edge = to_edge_transform_and_lower(program, partitioner=[Keep([resize], [], lambda node: False)])
    assert [node.target for node in edge.exported_program().graph.nodes if node.op == "call_function"] == [
        ops.edge.aten.upsample_bilinear2d.vec
    ]
