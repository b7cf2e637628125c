"""Builds graph modules operator by operator, for tests of passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx import Graph, GraphModule
from torch.fx.passes.infra.pass_base import PassResult
from torch.utils._pytree import tree_map_only

from rushlight.ir.edge_ops import Overload
from rushlight.passes.export_pass import Argument, ExportPass, NodeMetadata, ProxyValue, _Frame


class GraphBuilder(ExportPass):
    """Builds a graph module from calls: first placeholders, then operators, then outputs.

    Each operator runs on fake tensors, so that the nodes have values.

    Args:
        fake_tensor_mode: the mode of these fake tensors; None creates a mode.
    """

    def __init__(self, fake_tensor_mode: FakeTensorMode | None = None) -> None:
        super().__init__()
        self.fake_tensor_mode = fake_tensor_mode or FakeTensorMode(
            allow_fallback_kernels=False, allow_non_fake_inputs=True
        )
        graph = Graph()
        graph.output(())
        self._frames.append(_Frame(GraphModule(torch.nn.Module(), graph)))

    def placeholder(  # type: ignore[override]
        self, target: str, fake_tensor: torch.Tensor
    ) -> ProxyValue:
        """Adds an input.

        Args:
            target: the name of the input.
            fake_tensor: a tensor with the dtype and shape of the input. A real tensor is converted to a fake
                tensor.
        """
        if not isinstance(fake_tensor, FakeTensor):
            fake_tensor = self.fake_tensor_mode.from_tensor(fake_tensor)
        return super().placeholder(target, fake_tensor, NodeMetadata({}))

    def output(self, results: Sequence[ProxyValue]) -> ProxyValue:  # type: ignore[override]
        """Adds the outputs. This must be the last call."""
        return super().output(list(results), NodeMetadata({}))

    def call_operator(
        self,
        op: Any,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument] | None = None,
        meta: NodeMetadata | None = None,
    ) -> ProxyValue:
        """Adds a call of an operator.

        Args:
            op: an operator of torch or of the edge dialect.
            args: the arguments; tensors must be results of earlier calls.
            kwargs: the keyword arguments.
            meta: the metadata of the node.
        """
        return super().call_operator(op, args, kwargs or {}, meta or NodeMetadata({}))

    def call_getitem(self, value: ProxyValue, key: int, meta: NodeMetadata | None = None) -> ProxyValue:
        """Adds a getitem call that selects one of several results of an operator."""
        return super().call_getitem(value, key, meta or NodeMetadata({}))

    def call_submodule(self, graph_module: GraphModule, inputs: tuple[Argument, ...]) -> PassResult:
        """Rebuilds the body of a control-flow operator."""
        return ExportPass().call(graph_module)

    def _fx(
        self, kind: str, target: Any, args: Any, kwargs: dict[str, Argument], meta: NodeMetadata
    ) -> ProxyValue:
        with self.fake_tensor_mode, enable_python_dispatcher():
            return super()._fx(kind, target, args, kwargs, meta)

    def get_graph_module(self) -> GraphModule:
        """Returns the graph module. Placeholders are moved to the front."""
        graph = self.tracer.graph
        first = next((node for node in graph.nodes if node.op != "placeholder"), None)
        is_late = False
        for node in list(graph.nodes):
            is_late = is_late or node is first
            if is_late and node.op == "placeholder" and first is not None:
                first.prepend(node)
        return GraphModule(self.tracer.root, graph)


def single_op_builder(
    placeholders: Sequence[torch.Tensor],
    op: Overload,
    args: Sequence[Argument],
    kwargs: dict[str, Argument] | None = None,
) -> GraphModule:
    """Returns a graph module with one operator.

    Args:
        placeholders: tensors that become inputs, named `p_0`, `p_1` and so on.
        op: the operator.
        args: the arguments; tensors among them must be elements of `placeholders`.
        kwargs: the keyword arguments.
    """
    builder = GraphBuilder()
    inputs = {
        id(tensor): builder.placeholder(f"p_{index}", tensor) for index, tensor in enumerate(placeholders)
    }
    given = tree_map_only(torch.Tensor, lambda tensor: inputs[id(tensor)], (tuple(args), kwargs))
    builder.output([builder.call_operator(op, *given)])
    return builder.get_graph_module()
