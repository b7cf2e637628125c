"""Verifies the rules of each dialect: a numbered table of rules, which are checked for each node.

The message of a violation describes the error, and names the node, its operator and dtypes, and the source
line of the user.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch._export.verifier import SpecViolationError, Verifier
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import GraphModule, Node

from rushlight.ir import meta
from rushlight.ir.dtype_rules import COVERED, FLOAT, result_names, rule_of
from rushlight.ir.edge_ops import BackendOpOverload, EdgeOpOverload
from rushlight.ir.edge_schema import takes_tensor
from rushlight.ir.errors import VerificationError
from rushlight.ir.sym_ops import ALWAYS_ATEN, is_sym_op

ATEN, EDGE = "ATEN", "EDGE"

# Operators that are not in the Core ATen set of torch, but that decompositions keep and runtimes support.
_ALSO_CORE = frozenset(
    {
        torch.ops.aten.mkldnn_rnn_layer.default,
        torch.ops.aten._upsample_bilinear2d_aa.default,
        torch.ops.aten.quantize_per_tensor.default,
        torch.ops.aten.dequantize.self,
        torch.ops.aten.max.default,
        torch.ops.aten.min.default,
        torch.ops.aten.full_like.default,
        torch.ops.aten._assert_tensor_metadata.default,
    }
)

_MEMORY_FORMAT_OPS = frozenset(
    {torch.ops.aten._to_copy.default, torch.ops.aten.clone.default, torch.ops.aten.empty.memory_format}
)


class DialectError(VerificationError, SpecViolationError):
    """A graph violates the rules of its dialect."""


@dataclass(frozen=True)
class Options:
    """The options of the verifier.

    Attributes:
        exceptions: operators outside the dialect that are accepted.
        preserve: operators that the user asked not to decompose.
        dim_order: whether layout arguments are dim orders instead of memory formats.
        core_only: whether only Core ATen operators are accepted, instead of all ATen operators.
        dtypes: whether edge operators are accepted only with dtypes that the table of dtypes contains.
    """

    dim_order: bool = True
    exceptions: frozenset[object] = frozenset()
    preserve: frozenset[object] = frozenset()
    core_only: bool = True
    dtypes: bool = True


@dataclass(frozen=True)
class Rule:
    """A rule: its text, the dialects to which it applies, and a check that returns an error text or None."""

    number: int
    text: str
    dialects: frozenset[str]
    check: Callable[[Node, Options], str | None]


@dataclass(frozen=True)
class Violation:
    """A node that violates a rule. `detail` is the error text."""

    rule: Rule
    node: Node
    detail: str

    def __str__(self) -> str:
        lines = [
            self.detail,
            f"    node {self.node.name}: {_target_text(self.node)}{_dtypes_text(self.node)}",
        ]
        source = meta.source_of(self.node)
        if source is not None:
            lines.append(f"    at {source}: {source.code}" if source.code else f"    at {source}")
        return "\n".join(lines)


def _target_text(node: Node) -> str:
    return str(getattr(node.target, "__name__", node.target)) if node.op == "call_function" else node.op


def _dtypes_text(node: Node) -> str:
    vals = [meta.get_tensor(used) for used in node.all_input_nodes]
    dtypes = [str(val.dtype).removeprefix("torch.") for val in vals if val is not None]
    return f" on ({', '.join(dtypes)})" if dtypes else ""


def _known_kind(node: Node, options: Options) -> str | None:
    if node.op in ("placeholder", "get_attr", "call_function", "output"):
        return None
    return f"a graph must not contain a {node.op} node"


def _known_target(node: Node, options: Options) -> str | None:
    target = node.target
    if node.op != "call_function" or isinstance(target, (OpOverload, EdgeOpOverload, HigherOrderOperator)):
        return None
    if target is operator.getitem or is_sym_op(target) or callable(target):
        return None
    return f"{target!r} cannot be called"


def _has_value(node: Node, options: Options) -> str | None:
    if node.op != "call_function" or not node.users or meta.has_val(node):
        return None
    return "its result has no value metadata"


def _is_functional(node: Node, options: Options) -> str | None:
    op = _operator(node)
    if op is None or op in ALWAYS_ATEN:
        return None
    if op._schema.is_mutable:
        return "it writes its arguments, but programs of this dialect must be functional"
    return None


def _is_core(node: Node, options: Options) -> str | None:
    op = _operator(node)
    if op is None or node.target in options.exceptions:
        return None
    return not_core(op, options)


def not_core(op: OpOverload, options: Options) -> str | None:
    """Returns why the ATen dialect rejects an operator; None if it accepts the operator."""
    if op.namespace != "aten" or op in ALWAYS_ATEN or op in _ALSO_CORE or op in options.exceptions:
        return None
    if op in options.preserve:
        return f"Cannot preserve operator {op} because it is a view." if op.is_view else None
    if not options.core_only:
        return None
    if torch.Tag.core in op.tags or torch.Tag.view_copy in op.tags:
        return None
    return (
        f"Operator torch.ops.{op} is not in Core ATen opset. If the backend or a kernel of yours runs it, "
        f"let it through: EdgeCompileConfig(_core_aten_ops_exception_list=[torch.ops.{op}])"
    )


def _is_edge(node: Node, options: Options) -> str | None:
    return not_edge(node.target, options)


def not_edge(target: object, options: Options) -> str | None:
    """Returns why a target is not an edge operator; None for an edge operator or another target."""
    if not isinstance(target, OpOverload) or target in ALWAYS_ATEN or target in options.exceptions:
        return None
    return f"Operator torch.ops.{target} is not an Edge operator"


def _layout_argument_is_valid(node: Node, options: Options) -> str | None:
    op = _operator(node)
    if op is None or isinstance(node.target, BackendOpOverload):
        return None
    # A clone without a memory format keeps the dim order.
    if op is torch.ops.aten.clone.default and node.kwargs.get("memory_format") is None:
        return None
    return wrong_layout_name(op, options)


def wrong_layout_name(op: OpOverload, options: Options) -> str | None:
    """Returns why the layout argument of an operator is invalid; None if it is valid or absent."""
    if options.dim_order and op in _MEMORY_FORMAT_OPS and op not in options.exceptions:
        return "it has a memory format argument, but the dialect names layouts by dim order"
    if not options.dim_order and op.namespace == "dim_order_ops":
        return "it has a dim order argument, but the compile options disable dim order operators"
    return None


def _has_tensor_arguments(node: Node, options: Options) -> str | None:
    target = node.target
    if not isinstance(target, EdgeOpOverload):
        return None
    for argument, value in zip(target._op._schema.arguments, node.args, strict=False):
        if isinstance(value, (bool, int, float)) and isinstance(argument.type, torch.TensorType):
            return f"its argument {argument.name} is the number {value}, but the schema requires a tensor"
    return None


def _dtypes_agree(node: Node, options: Options) -> str | None:
    target = node.target
    if not options.dtypes or not isinstance(target, EdgeOpOverload) or rule_of(target._op._schema) is None:
        return None
    if _has_mixed_list(node) and not stands_for_executorch():
        return None  # the table supports one dtype in a list; torch and the kernels check this call
    found = list(tensor_dtypes(node, target._op))
    if any(dtype is not None and _is_checked_by_kernels(target, name, dtype) for name, dtype in found):
        return None
    return _dtype_error(target, tuple(found))


def _has_mixed_list(node: Node) -> bool:
    """Returns whether an argument is a list of tensors of different dtypes, which `cat` can promote."""
    for value in node.args:
        if isinstance(value, (list, tuple)):
            tensors = [meta.get_tensor(item) for item in value if isinstance(item, Node)]
            if len({tensor.dtype for tensor in tensors if tensor is not None}) > 1:
                return True
    return False


def _is_checked_by_kernels(target: EdgeOpOverload, name: str, dtype: torch.dtype) -> bool:
    """Returns whether torch and the kernels check the dtype of an argument, instead of the table.

    This is the case for dtypes that the table does not contain. Unless `install_as_executorch()` was called,
    it is also the case if the dtype is never valid in the table but many other dtypes are, because Rushlight
    has kernels for more dtypes than ExecuTorch. This excludes indices, masks and floating-point arguments.
    """
    if dtype not in COVERED:
        return True
    allowed = target._schema.dtype_constraint[name]
    return dtype not in allowed and len(allowed) > len(FLOAT) and not stands_for_executorch()


@cache
def _dtype_error(target: EdgeOpOverload, dtypes: tuple[tuple[str, torch.dtype | None], ...]) -> str | None:
    constraint = target._schema.dtype_constraint
    if constraint.validate(dict(dtypes)):
        return None
    for name, dtype in dtypes:
        if dtype is not None and dtype not in constraint[name]:
            if name.startswith("__ret_"):
                return f"its result is {dtype}"
            return f"its argument {name} is {dtype}, which it does not support: convert it with .to()"
    given = ", ".join(f"{name} {dtype}" for name, dtype in dtypes if not name.startswith("__ret_"))
    results = [str(dtype) for name, dtype in dtypes if name.startswith("__ret_")]
    return (
        f"it does not support {given} together with the result {', '.join(results)}: convert one with .to()"
    )


def stands_for_executorch() -> bool:
    """Returns whether `install_as_executorch()` was called. Its import hook has a marker for this."""
    return any(getattr(finder, "stands_for_executorch", False) for finder in sys.meta_path)


def tensor_dtypes(node: Node, op: OpOverload) -> Iterator[tuple[str, torch.dtype | None]]:
    """Yields (name, dtype) for each tensor argument and result of a call. The dtype of an empty list is None.

    Arguments that the call omits and results without a tensor are skipped.
    """
    for index, argument in enumerate(op._schema.arguments):
        if takes_tensor(argument.type):
            value = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
            yield from _dtype_of(argument.name, value)
    val = meta.get_val(node)
    results = val if isinstance(val, (list, tuple)) and len(op._schema.returns) > 1 else [val]
    for name, result in zip(result_names(op._schema), results, strict=False):
        yield from _dtype_of(name, result)


def _dtype_of(name: str, value: object) -> Iterator[tuple[str, torch.dtype | None]]:
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    tensors = [meta.get_tensor(item) if isinstance(item, Node) else item for item in listed]
    dtypes = [item.dtype for item in tensors if isinstance(item, torch.Tensor)]
    # The dtype of a list is the dtype of its first tensor.
    if dtypes or (isinstance(value, (list, tuple)) and not value):
        yield name, dtypes[0] if dtypes else None


def _operator(node: Node) -> OpOverload | None:
    target = node.target
    if isinstance(target, EdgeOpOverload):
        return target._op
    return target if isinstance(target, OpOverload) else None


_BOTH = frozenset({ATEN, EDGE})

RULES: tuple[Rule, ...] = (
    Rule(1, "nodes are inputs, attributes, calls and one output", _BOTH, _known_kind),
    Rule(2, "targets of calls are operators, symbolic arithmetic or functions", _BOTH, _known_target),
    Rule(3, "results have value metadata", _BOTH, _has_value),
    Rule(4, "operators are functional", _BOTH, _is_functional),
    Rule(5, "ATen operators belong to the Core ATen set", _BOTH, _is_core),
    Rule(6, "operators are edge operators", frozenset({EDGE}), _is_edge),
    Rule(
        7,
        "layout arguments are all dim orders or all memory formats",
        frozenset({EDGE}),
        _layout_argument_is_valid,
    ),
    Rule(8, "tensor arguments are tensors", frozenset({EDGE}), _has_tensor_arguments),
    Rule(9, "dtypes follow the operator's row of the dtype table", frozenset({EDGE}), _dtypes_agree),
)


def violations(graph_module: GraphModule, dialect: str, options: Options | None = None) -> list[Violation]:
    """Returns all rule violations in the graph and in the bodies of its control flow operators."""
    options = options or Options()
    rules = [rule for rule in RULES if dialect in rule.dialects]
    found = []
    for module in _modules(graph_module):
        for node in module.graph.nodes:
            for rule in rules:
                detail = rule.check(node, options)
                if detail is not None:
                    found.append(Violation(rule, node, detail))
                    break
    return found


def verify(graph_module: GraphModule, dialect: str, options: Options | None = None) -> None:
    """Raises DialectError with all violations if the graph violates a rule."""
    found = violations(graph_module, dialect, options)
    if found:
        raise DialectError("\n".join(map(str, found)))


def _modules(graph_module: GraphModule) -> Iterator[GraphModule]:
    yield graph_module
    for child in graph_module.children():
        if type(child).__name__ != "LoweredBackendModule" and isinstance(child, GraphModule):
            yield from _modules(child)


def edge_verifier(
    options: Options | None = None, enabled: bool = True, extra_attributes: Iterable[type] = ()
) -> type[Verifier]:
    """Makes the verifier class of edge programs for `ExportedProgram`."""
    chosen = options or Options()
    attribute_types = tuple(extra_attributes)

    class EdgeVerifier(Verifier):
        dialect = EDGE

        @staticmethod
        def accepting(ops: Iterable[object]) -> type[Verifier]:
            more = replace(chosen, exceptions=frozenset([*chosen.exceptions, *ops]))
            return edge_verifier(more, enabled, attribute_types)

        def __call__(self, program_or_module: Any) -> None:
            module = getattr(program_or_module, "graph_module", program_or_module)
            self._check_graph_module(module)

        def is_valid(self, graph_module: GraphModule) -> bool:
            return not enabled or not violations(graph_module, EDGE, chosen)

        def allowed_getattr_types(self) -> tuple[type, ...]:
            return (torch.fx.GraphModule, torch.nn.Module, torch.Tensor, torch.ScriptObject, *attribute_types)

        def allowed_op_types(self) -> tuple[type, ...]:
            return (*super().allowed_op_types(), EdgeOpOverload, type(_known_kind))

        def check_valid_op(self, op: object) -> None:
            """Does nothing, because operators are checked together with their nodes."""

        def check_additional(self, gm: GraphModule) -> None:
            if enabled:
                verify(gm, EDGE, chosen)

    return EdgeVerifier


def accepting(verifier: type[Verifier], ops: Iterable[object]) -> type[Verifier]:
    """Returns a verifier of edge programs that also accepts `ops`, which are outside of Core ATen.

    A verifier that was not made by `edge_verifier` is returned unchanged.
    """
    make: Callable[[Iterable[object]], type[Verifier]] | None = getattr(verifier, "accepting", None)
    return verifier if make is None else make(ops)
