"""Finds the operators and the source lines of a model that belong to a runtime error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch.fx import GraphModule, Node

from rushlight.delegate.lowered import LoweredBackendModule
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.json_types import JsonObject
from rushlight.ir.meta import SourceLocation


class ExecutionError(Protocol):
    """The location in a runtime error. Unknown parts are None."""

    @property
    def method(self) -> str | None:
        """The name of the method."""

    @property
    def instruction(self) -> int | None:
        """The index of the instruction."""

    @property
    def delegate_operator(self) -> int | str | None:
        """The operator in a delegate, as a key of the delegate's debug handle map."""


@dataclass(frozen=True)
class LocatedOperator:
    """An operator of the model.

    Attributes:
        operator: the name of the out variant, or of an operator in a delegate.
        debug_handle: the debug handle of the operator.
        source: the line of the model's source code, or None.
        backend: the name of the backend for an operator in a delegate, or None.
    """

    operator: str
    debug_handle: int
    source: SourceLocation | None
    backend: str | None = None

    def __str__(self) -> str:
        where = f" in {self.backend}" if self.backend else ""
        return f"{self.operator}{where}, {self.source or 'source line not known'}"


def locate(
    error: ExecutionError,
    modules: Mapping[str, GraphModule],
    debug_handles: Mapping[str, Mapping[int, Any]],
    delegates: Mapping[str, Mapping[int, JsonObject]],
    nodes: Mapping[str, Mapping[int, Node]],
) -> list[LocatedOperator]:
    """Returns the operators in which an execution failed.

    Args:
        error: the exception of the runtime.
        modules: the graph modules of the methods.
        debug_handles: the `debug_handle_map` of the manager.
        delegates: the `delegate_map` of the manager.
        nodes: the nodes of the planned graphs, by method and instruction.

    Returns:
        The operators. The list is empty if the error does not name an instruction. For a delegate: the
            operators that the backend named, or all operators of the delegate.
    """
    method, instruction = error.method, error.instruction
    if method is None or instruction is None or method not in modules:
        return []
    delegate = delegates.get(method, {}).get(instruction)
    handles = debug_handles.get(method, {}).get(instruction, ())
    if delegate is not None:
        handles = (delegate["delegate_map"] or {}).get(error.delegate_operator, handles)
    wanted = {handles} if isinstance(handles, int) else set(handles)
    if delegate is None:
        node = nodes.get(method, {}).get(instruction)
        found = [
            LocatedOperator(_operator(node), handle, meta.source_of(node))
            for handle in sorted(wanted)[:1]
            if node is not None and _operator(node)
        ]
    else:
        found = [
            LocatedOperator(_operator(node), handle, meta.source_of(node), str(delegate["name"]))
            for node in _delegated_nodes(modules[method])
            for handle in sorted(wanted & _handles(node))
        ]
    return list(dict.fromkeys(found))


def _nodes(module: GraphModule) -> Iterator[Node]:
    """The operators of a graph and of the bodies of its control-flow operators."""
    yield from (node for node in module.graph.nodes if node.op == "call_function" and _operator(node))
    for child in module.children():
        if isinstance(child, GraphModule):
            yield from _nodes(child)


def _delegated_nodes(module: torch.nn.Module) -> Iterator[Node]:
    """The operators of the original graph of a lowered module."""
    for child in module.children():
        if isinstance(child, LoweredBackendModule):
            original = child.original_module.graph_module
            yield from _nodes(original)
            yield from _delegated_nodes(original)
        else:
            yield from _delegated_nodes(child)


def _handles(node: Node) -> set[int]:
    handle = meta.get_debug_handle(node)
    if handle is None:
        return set()
    return {handle} if isinstance(handle, int) else set(handle)


def _operator(node: Node) -> str:
    """The name of an operator, such as `aten.add.Tensor`, or "" for other nodes such as getitem."""
    op = aten_op(node.target)
    return "" if op is None else str(op)
