"""Tests of invalid delegation tags."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch
from torch.export import export

from rushlight.compiler.edge import EdgeProgramManager, to_edge
from rushlight.delegate import part_program
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.ir.errors import CompileError


class TwoUses(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.weight) * (x - self.weight)


class Tagger(Partitioner):
    """Gives the tag `part` to the nodes with some names."""

    def __init__(self, names: set[str], with_tags: bool = True, no_copy: bool = False) -> None:
        super().__init__()
        self.names = names
        part = DelegationSpec("NoSuchBackend", [CompileSpec("a", b"")])
        self.tags: Any = {"part": part} if with_tags else None
        self.no_copy = no_copy

    def partition(self, edge_exported_program: torch.export.ExportedProgram) -> PartitionResult:
        for node in edge_exported_program.graph.nodes:
            if node.name in self.names:
                node.meta["delegation_tag"] = "part"
                node.meta["no_copy"] = self.no_copy
        return PartitionResult(
            tagged_exported_program=edge_exported_program,
            partition_tags=self.tags,
        )


def manager() -> EdgeProgramManager:
    return to_edge(export(TwoUses(), (torch.ones(2, 2),)))


def test_inputs_of_the_user_cannot_be_tagged() -> None:
    with pytest.raises(CompileError, match="non-tensor constants should not be tagged: x is an input"):
        manager().to_backend(Tagger({"x", "aten_add_tensor"}))


def test_the_output_cannot_be_tagged() -> None:
    with pytest.raises(CompileError, match="output node output should not be tagged"):
        manager().to_backend(Tagger({"output", "output_1"}))


def test_constants_that_must_not_be_copied_have_users_of_one_tag() -> None:
    text = r"is tagged with \(part\) but has user \(aten_sub_tensor\) which has tag \(None\)"
    with pytest.raises(CompileError, match=text):
        manager().to_backend(Tagger({"p_weight", "aten_add_tensor"}, no_copy=True))


def test_partitions_in_a_cycle_are_refused() -> None:
    class Chain(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.sin(x + y) + y

    chain = to_edge(export(Chain(), (torch.ones(2), torch.ones(2))))
    with pytest.raises(AssertionError, match="aten_sin_default .* is on a path between") as raised:
        chain.to_backend(Tagger({"aten_add_tensor", "aten_add_tensor_1"}))
    assert isinstance(raised.value, CompileError)


def test_partitioners_without_tags_are_refused() -> None:
    with pytest.raises(AssertionError, match="needs a `partition_tags` field") as raised:
        manager().to_backend(Tagger(set(), with_tags=False))
    assert isinstance(raised.value, CompileError)


class Keeper(BackendDetails):
    """Stores nothing. The tests read the program of the lowered module."""

    @staticmethod
    def preprocess(
        edge_program: torch.export.ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        return PreprocessResult(b"")


@pytest.mark.parametrize(
    ("tagged", "stands", "name"),
    [
        ("aten_sub_tensor", True, "p_weight_copy_0"),
        ("aten_add_tensor", True, "p_weight"),
        ("aten_sub_tensor", False, "p_weight"),
    ],
)
def test_copies_of_constants_have_the_names_of_executorch(
    tagged: str, stands: bool, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name has the number of the first user in the partition, if there are users outside of it."""
    monkeypatch.setattr(part_program, "stands_for_executorch", lambda: stands)
    tagger = Tagger({"p_weight", tagged})
    tagger.tags = {"part": DelegationSpec("Keeper", [])}
    program = manager().to_backend(tagger).exported_program()
    lowered = program.graph_module.lowered_module_0.original_module
    (spec,) = [spec for spec in lowered.graph_signature.input_specs if spec.target == "weight"]
    assert spec.arg.name == name and name in {node.name for node in lowered.graph.nodes}
    assert lowered.state_dict["weight"].shape == (2, 2)
    assert "p_weight" in {node.name for node in program.graph.nodes}


class Reversed(Partitioner):
    """Gives each operator its own tag. The tag of the last operator is the first."""

    def partition(self, edge_exported_program: torch.export.ExportedProgram) -> PartitionResult:
        tags = {}
        for node in reversed(edge_exported_program.graph.nodes):
            if node.op == "call_function":
                node.meta["delegation_tag"] = f"tag_{node.name}"
                tags[f"tag_{node.name}"] = DelegationSpec(Keeper.__name__, [])
        return PartitionResult(edge_exported_program, tags)


def test_results_of_delegate_calls_are_numbered_in_the_order_of_the_tags() -> None:
    edge = manager().to_backend(Reversed())
    results = [node for node in edge.exported_program().graph.nodes if node.target is operator.getitem]
    assert [node.name for node in results] == ["getitem_2", "getitem_1", "getitem"]
    assert list(edge.exported_program().graph_signature.user_outputs) == ["getitem"]
