"""The verifier of edge programs, with the interface of ExecuTorch's `exir.verification.verifier`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch._export.verifier import SpecViolationError, Verifier
from torch._ops import OpOverload

from rushlight.compiler import EdgeCompileConfig
from rushlight.ir.verifier import EDGE, edge_verifier


def EXIREdgeDialectVerifier(
    edge_compile_config: EdgeCompileConfig | None = None,
    class_only: bool = False,
    core_aten_ops_exception_list: Sequence[OpOverload] | None = None,
    preserve_ops: Sequence[OpOverload] | None = None,
) -> Any:
    """Makes a verifier of edge programs for a configuration.

    The verifier is called with a program or a graph module and raises SpecViolationError. Its `is_valid`
    returns whether a graph module is valid.

    Returns:
        The verifier, or its class with `class_only=True`.
    """
    config = edge_compile_config or EdgeCompileConfig()
    exceptions = [*(config._core_aten_ops_exception_list or ()), *(core_aten_ops_exception_list or ())]
    options = config.options([*(preserve_ops or ()), *exceptions])
    base: type[Verifier] = edge_verifier(options, enabled=config._check_ir_validity)

    class EdgeDialectVerifier(base):  # type: ignore[misc, valid-type]
        dialect = EDGE

        def check_valid_edge_op(self, op: object) -> None:
            """Checks that an operator is an edge operator.

            Raises:
                SpecViolationError: it is an operator of torch.
            """
            if isinstance(op, OpOverload):
                raise SpecViolationError(f"Operator {op} is not an Edge operator")

    return EdgeDialectVerifier if class_only else EdgeDialectVerifier()
