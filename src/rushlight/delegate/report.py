"""Reports which nodes run on backends, and why the other nodes do not."""

from __future__ import annotations

import logging
import operator
from collections import Counter
from collections.abc import Mapping

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.operator_support import OperatorSupportBase

from rushlight.delegate.lowered import LoweredBackendModule, get_lowered_submodules
from rushlight.ir import meta
from rushlight.ir.control_flow import is_delegate_call
from rushlight.ir.text_table import text_table


def _operator(node: Node) -> str:
    target = getattr(node.target, "_op", node.target)
    return (
        str(getattr(target, "__name__", target))
        if not isinstance(target, torch._ops.OpOverload)
        else str(target)
    )


class WhyNoPartition:
    """Logs why a node is not delegated: `why(node, reason)`.

    Args:
        logger: the logger, which gets the messages at level DEBUG.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self.logger = logger
        self.node: Node | None = None
        self.reason = ""

    def __call__(self, node: Node, reason: str) -> None:
        """Logs the reason for a node."""
        self.node = node
        self.reason = reason
        self.logger.debug("%s", self)

    def __str__(self) -> str:
        return f"WhyNoPartition: Node {self.node} was not partitioned because {self.reason}."


class WhyNoPartitionReporter:
    """Collects the first reason for each node that is not delegated."""

    def __init__(self) -> None:
        self._reasons: dict[Node, str] = {}

    def report_reject(self, node: Node, reason: str) -> None:
        """Stores the reason for a node, unless the node already has one."""
        self._reasons.setdefault(node, reason)

    @property
    def reasons(self) -> Mapping[Node, str]:
        """The reasons by node."""
        return self._reasons

    def get_table_report(self) -> str:
        """Returns a table with name, operator, source line and reason of each node."""
        rows = [
            (node.name, _operator(node), str(meta.source_of(node) or "-"), reason)
            for node, reason in self._reasons.items()
            if node.op not in ("placeholder", "output")
        ]
        return text_table(("node", "operator", "source", "reason"), rows) if rows else "No nodes rejected."

    def wrap_check(self, operator_support: OperatorSupportBase, message: str) -> OperatorSupportBase:
        """Returns a check with the same result, which also reports each rejected node.

        Args:
            operator_support: the check.
            message: the reason that is reported for each rejected node.
        """
        return ReportRejected(operator_support, self, message)


class ReportRejected(OperatorSupportBase):
    """An operator support that reports the nodes that another operator support rejects.

    Args:
        operator_support: the other operator support.
        reporter: the reporter that gets the rejected nodes.
        message: the reason that is reported for each rejected node.
    """

    def __init__(
        self, operator_support: OperatorSupportBase, reporter: WhyNoPartitionReporter, message: str
    ) -> None:
        self.operator_support = operator_support
        self.reporter = reporter
        self.message = message

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """Returns the result of the other operator support."""
        is_supported = self.operator_support.is_node_supported(submodules, node)
        if not is_supported:
            self.reporter.report_reject(node, self.message)
        return is_supported


def get_delegates(graph: Graph) -> list[Node]:
    """Returns the get_attr nodes of the graph's lowered modules."""
    return [node for node in graph.nodes if node.op == "get_attr" and node.name.startswith("lowered_module_")]


def get_non_lowered_nodes(graph: Graph) -> list[Node]:
    """Returns the nodes that run on kernels."""
    return [
        node
        for node in graph.nodes
        if node.op == "call_function"
        and not is_delegate_call(node)
        and not (
            node.target is operator.getitem
            and isinstance(node.args[0], Node)
            and is_delegate_call(node.args[0])
        )
    ]


def get_delegated_payload(graph_module: GraphModule) -> dict[str, tuple[str, list[object], bytes]]:
    """Returns (backend name, compile specs, payload) of every lowered module, by the name of the module."""
    return {
        name: (module.backend_id, list(module.compile_specs), module.processed_bytes)
        for name, module, _ in get_lowered_submodules(graph_module)
    }


def format_delegated_graph(graph_module: GraphModule) -> str:
    """Returns the graph as text, with the original graph of every lowered module below its name."""
    lines = ["graph():"]
    for node in graph_module.graph.nodes:
        lines.append(f"  {node.format_node()}")
        module = getattr(graph_module, str(node.target), None) if node.op == "get_attr" else None
        if isinstance(module, LoweredBackendModule):
            lines += [f"    backend_id: {module.backend_id}", "    lowered graph():"]
            lines += [f"      {inner.format_node()}" for inner in module.original_module.graph.nodes]
    return "\n".join(lines) + "\n"


def print_delegated_graph(graph_module: GraphModule) -> None:
    """Prints the result of `format_delegated_graph`."""
    print(format_delegated_graph(graph_module))


def delegationtable(graph_module: GraphModule, reasons: Mapping[Node, str] | None = None) -> str:
    """Returns a table of the operators of each lowered module, and of the nodes that run on kernels.

    The rows of a lowered module contain its operators and their counts. The row of a node on kernels contains
    its source line and the reason why it is not delegated.

    Args:
        graph_module: the graph after delegation.
        reasons: the reasons why nodes are not delegated, or None.
    """
    rows: list[tuple[str, str, str, str]] = []
    for name, module, _ in get_lowered_submodules(graph_module):
        nodes = [
            n
            for n in module.original_module.graph.nodes
            if n.op == "call_function" and n.target is not operator.getitem
        ]
        for op, count in Counter(_operator(node) for node in nodes).most_common():
            rows.append((f"{name} ({module.backend_id})", op, str(count), ""))
    by_name = {node.name: reason for node, reason in (reasons or {}).items()}
    for node in get_non_lowered_nodes(graph_module.graph):
        if node.target is not operator.getitem:
            rows.append(
                ("kernels", _operator(node), str(meta.source_of(node) or "-"), by_name.get(node.name, ""))
            )
    return text_table(("where", "operator", "count or source", "reason"), rows) if rows else "no operators"
