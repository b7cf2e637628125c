"""The partitions of a graph: their nodes, their boundaries, their programs and the results of backends."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from rushlight.delegate.lowered import LoweredBackendModule
from rushlight.delegate.partitioner import DelegationSpec


@dataclass
class Part:
    """A partition: the nodes with one tag in one graph, and the program made from these nodes.

    Attributes:
        tag: the tag.
        spec: the backend and its options.
        nodes: the nodes, in graph order.
        constants: the placeholders of constants and buffers that the partition owns.
        inputs: the other nodes outside the partition whose results it reads.
        mutations: the new values of the partition's mutable buffers, with the qualified names of the buffers.
        outputs: the nodes whose results are read outside the partition.
        program: the program of the partition.
        lowered: the result of the backend.
        name: the name of `lowered` in the module with the graph.
    """

    tag: str
    spec: DelegationSpec
    nodes: list[Node]
    constants: list[Node] = field(default_factory=list)
    inputs: list[Node] = field(default_factory=list)
    mutations: list[tuple[Node, str]] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    program: ExportedProgram | None = None
    lowered: LoweredBackendModule | None = None
    name: str = ""


@dataclass
class GraphParts:
    """One graph and its partitions.

    Attributes:
        module: the module with the graph.
        owner: the program if this is its main graph; None for a graph inside control flow.
        order: the nodes outside partitions and the tags of the partitions, in execution order.
        parts: the partitions by tag.
        tags: the tags in the order in which the results of delegate calls are numbered.
    """

    module: GraphModule
    owner: ExportedProgram | None
    order: list[Node | str]
    parts: dict[str, Part]
    tags: list[str]
