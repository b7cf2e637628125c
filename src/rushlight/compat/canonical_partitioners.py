"""Partitioners that do not depend on a backend, and functions that form partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher

from rushlight.delegate.backend import CompileSpec
from rushlight.delegate.constants import tag_constant_data, tag_mutated_buffer
from rushlight.delegate.grouping import COMPUTING, form_parts
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.ir import meta


class AllNodePartitioner(Partitioner):
    """Assigns all nodes of the program's main graph to one backend, with their constants and buffers.

    Args:
        backend_id: the name of the backend.
        compile_specs: the compile specs for the backend.
    """

    def __init__(self, backend_id: str, compile_specs: list[CompileSpec]) -> None:
        super().__init__()
        self.delegation_spec = DelegationSpec(backend_id, compile_specs)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags all nodes of the main graph."""
        tag = self.delegation_spec.backend_id
        for node in exported_program.graph.nodes:
            if node.op not in ("placeholder", "output"):
                meta.set_delegation_tag(node, tag)
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, {tag: self.delegation_spec})


class _ListedNodeSupport(OperatorSupportBase):
    def __init__(self, nodes: set[Node], other: OperatorSupportBase | None) -> None:
        self.nodes = nodes
        self.other = other

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return node in self.nodes or (
            self.other is not None and self.other.is_node_supported(submodules, node)
        )


def _partitions(
    graph_module: GraphModule,
    support: OperatorSupportBase,
    groups: Sequence[Sequence[Node]] = (),
    listed: Iterable[Node] = (),
) -> list[Partition]:
    """Returns the partitions in reverse topological order, as torch's CapabilityBasedPartitioner does.

    A placeholder or attribute that is listed or supported belongs to the first partition that uses it.
    """
    submodules = dict(graph_module.named_modules())
    parts = form_parts(graph_module.graph, lambda node: support.is_node_supported(submodules, node), groups)
    part_of = {node: part for part in parts for node in part}
    wanted = set(listed)
    for node in graph_module.graph.nodes:
        if node.op not in ("placeholder", "get_attr") or node in part_of:
            continue
        using = next((part_of[user] for user in node.users if user in part_of), None)
        if using is not None and (node in wanted or support.is_node_supported(submodules, node)):
            using.append(node)
    return [Partition(id=i, nodes=part) for i, part in enumerate(reversed(parts))]


def generate_partitions_from_list_of_nodes(
    graph_module: GraphModule,
    pattern_list: Sequence[Sequence[Node]] | None = None,
    op_support: OperatorSupportBase | None = None,
) -> list[Partition]:
    """Forms the smallest number of partitions that contain all listed and all supported nodes.

    Args:
        graph_module: the graph.
        pattern_list: lists of nodes.
        op_support: selects additional nodes.

    Returns:
        The partitions.

    Raises:
        ValueError: `pattern_list` and `op_support` are None.
    """
    return _listed_partitions(graph_module, pattern_list, op_support, grouped=False)


def generate_grouped_partitions_from_list_of_nodes(
    graph_module: GraphModule,
    pattern_list: Sequence[Sequence[Node]] | None = None,
    op_support: OperatorSupportBase | None = None,
) -> list[Partition]:
    """Forms the smallest number of partitions in which the nodes of each list are together.

    Args:
        graph_module: the graph.
        pattern_list: lists of nodes.
        op_support: selects additional nodes.

    Returns:
        The partitions.

    Raises:
        ValueError: `pattern_list` and `op_support` are None.
    """
    return _listed_partitions(graph_module, pattern_list, op_support, grouped=True)


def _listed_partitions(
    graph_module: GraphModule,
    pattern_list: Sequence[Sequence[Node]] | None,
    op_support: OperatorSupportBase | None,
    grouped: bool,
) -> list[Partition]:
    if pattern_list is None and op_support is None:
        raise ValueError("pattern_list and op_support are both None: at least one is needed")
    lists = pattern_list or ()
    listed = dict.fromkeys(node for nodes in lists for node in nodes)
    groups = [[node for node in nodes if node.op in COMPUTING] for nodes in lists] if grouped else ()
    return _partitions(
        graph_module,
        _ListedNodeSupport(set(listed), op_support),
        [group for group in groups if group],
        listed,
    )


def generate_pattern_op_partitions(
    graph_module: GraphModule,
    patterns: Sequence[Graph] | None = None,
    partitions_list: Sequence[Sequence[Node]] | None = None,
    op_support: OperatorSupportBase | None = None,
    ignore_literals: bool = False,
) -> list[Partition]:
    """Forms the smallest number of partitions with all matches, listed nodes and supported nodes.

    Args:
        graph_module: the graph.
        patterns: graphs to search for.
        partitions_list: lists of nodes.
        op_support: selects additional nodes.
        ignore_literals: do not compare constants when patterns are matched.

    Returns:
        The partitions.
    """
    listed = dict.fromkeys(node for nodes in partitions_list or () for node in nodes)
    for pattern in patterns or ():
        for match in SubgraphMatcher(pattern, ignore_literals=ignore_literals).match(graph_module.graph):
            listed.update(
                (node, None)
                for inner, node in match.nodes_map.items()
                if inner.op != "placeholder" and node.op != "placeholder"
            )
    return _partitions(graph_module, _ListedNodeSupport(set(listed), op_support), listed=listed)


class GroupBasedPartitioner:
    """Proposes the smallest number of partitions in which the nodes of each group are together.

    Without groups, the partitions are those of torch's CapabilityBasedPartitioner.

    Args:
        graph_module: the graph.
        operator_support: selects the nodes.
        allows_single_node_partition: keep partitions with a single computing node.
        non_compute_ops: names of operators that do not count as computing.
        allowed_single_node_partition_ops: names of operators that may form a partition alone.
        node_groups: lists of nodes.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        node_groups: Sequence[Sequence[Node]] | None = None,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = {"torch.ops.aten.view", "_operator.getitem", *(non_compute_ops or ())}
        self.allowed_single_node_partition_ops = set(allowed_single_node_partition_ops or ())
        self.node_groups = [list(group) for group in node_groups or ()]

    def propose_partitions(self) -> list[Partition]:
        """Returns the partitions."""
        if not self.node_groups:
            without_groups = CapabilityBasedPartitioner(
                self.graph_module,
                self.operator_support,
                self.allows_single_node_partition,
                list(self.non_compute_ops),
                list(self.allowed_single_node_partition_ops),
            )
            return list(without_groups.propose_partitions())
        parts = _partitions(self.graph_module, self.operator_support, self.node_groups)
        return (
            parts if self.allows_single_node_partition else [part for part in parts if self._computes(part)]
        )

    def _computes(self, part: Partition) -> bool:
        names = [torch.fx.node._get_qualified_name(n.target) for n in part.nodes if callable(n.target)]
        if any(name in self.allowed_single_node_partition_ops for name in names):
            return True
        return sum(name not in self.non_compute_ops for name in names) > 1
