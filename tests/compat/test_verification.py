"""The verifiers with the names of ExecuTorch accept valid dialects and refuse other ones."""

from __future__ import annotations

import pytest
import torch
from torch._export.verifier import SpecViolationError
from torch.export import export

from rushlight.compat.verification import (
    EXIRATenDialectVerifier,
    EXIREdgeDialectVerifier,
    get_aten_verifier,
)
from rushlight.exir import EdgeCompileConfig, to_edge
from rushlight.ir.edge_ops import ops


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(dtype=torch.double, memory_format=torch.channels_last)


def test_layouts_are_named_as_configured() -> None:
    program = export(Net(), (torch.rand(2, 2, 2, 2),))
    configs = [EdgeCompileConfig(_skip_dim_order=skip) for skip in (False, True)]
    programs = [to_edge(program, compile_config=config).exported_program() for config in configs]
    for config, own, other in zip(configs, programs, programs[::-1], strict=True):
        verifier = EXIREdgeDialectVerifier(edge_compile_config=config)
        verifier(own)
        assert verifier.is_valid(own.graph_module) and not verifier.is_valid(other.graph_module)
        with pytest.raises(SpecViolationError):
            verifier(other)


def test_operators() -> None:
    verifier = EXIREdgeDialectVerifier(class_only=True)()
    verifier.check_valid_edge_op(ops.edge.aten.add.Tensor)
    with pytest.raises(SpecViolationError, match="aten.add.Tensor is not an Edge operator"):
        verifier.check_valid_edge_op(torch.ops.aten.add.Tensor)

    for op in (torch.ops.aten.add.Tensor, ops.edge.aten.linear.default, ops.edge.aten.add_.Tensor):
        with pytest.raises(SpecViolationError):
            verifier.check_valid_op(op)
    lenient = EXIREdgeDialectVerifier(core_aten_ops_exception_list=[torch.ops.aten.linear.default])
    lenient.check_valid_edge_op(ops.edge.aten.linear.default)
    off = EXIREdgeDialectVerifier(EdgeCompileConfig(_check_ir_validity=False))
    off.check_valid_edge_op(torch.ops.aten.add.Tensor)


def test_core_aten_operators() -> None:
    verifier = EXIRATenDialectVerifier()
    verifier.check_valid_op(torch.ops.aten.add.Tensor)
    with pytest.raises(SpecViolationError, match=r"aten.linear.default is not in Core ATen"):
        verifier.check_valid_op(torch.ops.aten.linear.default)
    with pytest.raises(RuntimeError, match="because it is a view"):
        EXIRATenDialectVerifier(preserve_ops=[torch.ops.aten.view.default]).check_valid_op(
            torch.ops.aten.view.default
        )
    assert issubclass(get_aten_verifier(EdgeCompileConfig()), torch._export.verifier.Verifier)


class Flat(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(-1)


def test_views_are_not_preserved() -> None:
    config = EdgeCompileConfig(preserve_ops=[torch.ops.aten.view.default])
    with pytest.raises(
        RuntimeError, match=r"Cannot preserve operator aten.view.default because it is a view"
    ):
        to_edge(export(Flat(), (torch.ones(2, 2),)), compile_config=config)


def test_dtypes_that_do_not_agree_are_refused() -> None:
    class Product(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.mm(x, y)

    program = to_edge(export(Product(), (torch.ones(2, 2), torch.ones(2, 2)))).exported_program()
    second = next(node for node in program.graph.nodes if node.name == "y")
    second.meta["val"] = second.meta["val"].to(torch.float64)
    with pytest.raises(SpecViolationError, match="does not support self torch.float32, mat2 torch.float64"):
        EXIREdgeDialectVerifier()(program)


def test_edge_programs_are_no_aten_programs() -> None:
    program = export(torch.nn.ReLU(), (torch.rand(2),))
    edge = to_edge(program).exported_program()
    verifier = EXIRATenDialectVerifier()
    verifier(program.graph_module)
    assert verifier.is_valid(program.graph_module) and not verifier.is_valid(edge.graph_module)
    with pytest.raises(SpecViolationError, match="aten.relu.default is an operator of the edge dialect"):
        verifier(edge)
