"""The verifiers of programs, with the interface of ExecuTorch's `exir.verification.verifier`."""

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
    """Makes a verifier of programs of Core ATen operators.

    Args:
        edge_compile_config: names operators that are let through, and operators that are kept whole.
        class_only: asks for the class instead of a verifier.
        core_aten_ops_exception_list: further operators that are let through.
        preserve_ops: further operators that are kept whole.

    Returns:
        The verifier. Called with a program or a graph module, it raises SpecViolationError.
    """
    options = _options(edge_compile_config, core_aten_ops_exception_list, preserve_ops)

    class ATenDialectVerifier(Verifier):
        dialect = "OLD_EXIR_ATEN"

        def __call__(self, program_or_module: Any) -> None:
            verify(getattr(program_or_module, "graph_module", program_or_module), ATEN, options)

        def is_valid(self, graph_module: Any) -> bool:
            return _is_valid(self, graph_module)

        def check_valid_op(self, op: object) -> None:
            """Checks that an operator belongs to Core ATen.

            Raises:
                SpecViolationError: it does not.
                RuntimeError: it is to be kept whole, and is a view.
            """
            _check_core(op, options)

    return ATenDialectVerifier if class_only else ATenDialectVerifier()


def EXIREdgeDialectVerifier(
    edge_compile_config: EdgeCompileConfig | None = None,
    class_only: bool = False,
    core_aten_ops_exception_list: Sequence[OpOverload] | None = None,
    preserve_ops: Sequence[OpOverload] | None = None,
) -> Any:
    """Makes a verifier of edge programs.

    Args:
        edge_compile_config: names operators that are let through, and operators that are kept whole; without
            `_check_ir_validity` every program is valid.
        class_only: asks for the class instead of a verifier.
        core_aten_ops_exception_list: further operators that are let through.
        preserve_ops: further operators that are kept whole.

    Returns:
        The verifier. Called with a program or a graph module, it raises SpecViolationError; its `is_valid`
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
            """Does the same as `check_valid_edge_op`."""
            self.check_valid_edge_op(op)

        def check_valid_edge_op(self, op: object) -> None:
            """Checks that an operator belongs to the edge dialect.

            Raises:
                SpecViolationError: it is an operator of torch, is not in Core ATen, or names layouts in the
                    other way.
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
            """Checks that an operator of torch belongs to Core ATen.

            Raises:
                SpecViolationError: it does not.
            """
            _check_core(op, options)

    return EdgeDialectVerifier if class_only else EdgeDialectVerifier()


def get_aten_verifier(config: EdgeCompileConfig) -> type[Verifier]:
    """Returns the class of verifiers of Core ATen programs for a configuration."""
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
