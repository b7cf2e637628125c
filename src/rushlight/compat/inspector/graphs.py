"""Operator graphs for tools, with the classes of `executorch.devtools.debug_format`."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta

_METADATA_KEYS = ("debug_handle", "stack_trace", "nn_module_stack")


class RESERVED_METADATA_ARG(Enum):  # noqa: N801 (the name is ExecuTorch's)
    """The keys of the metadata of nodes and graphs, and the titles of tables that tools store there."""

    DEBUG_HANDLE = "debug_handle"
    MODULE_STACK = "nn_module_stack"
    SOURCE_FN_STACK = "source_fn_stack"
    MODULE_TYPE = "module_type"
    PROFILE_START_TIME = "profile_start_time"
    PROFILE_END_TIME = "profile_end_time"
    LOAD_START_TIME = "load_start_time"
    LOAD_END_TIME = "load_end_time"
    MEMORY_USAGE = "memory_usage"
    DEBUG_ENTRY = "debug_entry"
    STACK_TRACE = "stack_trace"
    DEBUG_DATA = "debug_data"

    METRICS_KEYWORD = "metrics"
    PROFILE_SUMMARY_COLDSTART = "Coldstart"
    PROFILE_SUMMARY_AVERAGE = "Average"
    PROFILE_SUMMARY_P90 = "P90"
    PROFILE_SUMMARY_P10 = "P10"
    PROFILE_SUMMARY_MIN = "Min"
    PROFILE_SUMMARY_MAX = "Max"

    AGGREGATED_OP_TABLE = "Aggregated op stats"
    RUN_SUMMARY_INDIVIDUAL_RUNS_TABLE = "Run summary individual stats"
    RUN_SUMMARY_TABLE = "Aggregated run summary stats"
    OP_INSTANCE_SUMMARY_TABLE = "Individual op stats"

    TABLES_KEYWORD = "tables"
    KV_KEYWORD = "kv"
    MODEL_LOAD_TIME_KEY = "Model load time (ms)"


@dataclass
class Node:
    """A node of a graph.

    Attributes:
        name: the name of the node.
        inputs: the nodes whose results are inputs of this node.
        output_shapes: the shape of each result.
        metadata: debug handle, stack trace and modules.
        named_args: the names of the arguments in the schema of the operator.
    """

    name: str
    inputs: list[Node] | None = None
    output_shapes: list[list[int]] | None = None
    metadata: dict[str, Any] | None = None
    named_args: list[str] | None = None


@dataclass
class OperatorGraph:
    """A named graph. Its elements are nodes and graphs, and `metadata` describes the whole graph."""

    graph_name: str
    elements: list[Any]
    metadata: dict[str, Any] | None = None


@dataclass
class ValueNode(Node):
    """An input, an output or a constant, with its dtype and, if it is known, its value."""

    dtype: str = ""
    val: Any = None


@dataclass
class OperatorNode(Node):
    """A call of the operator `op`."""

    op: str | None = None


class FXOperatorGraph(OperatorGraph):
    """A graph of torch.fx, divided into inputs, operators and outputs."""

    @staticmethod
    def gen_operator_graph(
        model: torch.fx.GraphModule,
        skip_stack_trace: bool | None = False,
        enable_module_hierarchy: bool = False,
    ) -> FXOperatorGraph:
        """Makes the graph of a graph module.

        Args:
            model: a graph module in the ATen, Edge or ExecuTorch dialect.
            skip_stack_trace: leave out the stack traces.
            enable_module_hierarchy: group the operators by the module that called them.

        Raises:
            ValueError: a node calls a module or a method.
        """
        return _Builder(not skip_stack_trace, enable_module_hierarchy).build(model)


class _Builder:
    def __init__(self, has_stack_traces: bool, has_modules: bool) -> None:
        self._kept = [key for key in _METADATA_KEYS if key != "stack_trace" or has_stack_traces]
        self._has_modules = has_modules
        self._nodes: dict[torch.fx.Node, Node] = {}
        self._constants = 0

    def build(self, model: torch.fx.GraphModule) -> FXOperatorGraph:
        inputs: list[Any] = []
        outputs: list[Any] = []
        inside: list[Any] = []
        modules: dict[tuple[str, str], list[Any]] = {}
        for node in model.graph.nodes:
            if node.target is memory_ops.alloc:
                continue
            if node.target is operator.getitem:
                self._nodes[node] = self._nodes[node.args[0]]
                continue
            made, constants = self._make(node)
            self._nodes[node] = made
            if node.op in ("placeholder", "output"):
                (inputs if node.op == "placeholder" else outputs).append(made)
                continue
            module = _module_of(meta.get_all(node)) if self._has_modules else None
            group = inside if module is None else modules.setdefault(module, [])
            group.extend((*constants, made))
        graphs = [
            OperatorGraph(name, nodes, {"module_type": kind}) for (name, kind), nodes in modules.items()
        ]
        return FXOperatorGraph(
            "base",
            [
                FXOperatorGraph("inputs", inputs),
                FXOperatorGraph("forward", [*inside, *graphs]),
                FXOperatorGraph("outputs", outputs),
            ],
        )

    def _make(self, node: torch.fx.Node) -> tuple[Node, list[ValueNode]]:
        """Returns the new node, and new nodes for its arguments that are constants."""
        if node.op not in ("placeholder", "get_attr", "output", "call_function"):
            raise ValueError(f"an operator graph cannot contain {node.op} of {node.target} ({node.name})")
        name = node.name + "_"  # Viewers would merge nodes whose names end with a number.
        data = meta.get_all(node)
        tensors = [value for value in _values(data.get("val")) if isinstance(value, torch.Tensor)]
        shapes = [list(tensor.shape) for tensor in tensors] or None
        metadata = {key: data[key] for key in self._kept if key in data}
        if node.op != "call_function":
            inputs = [self._nodes[found] for found in node.all_input_nodes if found in self._nodes]
            dtype = str([tensor.dtype for tensor in tensors]) if tensors else ""
            return ValueNode(name, inputs or None, shapes, metadata, dtype=dtype), []
        schema = getattr(node.target, "_schema", None)
        named = [] if schema is None else [argument.name for argument in schema.arguments]
        constants: list[ValueNode] = []
        arguments: list[Node] = []
        for place, argument in enumerate(node.args):
            title = named[place] if place < len(named) else "CONST"
            for value in _arguments(argument):
                if isinstance(value, torch.fx.Node):
                    if value in self._nodes:
                        arguments.append(self._nodes[value])
                else:
                    made = ValueNode(f"{title}_{self._constants}", val=value)
                    self._constants += 1
                    constants.append(made)
                    arguments.append(made)
        operator_name = str(getattr(node.target, "__name__", node.target))
        return OperatorNode(name, arguments, shapes, metadata, named, operator_name), constants


def _arguments(argument: object) -> Iterator[object]:
    """Yields the nodes in an argument. An argument without nodes is yielded as one value."""
    if argument is None:
        return
    leaves = pytree.tree_leaves(argument)
    if any(isinstance(leaf, torch.fx.Node) for leaf in leaves):
        yield from (leaf for leaf in leaves if leaf is not None)
    else:
        yield argument if isinstance(argument, (list, tuple)) else str(argument)


def _values(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _module_of(data: Mapping[str, Any]) -> tuple[str, str] | None:
    """Returns the name and the class of the module that called an operator, or None."""
    stack = data.get("source_fn_stack")
    if not stack or "nn_module_stack" not in data:
        return None
    name, kind = stack[-1]
    return str(name), kind if isinstance(kind, str) else str(kind.__name__)
