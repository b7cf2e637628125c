"""The interface with which a backend selects nodes."""

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
    """The backend of a part, and its options."""

    backend_id: str
    compile_specs: list[CompileSpec]


@dataclass
class PartitionResult:
    """A program with delegation tags, and the backend of each tag."""

    tagged_exported_program: ExportedProgram
    partition_tags: dict[str, DelegationSpec]


class Partitioner(ABC):
    """Tags the nodes of an edge program that go to a backend.

    A tag (`node.meta["delegation_tag"]`) names one part, which becomes one lowered module. Parts must not
    depend on each other in a cycle. Constants whose users are all in one part may have its tag, and then
    belong to the delegate. Graphs inside control flow are tagged in the same way. A partitioner may change
    only tags, except if `changes_graph` says otherwise.
    """

    decomposes_leftovers = False
    """Whether operators that it asks to keep whole, and then does not take, decompose after all: all of their
    kind in that method, in a second pass. Otherwise they are an error."""

    changes_graph = False
    """Whether it may change more than tags. Otherwise such a change is an error."""

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
        """Tags the nodes of an edge program."""

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[torch.fx.Node], bool] | None]:
        """Returns the operators that to_edge_transform_and_lower must not decompose for this backend.

        Returns:
            The operators, and a function or None. The function gets each node of these operators; if it
            returns False, the node is decomposed.
        """
        return [], None

    def transform_for_pre_decomposition(self, exported_program: ExportedProgram) -> ExportedProgram:
        """Transforms the ATen program before decomposition; to_edge_transform_and_lower continues with the
        result.
        """
        return exported_program
