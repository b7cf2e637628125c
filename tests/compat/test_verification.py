from __future__ import annotations

import pytest
import torch
from torch._export.verifier import SpecViolationError
from torch.export import export

from rushlight.compat.verification import EXIREdgeDialectVerifier
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
