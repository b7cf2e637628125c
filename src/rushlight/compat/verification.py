"""The verifier of edge programs, as ExecuTorch's `exir.verification.verifier` makes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch._export.verifier import SpecViolationError, Verifier
from torch._ops import OpOverload

from rushlight.compile import EdgeCompileConfig
from rushlight.compile.edge import options_of
from rushlight.ir.verifier import EDGE, edge_verifier


def EXIREdgeDialectVerifier(
    edge_compile_config: EdgeCompileConfig | None = None,
    class_only: bool = False,
    core_aten_ops_exception_list: Sequence[OpOverload] | None = None,
    preserve_ops: Sequence[OpOverload] | None = None,
) -> Any:
    """A verifier of edge programs for a configuration, or its class.

    It is called with a program or a graph module and raises SpecViolationError; `is_valid` says whether a
    graph module passes.
    """
    config = edge_compile_config or EdgeCompileConfig()
    exceptions = [*(config._core_aten_ops_exception_list or ()), *(core_aten_ops_exception_list or ())]
    options = options_of(config, [*(preserve_ops or ()), *exceptions])
    base: type[Verifier] = edge_verifier(options, enabled=config._check_ir_validity)

    class EdgeDialectVerifier(base):  # type: ignore[misc, valid-type]
        dialect = EDGE

        def check_valid_edge_op(self, op: Any) -> None:
            """Raises SpecViolationError for an operator of torch that is no edge operator."""
            if isinstance(op, OpOverload):
                raise SpecViolationError(f"Operator {op} is not an Edge operator")

    return EdgeDialectVerifier if class_only else EdgeDialectVerifier()
