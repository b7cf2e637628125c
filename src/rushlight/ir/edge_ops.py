"""The `ops` namespace: edge and backend operators. Each of them wraps a registered torch operator.

`ops.edge.aten.add.Tensor` is the edge operator for `torch.ops.aten.add.Tensor`. It can be called in eager
mode. Only one object exists for each operator, so that operators can be compared with `is`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias, TypeGuard, TypeVar

import torch
from torch._C import DispatchKey
from torch._ops import OpOverload, OpOverloadPacket
from torch.fx import Node

from rushlight.ir import dim_order_ops as _dim_order_ops  # noqa: F401  (defines its operators)
from rushlight.ir import out_variants
from rushlight.ir.edge_schema import EdgeSchema

Function = TypeVar("Function", bound=Callable[..., object])


class EdgeOpOverload:
    """An operator of the edge dialect: a torch overload with dtype rules in its schema."""

    # The text of a graph shows this module name for operators, for compatibility with ExecuTorch.
    graph_module_name: ClassVar[str] = "executorch.exir.dialects.edge._ops"
    dialect: ClassVar[str] = "edge"

    def __init__(self, op: OpOverload) -> None:
        self._op = op
        self.__name__ = f"{op.namespace}.{op.__name__}"
        self.__module__ = self.graph_module_name

    @property
    def _schema(self) -> EdgeSchema:
        schema: EdgeSchema | None = self.__dict__.get("_edge_schema")
        if schema is None:
            schema = self.__dict__["_edge_schema"] = EdgeSchema(self._op._schema)
        return schema

    def to_out_variant(self) -> OpOverload:
        """Returns the out variant, which writes results into given tensors.

        Raises:
            MissingOutVariantError: the operator has no out variant.
        """
        return out_variants.out_variant(self._op).op

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Calls the torch operator in eager mode."""
        return self._op(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_op":
            raise AttributeError(name)
        return getattr(self._op, name)

    def __repr__(self) -> str:
        return f"<EdgeOpOverload: {self.__name__}>: schema = {self._op._schema}"

    def __deepcopy__(self, memo: Mapping[int, object]) -> EdgeOpOverload:
        return self

    def __copy__(self) -> EdgeOpOverload:
        return self

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str, str, str]]:
        name = self._op._schema.name.split("::")[1]
        return _lookup, (self.dialect, self._op.namespace, name, self._op._overloadname)


_BACKEND_KERNELS = (
    DispatchKey.Meta,
    DispatchKey.CompositeExplicitAutograd,
    DispatchKey.CompositeImplicitAutograd,
)


class BackendOpOverload(EdgeOpOverload):
    """An operator of the backend dialect, by which a pass may replace edge operators."""

    graph_module_name = "executorch.exir.dialects.backend._ops"
    dialect = "backend"

    def __init__(self, op: OpOverload) -> None:
        if not any(op.has_kernel_for_dispatch_key(key) for key in _BACKEND_KERNELS):
            raise AssertionError(
                f"the backend operator {op.name()} has no kernel: register one for Meta, or define the "
                "operator with bind_pattern_to_op"
            )
        super().__init__(op)
        self._equivalent_callable: Callable[..., object] | None = None


Overload: TypeAlias = OpOverload | EdgeOpOverload
"""An operator that a node may call: a torch overload, or an operator of the edge or backend dialect."""


class EdgeOpOverloadPacket:
    """All overloads of one operator name in a dialect."""

    _overload_class: ClassVar[type[EdgeOpOverload]] = EdgeOpOverload

    def __init__(self, packet: OpOverloadPacket) -> None:
        self._packet = packet
        self._qualified_op_name = packet._qualified_op_name
        self.__name__ = self._qualified_op_name.replace("::", ".")
        self._dir: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            op = getattr(self._packet, name)
        except AttributeError:
            raise AttributeError(f"operator {self.__name__} has no overload named {name!r}") from None
        if not isinstance(op, OpOverload):
            return op
        overload = self._overload_class(op)
        self.__dict__[name] = overload
        self._dir.append(name)
        return overload

    def overloads(self) -> list[str]:
        """Returns the names of the overloads."""
        return list(self._packet.overloads())

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Calls the torch operator in eager mode."""
        return self._packet(*args, **kwargs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def __str__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__}(op='{self.__name__}', parent_op='{self._packet}')>"


class BackendOpOverloadPacket(EdgeOpOverloadPacket):
    """All overloads of an operator of a backend library."""

    _overload_class = BackendOpOverload


class OpNamespace:
    """`ops.<dialect>.<library>`."""

    def __init__(self, dialect: str, name: str) -> None:
        if dialect == "backend" and name not in BACKEND_LIBRARIES:
            raise RuntimeError(
                f"{name} op library does not belong to backend ops: bind_pattern_to_op registers a library"
            )
        self._dialect = dialect
        self._name = name
        self._dir: list[str] = []

    def __getattr__(self, name: str) -> EdgeOpOverloadPacket:
        packet = getattr(getattr(torch.ops, self._name), name, None)
        if not isinstance(packet, OpOverloadPacket):
            raise AttributeError(f"no operator {self._name}::{name} is registered with torch")
        packet_class = BackendOpOverloadPacket if self._dialect == "backend" else EdgeOpOverloadPacket
        result = packet_class(packet)
        self.__dict__[name] = result
        self._dir.append(name)
        return result

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)


class DialectNamespace:
    """`ops.<dialect>`."""

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._dir: list[str] = []

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = OpNamespace(self._dialect, name)
        self.__dict__[name] = namespace
        self._dir.append(name)
        return namespace


class _Ops:
    """`ops`, with the dialects `edge` and `backend`."""

    def __init__(self) -> None:
        self.edge = DialectNamespace("edge")
        self.backend = DialectNamespace("backend")


# The libraries of backend operators, which only passes insert. `bind_pattern_to_op` adds libraries. The last
# library contains operators that tests of users define.
BACKEND_LIBRARIES: set[str] = {
    "executorch_prim",
    "quantized_decomposed",
    "rushlight",
    "DO_NOT_USE_TEST_ONLY",
}

ops = _Ops()

_EDGE_OF: dict[OpOverload, EdgeOpOverload] = {}


def _lookup(dialect: str, namespace: str, name: str, overload: str) -> EdgeOpOverload:
    result = getattr(getattr(getattr(getattr(ops, dialect), namespace), name), overload)
    assert isinstance(result, EdgeOpOverload)
    return result


def to_edge_op(op: OpOverload) -> EdgeOpOverload:
    """Returns the edge operator that wraps a torch overload."""
    edge = _EDGE_OF.get(op)
    if edge is None:
        name = op._schema.name.split("::")[1]
        edge = _EDGE_OF[op] = _lookup("edge", op.namespace, name, op._overloadname)
    return edge


def to_backend_op(op: OpOverload) -> BackendOpOverload | None:
    """Returns the backend operator that wraps a torch overload; None if no such operator has been created."""
    namespace = ops.backend.__dict__.get(op.namespace)
    packet = namespace.__dict__.get(op._schema.name.split("::")[1]) if namespace is not None else None
    overload = packet.__dict__.get(op._overloadname) if packet is not None else None
    return overload if isinstance(overload, BackendOpOverload) else None


def aten_op(target: object) -> OpOverload | None:
    """Returns the torch overload of the target of a node; None if the target is not an operator."""
    if isinstance(target, OpOverload):
        return target
    if isinstance(target, EdgeOpOverload):
        return target._op
    return None


def is_op(node: object, *ops: object) -> TypeGuard[Node]:
    """Returns whether a value is a node that calls one of the given torch overloads, in any dialect."""
    return isinstance(node, Node) and node.op == "call_function" and aten_op(node.target) in ops


def argument(node: Node, index: int, default: object = None) -> Any:
    """Returns an argument of a call, which may be positional, a keyword argument or a default.

    Args:
        node: a call of an operator.
        index: the position of the argument in the schema of the operator.
        default: the result if the call omits the argument; None means the default of the schema.
    """
    if index < len(node.args):
        return node.args[index]
    op = aten_op(node.target)
    if op is None or index >= len(op._schema.arguments):
        return default
    declared = op._schema.arguments[index]
    if declared.name in node.kwargs:
        return node.kwargs[declared.name]
    return declared.default_value if declared.has_default_value() and default is None else default


def bind_pattern_to_op(library: torch.library.Library, schema_or_name: str) -> Callable[[Function], Function]:
    """Registers the decorated function as the implementation of a backend operator of `library`.

    The function becomes the composite kernel of the operator, unless a kernel for meta tensors exists.

    Args:
        library: the library of the operator.
        schema_or_name: a new schema (`"fused.default(Tensor a) -> Tensor"`), or the name of an operator.

    Returns:
        A decorator.
    """

    def bind(function: Function) -> Function:
        BACKEND_LIBRARIES.add(library.ns)
        text = schema_or_name.split("::")[-1]
        qualified = text.split("(")[0].strip()
        if "(" in text:
            library.define(text)
        name, _, overload = qualified.partition(".")
        packet = getattr(getattr(torch.ops, library.ns), name)
        op = getattr(packet, overload or "default")
        keys = (
            torch._C.DispatchKey.CompositeExplicitAutograd,
            torch._C.DispatchKey.CompositeImplicitAutograd,
            torch._C.DispatchKey.Meta,
        )
        if not any(op.has_kernel_for_dispatch_key(key) for key in keys):
            library.impl(qualified, function, "CompositeImplicitAutograd")
        backend_op = getattr(getattr(getattr(ops.backend, library.ns), name), overload or "default")
        backend_op._equivalent_callable = function
        return function

    return bind
