"""A partitioner with one configuration for each operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.infra.partitioner import Partition

from rushlight.compat.canonical_partitioners import generate_grouped_partitions_from_list_of_nodes
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import CompileError


class PartitionerConfig(ABC):
    """A configuration for one operator that a backend supports.

    Attributes:
        target_name: the name of the operator without its namespace, such as `linear.default`.
    """

    target_name: str

    @abstractmethod
    def check_constraints(self, node: Node, ep: ExportedProgram) -> bool:
        """Returns whether the backend supports a call of the operator.

        Args:
            node: the call.
            ep: the program of the node.
        """

    @abstractmethod
    def get_original_aten(self) -> torch._ops.OpOverload | None:
        """Returns the operator that the compiler must not decompose for this configuration, or None."""

    @abstractmethod
    def get_partition(self, node: Node, ep: ExportedProgram) -> list[Node]:
        """Returns the nodes that are delegated together with a node, including the node.

        Args:
            node: a call of the operator.
            ep: the program of the node.

        Returns:
            The nodes; an empty list if the node is not delegated.
        """


def format_target_name(target_name: str) -> str:
    """Removes the namespace from a name: `aten.linear.default` becomes `linear.default`."""
    parts = target_name.split(".")
    return ".".join(parts[1:] if len(parts) > 2 else parts)


def _name_of(target: object) -> str:
    op = aten_op(target)
    return format_target_name(str(op) if op is not None else str(getattr(target, "__name__", target)))


class ConfigerationBasedPartitioner(Partitioner):
    """Delegates the nodes that match the configurations. The nodes of a match are in the same partition.

    Args:
        delegation_spec: the backend and its compile specs.
        partitioner_configs: at most one configuration for each operator.

    Raises:
        CompileError: two configurations are for the same operator.
    """

    def __init__(
        self, delegation_spec: DelegationSpec, partitioner_configs: Iterable[PartitionerConfig]
    ) -> None:
        super().__init__()
        self.delegation_spec = delegation_spec
        self.target_partitioner_configs: dict[str, PartitionerConfig] = {}
        for config in partitioner_configs:
            known = self.target_partitioner_configs.setdefault(config.target_name, config)
            if known is not config:
                raise CompileError(
                    f"{type(known).__name__} and {type(config).__name__} are both for {config.target_name}"
                )

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Returns the operators that must not be decomposed, and a filter for their calls."""
        kept = [config.get_original_aten() for config in self.target_partitioner_configs.values()]

        def keeps(node: Node) -> bool:
            config = self._config(node)
            return (
                config is not None
                and config.get_original_aten() is not None
                and config.check_constraints(node, ep)
            )

        return [op for op in kept if op is not None], keeps

    def _config(self, node: Node) -> PartitionerConfig | None:
        return (
            self.target_partitioner_configs.get(_name_of(node.target)) if node.op == "call_function" else None
        )

    def get_matched_nodes_from_configs(self, ep: ExportedProgram) -> list[list[Node]]:
        """Returns the groups of nodes that must be in the same partition.

        A group contains the nodes of a match, and of all matches that share a node with it. Shared
        placeholders do not count.
        """
        group_of: dict[Node, list[Node]] = {}
        for node in ep.graph.nodes:
            config = self._config(node)
            if config is None or not config.check_constraints(node, ep):
                continue
            group: list[Node] = []
            for member in config.get_partition(node, ep):
                other = group_of.get(member)
                if other is group or (other is not None and member.op == "placeholder"):
                    continue
                small, group = sorted((other or [], group), key=len)
                group.extend(small)
                group_of.update(dict.fromkeys(small, group))
                if other is None:
                    group.append(member)
                    group_of[member] = group
        return list({id(group): group for group in group_of.values()}.values())

    def generate_partitions(self, ep: ExportedProgram) -> list[Partition]:
        """Returns the smallest number of partitions that contain all groups."""
        return generate_grouped_partitions_from_list_of_nodes(
            ep.graph_module, self.get_matched_nodes_from_configs(ep)
        )

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes of the partitions."""
        tags: dict[str, DelegationSpec] = {}
        for part in self.generate_partitions(exported_program):
            tag = f"tag{part.id}"
            tags[tag] = self.delegation_spec
            for node in part.nodes:
                meta.set_delegation_tag(node, tag)
        return PartitionResult(exported_program, tags)
