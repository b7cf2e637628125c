"""`validation_disabled`: partitioners that change graphs."""

from __future__ import annotations

import pytest
import torch
from torch.export import ExportedProgram
from torch.utils._pytree import tree_leaves

from rushlight.compiler import EdgeProgramManager, to_edge
from rushlight.delegate.partitioner import Partitioner, PartitionResult
from rushlight.delegate.validation import disable_validation, validation_disabled
from rushlight.export.stage import PipelineArtifact
from rushlight.export.stages import ToBackendStage
from rushlight.ir.edge_ops import ops


class SineForCosine(Partitioner):
    """Changes an operator, and selects no nodes."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        for node in exported_program.graph.nodes:
            if "cos" in str(node.target):
                node.target = ops.edge.aten.sin.default
        exported_program.graph_module.recompile()
        return PartitionResult(exported_program, {})


class Changing(SineForCosine):
    changes_graph = True


class Cosine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cos(x)


X = torch.randn(4)


def edge() -> EdgeProgramManager:
    return to_edge(torch.export.export(Cosine(), (X,)))


def result(manager: EdgeProgramManager) -> torch.Tensor:
    (out,) = tree_leaves(manager.exported_program().module()(X))
    assert isinstance(out, torch.Tensor)
    return out


def test_a_change_is_refused() -> None:
    with pytest.raises(AssertionError, match="should not modify the graph module"):
        edge().to_backend(SineForCosine())


def test_a_partitioner_may_say_that_it_changes_graphs() -> None:
    torch.testing.assert_close(result(edge().to_backend(Changing())), torch.sin(X))


def test_without_validation() -> None:
    with validation_disabled():
        assert torch.equal(result(edge().to_backend(SineForCosine())), torch.sin(X))
    with pytest.raises(AssertionError):
        edge().to_backend(SineForCosine())


def test_validation_ends_until_the_context_ends() -> None:
    with validation_disabled():
        with validation_disabled():
            pass
        assert torch.equal(result(edge().to_backend(SineForCosine())), torch.sin(X))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Partitioner, "changes_graph", False)
        disable_validation()
        assert torch.equal(result(edge().to_backend(SineForCosine())), torch.sin(X))
    with pytest.raises(AssertionError):
        edge().to_backend(SineForCosine())


def test_recipes_allow_changes_and_leave_the_partitioner_as_it_is() -> None:
    partitioner = SineForCosine()
    stage = ToBackendStage([partitioner])
    stage.run(PipelineArtifact(edge(), {}))
    assert torch.equal(result(stage.get_artifacts().data), torch.sin(X))
    assert not partitioner.changes_graph
