"""Builds graphs for tests of memory planning by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node

from rushlight.ir import memory_ops, meta
from rushlight.ir.out_variants import written_arguments
from rushlight.ir.spec import TensorSpec


class GraphBuilder:
    """Builds a graph of out variants. The spec of every tensor is float32 unless a dtype is given."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.root = torch.nn.Module()

    def _describe(
        self, node: Node, shape: Sequence[int], dtype: torch.dtype, spec: TensorSpec | None
    ) -> Node:
        meta.set_spec(node, spec or TensorSpec(dtype, shape))
        meta.set_val(node, torch.empty(tuple(shape), dtype=dtype, device="meta"))
        return node

    def input(self, name: str, shape: Sequence[int], dtype: torch.dtype = torch.float32) -> Node:
        return self._describe(self.graph.placeholder(name), shape, dtype, None)

    def call(
        self,
        op: Any,
        *args: Any,
        shape: Sequence[int] | Sequence[Sequence[int]],
        dtype: torch.dtype = torch.float32,
    ) -> Node:
        """Adds a call of an out variant. Several shapes make several outs."""
        outs = [argument.name for argument in written_arguments(op._schema)]
        shapes: list[Any] = [shape] if len(outs) == 1 else list(shape)
        allocations = {
            out: self._describe(
                self.graph.call_function(memory_ops.alloc, (((tuple(s)), dtype),)), s, dtype, None
            )
            for out, s in zip(outs, shapes, strict=True)
        }
        node = self.graph.call_function(op, args, allocations)  # type: ignore[arg-type]
        specs = [meta.get_spec(allocation) for allocation in allocations.values()]
        vals = [meta.get_val(allocation) for allocation in allocations.values()]
        meta.set_spec(node, specs[0] if len(specs) == 1 else specs)
        meta.set_val(node, vals[0] if len(vals) == 1 else vals)
        return node

    def relu(self, x: Node) -> Node:
        return self.call(torch.ops.aten.relu.out, x, shape=meta.get_spec(x).shape)

    def mm(self, x: Node, y: Node) -> Node:
        shape = (meta.get_spec(x).shape[0], meta.get_spec(y).shape[1])
        return self.call(torch.ops.aten.mm.out, x, y, shape=shape)

    def view(self, x: Node, shape: Sequence[int]) -> Node:
        node = self.graph.call_function(memory_ops.view, (x, list(shape)))
        return self._describe(node, shape, meta.get_spec(x).dtype, None)

    def control_flow(
        self,
        op: Any,
        bodies: Sequence[GraphModule],
        *args: Any,
        shapes: Sequence[Sequence[int]],
        lead: Any = (),
    ) -> Node:
        """Adds a control-flow node with the arguments `lead`, the bodies and further arguments."""
        names = []
        for body in bodies:
            name = f"body_{len(list(self.root.children()))}"
            self.root.add_module(name, body)
            names.append(self.graph.get_attr(name))
        node = self.graph.call_function(op, (*lead, *names, *args))
        meta.set_spec(node, [TensorSpec(torch.float32, shape) for shape in shapes])
        meta.set_val(node, [torch.empty(tuple(shape), device="meta") for shape in shapes])
        return node

    def item(self, x: Node, index: int) -> Node:
        import operator

        node = self.graph.call_function(operator.getitem, (x, index))
        meta.set_spec(node, meta.get_spec(x)[index])
        meta.set_val(node, meta.get_val(x)[index])
        return node

    def output(self, *nodes: Node) -> GraphModule:
        self.graph.output(tuple(nodes))
        return GraphModule(self.root, self.graph)


@pytest.fixture
def builder() -> type[GraphBuilder]:
    return GraphBuilder


def storage_of(node: Node) -> tuple[int | None, int | None]:
    spec = meta.get_spec(node)
    return spec.mem_id, spec.mem_offset


@pytest.fixture
def place() -> Any:
    return storage_of


@pytest.fixture
def signature() -> Any:
    """Returns the export signature of a graph.

    Its first outputs are the new values of `buffers`, in order.
    """

    def make(
        graph: GraphModule, buffers: Any = (), read_buffers: Any = (), parameters: Any = ()
    ) -> ExportGraphSignature:
        inputs, outputs = [], []
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                kind, target = InputKind.USER_INPUT, None
                if node.name in (*buffers, *read_buffers):
                    kind, target = InputKind.BUFFER, f"qualified.{node.name}"
                elif node.name in parameters:
                    kind, target = InputKind.PARAMETER, f"qualified.{node.name}"
                inputs.append(
                    InputSpec(kind, TensorArgument(node.name), target, kind is InputKind.BUFFER or None)
                )
        for index, node in enumerate(graph.graph.output_node().args[0]):  # type: ignore[arg-type]
            written = f"qualified.{buffers[index]}" if index < len(buffers) else None
            role = OutputKind.BUFFER_MUTATION if written else OutputKind.USER_OUTPUT
            outputs.append(OutputSpec(role, TensorArgument(node.name), written))
        return ExportGraphSignature(inputs, outputs)

    return make
