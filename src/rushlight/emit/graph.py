"""Emits the nodes of one graph as instructions.

The graph is a method or the body of a control-flow operator.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.emit.constants import tensor_bytes
from rushlight.emit.control_flow import emit_control_flow
from rushlight.emit.delegates import emit_delegate
from rushlight.emit.errors import EmitError, at_node
from rushlight.emit.kernels import emit_operator
from rushlight.emit.state import MethodState
from rushlight.emit.tensors import is_planned, make_tensor
from rushlight.emit.values import Emitted, Ref
from rushlight.format.program import FreeCall, Tensor
from rushlight.ir import memory_ops, meta
from rushlight.ir.control_flow import is_control_flow, is_delegate_call
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.spec import TensorSpec
from rushlight.ir.sym_ops import PYTHON_TO_PRIM


class GraphEmitter:
    """Emits the nodes of a graph in order.

    Args:
        state: the state of the method, which receives the instructions.
        graph_module: the graph.
        inputs: the values of the placeholders.
    """

    def __init__(self, state: MethodState, graph_module: GraphModule, inputs: Sequence[Emitted] = ()) -> None:
        self.state = state
        self.graph_module = graph_module
        self._inputs = iter(inputs)
        self.outputs: list[Emitted] = []
        self._environment: dict[Node, Any] = {}

    def run(self) -> None:
        """Emits all nodes. Raises EmitError if a node cannot be emitted. The message names the node."""
        for node in self.graph_module.graph.nodes:
            try:
                self._environment[node] = self._emit(node)
            except EmitError as error:
                if str(error).startswith(f"{node.name} ("):
                    raise
                raise at_node(node, str(error)) from error

    def lookup(self, argument: object) -> Any:
        """Returns the emitted value of a node's argument."""
        if isinstance(argument, Node):
            return self._environment[argument]
        if isinstance(argument, (list, tuple)):
            return [self.lookup(item) for item in argument]
        return argument

    def run_body(self, body: GraphModule, inputs: Sequence[Emitted]) -> list[Ref]:
        """Emits the body of a control-flow operator with the given inputs.

        Returns the values of its outputs.
        """
        inner = GraphEmitter(self.state, body, inputs)
        inner.run()
        return [self.state.values.constant(output) for output in inner.outputs]

    def placeholder(self, node: Node) -> Emitted:
        """Returns the value of an input of the graph."""
        return next(self._inputs)

    def _emit(self, node: Node) -> Any:
        if node.op == "placeholder":
            return self.placeholder(node)
        if node.op == "output":
            self.outputs = [self.lookup(leaf) for leaf in pytree.tree_leaves(node.args)]
            return None
        if node.op == "get_attr":
            return self._attribute(node)
        if node.op == "call_function":
            return self._call(node)
        raise at_node(node, f"programs have no instruction for nodes of the kind {node.op}")

    def _call(self, node: Node) -> Any:
        target = node.target
        if target is operator.getitem:
            source, index = self.lookup(node.args[0]), node.args[1]
            if not isinstance(source, list) or not isinstance(index, int):
                raise at_node(node, f"selects item {index} of a value that is not a sequence")
            return source[index]
        if target is memory_ops.alloc:
            spec = meta.get_spec(node)
            return self._results_of(node, spec)
        if target is memory_ops.view:
            return self._view(node)
        if target is memory_ops.free:
            freed = self.lookup(node.args[0])
            assert isinstance(freed, Ref)
            self.state.append(FreeCall(freed.index), node)
            return None
        if is_delegate_call(node):
            return emit_delegate(self.state, node, self.lookup(node.args[0]), self.lookup)
        if is_control_flow(node):
            return emit_control_flow(self, node)
        prim = PYTHON_TO_PRIM.get(target)
        op = aten_op(prim if prim is not None else target)
        if op is None:
            raise at_node(node, "calls a function that is not an operator")
        return emit_operator(self.state, node, op, self.lookup)

    def _results_of(self, node: Node, spec: object) -> Emitted:
        if isinstance(spec, TensorSpec):
            return self.state.values.of_spec(spec)
        if isinstance(spec, (list, tuple)):
            return [self._results_of(node, item) for item in spec]
        raise at_node(node, "the allocation has no TensorSpec")

    def _view(self, node: Node) -> Ref:
        """Emits a view as a separate tensor value. If its memory is planned, it needs no instruction."""
        base, size = self.lookup(node.args[0]), self.lookup(node.args[1])
        spec = meta.get_spec(node)
        assert isinstance(base, Ref) and isinstance(spec, TensorSpec)
        values = self.state.values
        if spec.is_static_shape_tensor:
            if is_planned(spec):
                return values.of_spec(spec)
            source = values.tensor(base)
            if source is not None and source.allocation_info is None and source.data_buffer_idx:
                tensor = make_tensor(spec, source.data_buffer_idx, planned=False)
                tensor.extra_tensor_info = source.extra_tensor_info
                return values.bind(spec, values.fresh(tensor))
        out = values.of_spec(spec)
        sizes = values.constant(size, torch.ListType(torch.IntType.get()))
        self.state.call("executorch_prim::et_view", "default", [base, sizes, out], node)
        return out

    def _attribute(self, node: Node) -> Any:
        value: object = self.graph_module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if isinstance(value, torch.Tensor):
            spec = TensorSpec.from_tensor(value, const=True)
            tensor: Tensor = make_tensor(
                spec, self.state.constants.file.add(tensor_bytes(value.contiguous()))
            )
            return self.state.values.fresh(tensor)
        if isinstance(value, torch.ScriptObject):
            raise at_node(
                node, "objects of custom classes (torch.ScriptObject) cannot be written to a program"
            )
        return value
