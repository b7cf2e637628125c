"""`to_backend`: a whole program, the parts that a partitioner tags, a lowered module inside another."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.delegate.support import assert_close, backends, load, needs_xnnpack, outputs_of
from torch import nn
from torch.export import Dim, ExportedProgram, export

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compat.canonical_partitioners import AllNodePartitioner
from rushlight.compiler.to_backend import to_backend
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.lowered import LoweredBackendModule, get_lowered_backend_modules
from rushlight.delegate.partitioner import Partitioner
from rushlight.exir import EdgeProgramManager, to_edge
from rushlight.format import program as schema

pytestmark = needs_xnnpack


class ProgramBackend(BackendDetails):
    """Its payload is a program file of the part, which may contain lowered modules."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        return PreprocessResult(bytes(EdgeProgramManager(edge_program).to_executorch().buffer))


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(self.linear(x)) + y, x * y


class Outer(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.linear = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a, b = self.inner(x, y)
        return self.linear(torch.cumsum(a, 0) - b)


INPUTS = (torch.randn(2, 4), torch.randn(2, 4))
MORE = (torch.randn(7, 4), torch.randn(7, 4))


@pytest.fixture(scope="module")
def inner() -> Inner:
    return Inner().eval()


@pytest.fixture(scope="module", params=["XnnpackBackend", "CpuBackend"])
def whole(request: pytest.FixtureRequest, inner: Inner) -> LoweredBackendModule:
    """Returns the inner module, which is lowered completely, for up to 9 rows."""
    rows = Dim("rows", min=2, max=9)
    program = to_edge(export(inner, INPUTS, dynamic_shapes=({0: rows}, {0: rows}))).exported_program()
    lowered: LoweredBackendModule = to_backend(request.param, program, [])
    return lowered


def test_options_equal_those_of_the_program() -> None:
    assert schema.CompileSpec("speed", b"fast") == CompileSpec("speed", b"fast")
    assert CompileSpec("speed", b"fast") != schema.CompileSpec("speed", b"slow")
    assert CompileSpec("speed", b"fast") != ("speed", b"fast")


def test_a_whole_program(whole: LoweredBackendModule, inner: Inner) -> None:
    assert_close(whole(*MORE), inner(*MORE))  # with the program from which it was lowered
    assert_close(whole.original_module.module()(*MORE), inner(*MORE))


def test_saved_alone(whole: LoweredBackendModule, inner: Inner) -> None:
    (plan,) = whole.program().execution_plan
    assert [delegate.id for delegate in plan.delegates] == [whole.backend_id]
    (chain,) = plan.chains
    assert len(chain.instructions) == 1 and not plan.operators
    for options in ({}, {"extract_delegate_segments": True, "segment_alignment": 4096}):
        method = load(whole.buffer(**options))  # type: ignore[arg-type]
        for inputs in (INPUTS, MORE):
            assert_close(outputs_of(method, inputs), inner(*inputs))


@pytest.mark.parametrize("partitioner", [XnnpackPartitioner, CpuPartitioner])
def test_a_part_saved_alone(partitioner: type[Partitioner], inner: Inner) -> None:
    outer = Outer(inner).eval()
    program = to_backend(to_edge(export(outer, INPUTS)).exported_program(), partitioner())
    for lowered in get_lowered_backend_modules(program.graph_module):
        signature = lowered.original_module.graph_signature
        inputs = [torch.randn(2, 4) for _ in signature.user_inputs]
        assert_close(outputs_of(load(lowered.buffer()), inputs), lowered(*inputs))


@pytest.mark.parametrize("partitioner", [XnnpackPartitioner, CpuPartitioner])
def test_inside_another_module(
    partitioner: type[Partitioner], whole: LoweredBackendModule, inner: Inner
) -> None:
    outer = Outer(whole).eval()
    expected = outer.linear(torch.cumsum(inner(*INPUTS)[0], 0) - inner(*INPUTS)[1])
    edge = to_edge(export(outer, INPUTS))
    assert backends(edge.exported_program().graph_module) == [whole.backend_id]
    assert_close(outputs_of(load(edge.to_executorch().buffer), INPUTS), [expected])
    chosen = partitioner()
    again = edge.to_backend(chosen)
    found = backends(again.exported_program().graph_module)
    assert found[0] == whole.backend_id and chosen.delegation_spec.backend_id in found[1:]  # type: ignore[attr-defined]
    assert_close(again.exported_program().module()(*INPUTS), [expected])
    assert_close(outputs_of(load(again.to_executorch().buffer), INPUTS), [expected])


@pytest.mark.parametrize("by_tags", [False, True], ids=["whole", "tagged"])
def test_inside_another_module_that_is_lowered_too(
    by_tags: bool, whole: LoweredBackendModule, inner: Inner
) -> None:
    outer = Outer(whole).eval()
    expected = outer.linear(torch.cumsum(inner(*INPUTS)[0], 0) - inner(*INPUTS)[1])
    program = to_edge(export(outer, INPUTS)).exported_program()
    lowered: Any
    if by_tags:
        tagged = to_backend(program, AllNodePartitioner("ProgramBackend", []))
        (lowered,) = get_lowered_backend_modules(tagged.graph_module)
        assert_close(tagged.module()(*INPUTS), expected)
    else:
        lowered = to_backend("ProgramBackend", program, [])
        assert_close(lowered(*INPUTS), [expected])
    assert backends(lowered.original_module.graph_module) == [whole.backend_id]
    assert_close(outputs_of(load(lowered.processed_bytes), INPUTS), [expected])
