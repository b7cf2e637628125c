"""The interface by which a backend selects the nodes that it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch.export import ExportedProgram

from rushlight.delegate.backend import CompileSpec


class DelegationSpec(NamedTuple):
    """The backend of a partition, and its options."""

    backend_id: str
    compile_specs: list[CompileSpec]


@dataclass
class PartitionResult:
    """A program with delegation tags, and the backend of each tag.

    Attributes:
        tagged_exported_program: the program whose nodes have tags.
        partition_tags: the backend and its options, by tag. Nodes whose tag is missing here are not
            delegated.
    """

    tagged_exported_program: ExportedProgram
    partition_tags: dict[str, DelegationSpec]


class Partitioner(ABC):
    """Tags the nodes of an edge program that a backend runs.

    A tag (`node.meta["delegation_tag"]`) names one partition, which becomes one lowered module. Partitions
    must not depend on each other in a cycle. A constant whose users are all in one partition may have the
    tag of the partition; the delegate then owns the constant. Graphs inside control flow are tagged in the
    same way. A partitioner may change only tags, unless `changes_graph` is True.

    Args:
        spec: options of the partitioner, which the property `spec` returns. The base class does not read
            them.
    """

    decomposes_leftovers = False
    """Whether preserved operators that were not delegated are decomposed in a second pass.

    If True, all nodes of such an operator in the method are decomposed. If False, such a node is an error.
    """

    changes_graph = False
    """Whether the partitioner may change more than tags. If False, any other change is an error."""

    def __init__(self, spec: Mapping[str | int | float | bool, object] = MappingProxyType({})) -> None:
        self._spec = spec

    def __call__(self, exported_program: ExportedProgram) -> PartitionResult:
        """Calls `partition`."""
        return self.partition(exported_program)

    @property
    def spec(self) -> Mapping[str | int | float | bool, object]:
        """The options of the partitioner."""
        return self._spec

    @abstractmethod
    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes of an edge program.

        Args:
            exported_program: the edge program of a method. The partitioner writes tags into its nodes, or
                tags and returns a copy.

        Returns:
            The tagged program, and the backend of each tag. A node without a tag is not delegated.
        """

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[torch.fx.Node], bool] | None]:
        """Returns the operators that to_edge_transform_and_lower must not decompose for this backend.

        Args:
            ep: the ATen program of a method, before decomposition.

        Returns:
            The operators, and a function or None. The function gets each node that calls one of these
            operators; if it returns False, the node is decomposed. The default is no operators and None.
        """
        return [], None

    def transform_for_pre_decomposition(self, exported_program: ExportedProgram) -> ExportedProgram:
        """Transforms the ATen program of a method before decomposition.

        Args:
            exported_program: the ATen program of a method.

        Returns:
            The program that the compiler decomposes. The default is the given program.
        """
        return exported_program

    def warn_of_decomposed_program(self) -> None:
        """Logs what is lost because `to_backend` partitions a decomposed program. The default logs nothing.

        It is called only if Rushlight stands for ExecuTorch (`rushlight.compat.install_as_executorch`).
        """
        return
