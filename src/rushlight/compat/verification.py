"""Verifiers of programs, with the interface of ExecuTorch's `exir.verification.verifier`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from torch._export.verifier import SpecViolationError, Verifier
from torch._ops import OpOverload

from rushlight.compiler import EdgeCompileConfig
from rushlight.ir.edge_ops import EdgeOpOverload, aten_op
from rushlight.ir.sym_ops import is_sym_op
from rushlight.ir.verifier import (
    ATEN,
    EDGE,
    Options,
    edge_verifier,
    not_core,
    not_edge,
    verify,
    wrong_layout_name,
)


def EXIRATenDialectVerifier(
    edge_compile_config: EdgeCompileConfig | None = None,
    class_only: bool = False,
    core_aten_ops_exception_list: Sequence[OpOverload] | None = None,
    preserve_ops: Sequence[OpOverload] | None = None,
) -> Any:
    """Makes a verifier for programs of Core ATen operators.

    Args:
        edge_compile_config: the configuration, which may list additional valid operators and preserved
            operators.
        class_only: return the class of the verifier instead of an object.
        core_aten_ops_exception_list: additional operators that are valid.
        preserve_ops: additional operators that are preserved.

    Returns:
        The verifier. A call with an invalid program or graph module raises SpecViolationError.
    """
    options = _options(edge_compile_config, core_aten_ops_exception_list, preserve_ops)

    class ATenDialectVerifier(Verifier):
        dialect = "OLD_EXIR_ATEN"

        def __call__(self, program_or_module: Any) -> None:
            module = getattr(program_or_module, "graph_module", program_or_module)
            verify(module, ATEN, options)
            for node in module.graph.nodes:
                if isinstance(node.target, EdgeOpOverload):
                    raise SpecViolationError(
                        f"{node.name}: {node.target.__name__} is an operator of the edge dialect, not of ATen"
                    )

        def is_valid(self, graph_module: Any) -> bool:
            return _is_valid(self, graph_module)

        def check_valid_op(self, op: object) -> None:
            """Checks that an operator belongs to Core ATen.

            Raises:
                SpecViolationError: the operator does not belong to Core ATen.
                RuntimeError: a preserved operator is a view.
            """
            _check_core(op, options)

    return ATenDialectVerifier if class_only else ATenDialectVerifier()


def EXIREdgeDialectVerifier(
    edge_compile_config: EdgeCompileConfig | None = None,
    class_only: bool = False,
    core_aten_ops_exception_list: Sequence[OpOverload] | None = None,
    preserve_ops: Sequence[OpOverload] | None = None,
) -> Any:
    """Makes a verifier for edge programs.

    Args:
        edge_compile_config: the configuration, which may list additional valid operators and preserved
            operators. Without `_check_ir_validity`, all programs are valid.
        class_only: return the class of the verifier instead of an object.
        core_aten_ops_exception_list: additional operators that are valid.
        preserve_ops: additional operators that are preserved.

    Returns:
        The verifier. A call with an invalid program or graph module raises SpecViolationError; `is_valid`
        returns whether a graph module is valid.
    """
    config = edge_compile_config or EdgeCompileConfig()
    options = _options(config, core_aten_ops_exception_list, preserve_ops)
    base: type[Verifier] = edge_verifier(options, enabled=config._check_ir_validity)

    class EdgeDialectVerifier(base):  # type: ignore[misc, valid-type]
        dialect = EDGE
        enable = config._check_ir_validity
        use_dim_order = options.dim_order

        def __call__(self, program_or_module: Any) -> None:
            if self.enable:
                verify(getattr(program_or_module, "graph_module", program_or_module), EDGE, options)

        def check_valid_op(self, op: object) -> None:
            """Calls `check_valid_edge_op`."""
            self.check_valid_edge_op(op)

        def check_valid_edge_op(self, op: object) -> None:
            """Checks that an operator belongs to the edge dialect.

            Raises:
                SpecViolationError: the operator is a torch operator or is not in Core ATen, or it has a
                    memory format instead of a dim order (or the reverse).
            """
            if not self.enable or op is operator.getitem or is_sym_op(op) or op in options.exceptions:
                return
            wrong = not_edge(op, options)
            if wrong is None and isinstance(op, EdgeOpOverload):
                wrong = wrong_layout_name(op._op, options)
            if wrong is not None:
                raise SpecViolationError(wrong)
            if isinstance(op, EdgeOpOverload):
                _check_core(op, options)

        def check_valid_aten_op(self, op: object) -> None:
            """Checks that a torch operator belongs to Core ATen.

            Raises:
                SpecViolationError: the operator does not belong to Core ATen.
            """
            _check_core(op, options)

    return EdgeDialectVerifier if class_only else EdgeDialectVerifier()


def get_aten_verifier(config: EdgeCompileConfig) -> type[Verifier]:
    """Returns the class of the verifier for Core ATen programs with a configuration."""
    verifier: type[Verifier] = EXIRATenDialectVerifier(config, class_only=True)
    return verifier if config._check_ir_validity else Verifier


def _options(
    config: EdgeCompileConfig | None,
    exceptions: Sequence[OpOverload] | None,
    preserve: Sequence[OpOverload] | None,
) -> Options:
    config = config or EdgeCompileConfig()
    known = config.options(list(preserve or ()))
    return Options(
        dim_order=known.dim_order,
        exceptions=known.exceptions | frozenset(exceptions or ()),
        preserve=known.preserve,
        core_only=known.core_only,
    )


def _check_core(op: object, options: Options) -> None:
    found = aten_op(op)
    wrong = None if found is None else not_core(found, options)
    if wrong is None:
        return
    if found in options.preserve:
        raise RuntimeError(wrong)
    raise SpecViolationError(wrong)


def _is_valid(verifier: Callable[[Any], object], graph_module: Any) -> bool:
    try:
        verifier(graph_module)
    except SpecViolationError:
        return False
    return True
