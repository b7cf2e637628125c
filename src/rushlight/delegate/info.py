"""Counts the delegated and the non-delegated nodes of each operator."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch.fx import GraphModule, Node

from rushlight.delegate.lowered import get_lowered_submodules
from rushlight.ir.text_table import grid_table

if TYPE_CHECKING:
    from pandas import DataFrame

_COLUMNS = ("op_type", "occurrences_in_delegated_graphs", "occurrences_in_non_delegated_graphs")
_CALL = "executorch_call_delegate"


@dataclass
class DelegationBreakdown:
    """The numbers of nodes of one operator inside and outside of lowered modules."""

    op_type: str = ""
    delegated: int = 0
    non_delegated: int = 0


@dataclass
class DelegationInfo:
    """Counts of a graph module and its lowered modules.

    The keys of `delegation_by_operator` are node names without the numbers at their ends. A missing key has
    the counts 0.
    """

    num_delegated_subgraphs: int
    num_delegated_nodes: int
    num_non_delegated_nodes: int
    delegation_by_operator: dict[str, DelegationBreakdown]

    def get_summary(self) -> str:
        """Returns the counts as three lines of text."""
        return (
            f"Total delegated subgraphs: {self.num_delegated_subgraphs}\n"
            f"Number of delegated nodes: {self.num_delegated_nodes}\n"
            f"Number of non-delegated nodes: {self.num_non_delegated_nodes}\n"
        )

    def rows(self) -> list[tuple[str, int, int]]:
        """Returns rows (operator, delegated, not delegated), sorted by name; the last row is the total."""
        items = sorted(self.delegation_by_operator.values(), key=lambda item: item.op_type)
        return [
            *((item.op_type, item.delegated, item.non_delegated) for item in items),
            ("Total", self.num_delegated_nodes, self.num_non_delegated_nodes),
        ]

    def get_operator_delegation_dataframe(self) -> DataFrame:
        """Returns `rows()` as a pandas DataFrame.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas

        return pandas.DataFrame(self.rows(), columns=list(_COLUMNS))

    def table(self) -> str:
        """Returns `rows()` as a table with a frame."""
        return grid_table(_COLUMNS, self.rows())


def _operator_nodes(graph_module: GraphModule) -> Iterator[Node]:
    return (node for node in graph_module.graph.nodes if node.op == "call_function")


def get_delegation_info(graph_module: GraphModule) -> DelegationInfo:
    """Counts the operators of `graph_module` and of the modules that were lowered from it."""
    counts: defaultdict[str, DelegationBreakdown] = defaultdict(DelegationBreakdown)

    def breakdown(node: Node) -> DelegationBreakdown:
        kind = re.sub(r"_\d+$", "", node.name)
        counts[kind].op_type = kind
        return counts[kind]

    for node in _operator_nodes(graph_module):
        if not node.name.startswith(_CALL):
            breakdown(node).non_delegated += 1
    lowered = get_lowered_submodules(graph_module)
    for _, module, _ in lowered:
        for node in _operator_nodes(module.original_module.graph_module):
            breakdown(node).delegated += 1
    return DelegationInfo(
        num_delegated_subgraphs=len(lowered),
        num_delegated_nodes=sum(item.delegated for item in counts.values()),
        num_non_delegated_nodes=sum(item.non_delegated for item in counts.values()),
        delegation_by_operator=counts,
    )


def print_delegation_info(graph_module: GraphModule) -> None:
    """Prints the counts and the table of `get_delegation_info`."""
    info = get_delegation_info(graph_module)
    print(info.get_summary())
    print(info.table())
