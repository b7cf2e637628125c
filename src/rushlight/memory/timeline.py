"""Numbers the nodes of a graph and of its control flow bodies in one sequence of steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from torch.fx import GraphModule, Node

from rushlight.ir.control_flow import CONTROL_FLOW, is_control_flow


@dataclass(slots=True)
class Step:
    """A node and its steps.

    Attributes:
        node: the node.
        start, end: the first and last step. The steps of the nodes in its bodies are between them. They are
            equal if the node has no bodies.
        depth: the number of control flow nodes that contain the node.
        bodies: the bodies of a control flow node; empty for other nodes.
    """

    node: Node
    start: int
    end: int
    depth: int
    bodies: tuple[GraphModule, ...] = ()


@dataclass(slots=True)
class Timeline:
    """The steps of a program.

    Attributes:
        steps: all steps, ordered by their ends. The nodes of a body come before their control flow node.
        last: the number of steps.
    """

    steps: list[Step] = field(default_factory=list)
    last: int = 0


def bodies_of(node: Node) -> tuple[GraphModule, ...]:
    """Returns the bodies of a control flow node, in the order of their instructions."""
    return tuple(_resolve(node, node.args[index]) for index in CONTROL_FLOW[node.target])


def build_timeline(graph_module: GraphModule) -> Timeline:
    """Numbers the nodes of `graph_module` and, depth first, of its control flow bodies."""
    timeline = Timeline()
    timeline.steps.extend(_number(graph_module, timeline, 0))
    return timeline


def _number(graph_module: GraphModule, timeline: Timeline, depth: int) -> Iterator[Step]:
    for node in graph_module.graph.nodes:
        start = timeline.last
        bodies: tuple[GraphModule, ...] = ()
        if is_control_flow(node):
            bodies = bodies_of(node)
            timeline.last += 1
            for body in bodies:
                yield from _number(body, timeline, depth + 1)
        end = timeline.last
        timeline.last += 1
        yield Step(node, start, end, depth, bodies)


def _resolve(node: Node, body: object) -> GraphModule:
    """Returns the graph to which an argument of a control flow node refers."""
    if isinstance(body, Node) and body.op == "get_attr":
        owner: object = node.graph.owning_module
        for part in str(body.target).split("."):
            owner = getattr(owner, part)
        body = owner
    if not isinstance(body, GraphModule):
        raise TypeError(f"{node.name} ({node.target}) has the body {body!r}, which is not a graph")
    return body
