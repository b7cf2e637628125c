"""The interface by which a backend says which nodes it takes."""

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
    """The backend that a part goes to, and its options."""

    backend_id: str
    compile_specs: list[CompileSpec]


@dataclass
class PartitionResult:
    """The program whose nodes carry delegation tags, and what each tag stands for."""

    tagged_exported_program: ExportedProgram
    partition_tags: dict[str, DelegationSpec]


class Partitioner(ABC):
    """Tags the nodes of an edge program that go to a backend.

    A tag (`node.meta["delegation_tag"]`) names one part, which becomes one lowered module; parts must not
    depend on each other in a circle. Constants whose users are all in one part may carry its tag and then
    belong to the delegate. Graphs inside control flow are tagged in the same way. Nothing but tags may be
    changed.
    """

    decomposes_leftovers = False
    """Whether operators that it asks to keep whole, and then does not take, decompose after all: all of their
    kind in that method, in a second pass. Otherwise they are an error."""

    def __init__(self, spec: Mapping[str | int | float | bool, object] = MappingProxyType({})) -> None:
        self._spec = spec

    def __call__(self, exported_program: ExportedProgram) -> PartitionResult:
        return self.partition(exported_program)

    @property
    def spec(self) -> Mapping[str | int | float | bool, object]:
        return self._spec

    @abstractmethod
    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes of a program in edge dialect."""

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[torch.fx.Node], bool] | None]:
        """Operators that to_edge_transform_and_lower keeps whole for this backend.

        The second item, if any, is asked for each node of these operators; False lets it be decomposed after
        all.
        """
        return [], None

    def transform_for_pre_decomposition(self, exported_program: ExportedProgram) -> ExportedProgram:
        """Called by to_edge_transform_and_lower before decomposition; returns the ATen program to go on
        with."""
        return exported_program
