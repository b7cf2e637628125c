"""ExportPass: a pass that visits each node by a method call. Values carry their fake tensors.

A subclass overrides `call_operator`, and calls `super().call_operator` for each operator of the new graph.
These calls compute their results on fake tensors, so that the metadata of the new graph is always correct.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._higher_order_ops.executorch_call_delegate import is_lowered_module
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import Graph, GraphModule, Node, Proxy
from torch.fx.node import map_aggregate
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.ir import memory_ops
from rushlight.ir import meta as keys
from rushlight.ir.edge_ops import EdgeOpOverload, Overload, to_edge_op
from rushlight.ir.errors import PassError
from rushlight.ir.fake import fake_mode_of
from rushlight.ir.program import lazy_module

Argument = Any

PROTECTED_KEYS = frozenset({"val", "stack_trace", "nn_module_stack", "debug_handle", "tensor_meta"})

_SYM_MODULES = ("_operator", "builtins", "math")
_TORCH_SYM_OPS = frozenset(
    {
        torch.sym_int,
        torch.sym_float,
        torch.sym_ite,
        torch.sym_max,
        torch.sym_min,
        torch.sym_not,
    }
)


class ExportPassBaseError(PassError):
    """An ExportPass cannot process a graph, or a subclass tries to make an invalid graph."""


class NodeMetadata:
    """A copy of the metadata of a node. Keys that ExportPass computes cannot be set."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = dict(data)

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __setitem__(self, key: str, value: object) -> None:
        if key in PROTECTED_KEYS:
            raise RuntimeError(f"Could not override node key: {key}")
        self.data[key] = value

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def get(self, key: str, default: object = None) -> Any:
        """Returns the value of a key, or `default` if the node does not have the key."""
        return self.data.get(key, default)

    def copy(self) -> NodeMetadata:
        """Returns a copy. Changes of the copy do not change this object."""
        return NodeMetadata(self.data)


class ProxyValue:
    """A value of the new graph. `data` is its fake tensor or scalar; `node` is the node that computes it."""

    def __init__(self, data: Any, proxy: Proxy | Node) -> None:
        self.data = data
        self.proxy_or_node = proxy

    @property
    def node(self) -> Node:
        """The node of the new graph that computes the value."""
        value = self.proxy_or_node
        return value if isinstance(value, Node) else value.node

    @property
    def proxy(self) -> Proxy:
        """The value as a torch.fx Proxy."""
        value = self.proxy_or_node
        return Proxy(value) if isinstance(value, Node) else value

    def is_tensor(self) -> bool:
        """Returns whether the value is a tensor."""
        return isinstance(self.data, torch.Tensor)

    def to_tensor(self) -> torch.Tensor:
        """Returns the fake tensor of the value.

        Raises:
            ExportPassBaseError: the value is not a tensor.
        """
        if not isinstance(self.data, torch.Tensor):
            raise ExportPassBaseError(f"{self.node.name} is {type(self.data).__name__}, not a tensor")
        return self.data

    def is_symint(self) -> bool:
        """Returns whether the value is a symbolic integer."""
        return isinstance(self.data, torch.SymInt)

    def __iter__(self) -> Iterator[Any]:
        yield from self.data

    def __bool__(self) -> bool:
        self._refuse_symbols("used in a boolean context")
        return bool(self.data)

    def __int__(self) -> int:
        self._refuse_symbols("converted to int")
        return int(self.data)

    def __index__(self) -> int:
        self._refuse_symbols("used in index context")
        return int(self.data)

    def __float__(self) -> float:
        self._refuse_symbols("converted to float")
        return float(self.data)

    def _refuse_symbols(self, use: str) -> None:
        if isinstance(self.data, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise ExportPassBaseError(f"the symbolic value of {self.node.name} cannot be {use}")


class _Frame:
    """The new graph (of a program or of a control flow body), its attributes and the visited node."""

    def __init__(self, source: GraphModule) -> None:
        self.visited: Node | None = None
        self.graph = Graph()
        self.graph.set_codegen(source.graph._codegen)
        self.root = torch.nn.Module()
        self._names: dict[int, str] = {}
        self._constants = 0

    def attribute(self, value: Any) -> Node:
        """Adds a tensor or a module as an attribute, and returns a `get_attr` node for it."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = self._new_name(value)
            if isinstance(value, torch.nn.Module):
                self.root.add_module(name, value)
            elif isinstance(value, torch.nn.Parameter):
                self.root.register_parameter(name, value)
            else:
                self.root.register_buffer(name, value)
        return self.derived(self.graph.create_node("get_attr", name))

    def derived(self, node: Node) -> Node:
        """Copies the source line and the history of the visited node to a new node, and returns it."""
        if self.visited is not None:
            keys.copy_source(self.visited, node)
            if not keys.history_of(node):
                keys.add_source(node, self.visited)
        return node

    def _new_name(self, value: object) -> str:
        if isinstance(value, torch.nn.Module):
            prefix = "lowered_module" if is_lowered_module(value) else "submodule"
            return f"{prefix}_{len(self.root._modules)}"
        self._constants += 1
        return f"_tensor_constant{self._constants - 1}"


class ExportPass(PassBase):
    """Builds a new graph. It calls one method of this class for each node of the old graph."""

    def __init__(self) -> None:
        super().__init__()
        self.fake_tensor_mode: Any = None
        self.node_debug_str: str | None = None
        self._frames: list[_Frame] = []
        self._initialized = True

    @property
    def tracer(self) -> _Frame:
        """The graph under construction."""
        return self._frames[-1]

    # Methods that a subclass may override.

    def call_operator(
        self,
        op: Overload | OpOverloadPacket,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """Visits a call of an operator: a torch overload or an edge overload."""
        return self._fx("call_function", op, args, kwargs, meta)

    def call_sym(
        self, target: Callable[..., Any], args: tuple[Argument, ...], meta: NodeMetadata
    ) -> ProxyValue:
        """Visits a call of a Python function on symbolic scalars."""
        return self._fx("call_function", target, args, {}, meta)

    def call_getitem(self, value: ProxyValue, key: int, meta: NodeMetadata) -> ProxyValue:
        """Visits a node that selects one of several results of an operator."""
        return self._fx("call_function", operator.getitem, (value, key), {}, meta)

    def call_cond(
        self,
        pred: ProxyValue,
        true_fn: GraphModule,
        false_fn: GraphModule,
        inputs: Sequence[Argument],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """Visits torch.cond: rewrites both branches and adds the call to the new graph.

        Args:
            pred: the condition, a bool or a bool tensor of one element.
            true_fn: the graph module that runs if the condition holds.
            false_fn: the graph module that runs if it does not.
            inputs: the arguments of both branches.
            meta: metadata of the node.

        Returns:
            The results of the new call.
        """
        branches = [self.call_submodule(branch, tuple(inputs)).graph_module for branch in (true_fn, false_fn)]
        return self._fx(
            "call_function", torch.ops.higher_order.cond, (pred, *branches, list(inputs)), {}, meta
        )

    def call_while(
        self,
        cond_fn: GraphModule,
        body_fn: GraphModule,
        carried_inputs: Sequence[Argument],
        additional_inputs: Sequence[Argument],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """Visits torch.while_loop: rewrites condition and body, and adds the call to the new graph.

        Args:
            cond_fn: the graph module that computes whether the loop continues.
            body_fn: the graph module of one iteration; its results are the next carried inputs.
            carried_inputs: the values that an iteration replaces.
            additional_inputs: the values that all iterations share.
            meta: metadata of the node.

        Returns:
            The results of the new call.
        """
        inputs = (*carried_inputs, *additional_inputs)
        bodies = [self.call_submodule(body, inputs).graph_module for body in (cond_fn, body_fn)]
        args = (*bodies, carried_inputs, additional_inputs)
        return self._fx("call_function", torch.ops.higher_order.while_loop, args, {}, meta)

    def call_map(
        self,
        f: GraphModule,
        mapped_args: Sequence[ProxyValue],
        operands: Sequence[Argument],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """Visits torch.map: rewrites the body and adds the call to the new graph.

        Args:
            f: the graph module that runs once for each index of the first dimension.
            mapped_args: tensors; each run of the body gets one slice of each.
            operands: arguments that all runs share.
            meta: metadata of the node.

        Returns:
            The results of the new call.
        """
        body = self.call_submodule(f, self.inputs(f)).graph_module
        return self._fx(
            "call_function", torch.ops.higher_order.map_impl, (body, mapped_args, operands), {}, meta
        )

    def call_scan(
        self,
        combine_fn: GraphModule,
        init: Sequence[ProxyValue],
        xs: Sequence[Argument],
        additional_inputs: Sequence[ProxyValue],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """Visits torch.scan: rewrites the body and adds the call to the new graph.

        Args:
            combine_fn: the graph module that runs once for each index of the scanned dimension.
            init: the values carried into the first run.
            xs: tensors; each run of the body gets one slice of each.
            additional_inputs: arguments that all runs share.
            meta: metadata of the node.

        Returns:
            The results of the new call.
        """
        body = self.call_submodule(combine_fn, self.inputs(combine_fn)).graph_module
        args = (body, init, xs, additional_inputs)
        return self._fx("call_function", torch.ops.higher_order.scan, args, {}, meta)

    def call_size_operator_all(
        self, tensor_proxy: ProxyValue, meta: NodeMetadata, *, edge_dialect: bool = False
    ) -> list[ProxyValue | int]:
        """Returns the sizes of a tensor as arguments of operators, see `call_size_operator`."""
        return [
            self.call_size_operator(tensor_proxy, dim, meta, edge_dialect=edge_dialect)
            for dim in range(len(tensor_proxy.data.shape))
        ]

    def call_delegate(
        self,
        lowered_module: torch.nn.Module,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """Visits a delegate call and adds it to the new graph; the lowered module is not changed.

        Args:
            lowered_module: the lowered module.
            args: its arguments.
            kwargs: keyword arguments of the call.
            meta: metadata of the node.

        Returns:
            The results of the new call.
        """
        target = torch.ops.higher_order.executorch_call_delegate
        return self._fx("call_function", target, (lowered_module, *args), kwargs, meta)

    def placeholder(self, name: str, arg: Argument, meta: NodeMetadata) -> ProxyValue:
        """Visits an input of the graph."""
        node = self.tracer.graph.placeholder(name)
        keys.set_all(node, meta.data)
        keys.set_val(node, arg)
        return ProxyValue(arg, node)

    def output(self, results: object, meta: NodeMetadata) -> ProxyValue:
        """Visits the outputs of the graph."""
        node = self.tracer.graph.output(self._nodes(results))
        keys.set_all(node, meta.data)
        data = _data_of(results)
        keys.set_val(node, map_aggregate(data, self._fake))
        return ProxyValue(data, node)

    def on_attr(self, attr: ProxyValue) -> None:
        """Hook that runs for each constant that becomes an attribute of the new graph."""

    def should_preserve_symbolic_input_metadata(self) -> bool:
        """Returns whether inputs must keep their symbolic sizes."""
        return True

    # The methods that run the pass.

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        if not getattr(self, "_initialized", False):
            raise ExportPassBaseError("ExportPass is not initialized with __init__().")
        self.fake_tensor_mode = fake_mode_of(graph_module)
        self.fake_tensor_mode.allow_non_fake_inputs = True
        with torch.no_grad(), self.fake_tensor_mode, enable_python_dispatcher():
            return self.call_submodule(graph_module, self.inputs(graph_module))

    def inputs(self, graph_module: GraphModule) -> tuple[Argument, ...]:
        """Returns the values of the placeholders."""
        given = keys.given_arguments(graph_module)
        if given is not None:
            return given
        nodes = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        for node in nodes:
            if node.users and not keys.has_val(node):
                raise ExportPassBaseError(f"input {node.name} has no value metadata")
        return tuple(keys.find_val(node) for node in nodes)

    def call_submodule(self, graph_module: GraphModule, inputs: tuple[Argument, ...]) -> PassResult:
        """Runs the pass on a whole graph and returns the new module."""
        frame = _Frame(graph_module)
        self._frames.append(frame)
        try:
            env: dict[Node, Any] = {}
            values = iter(inputs)
            placeholders: list[tuple[Node, ProxyValue]] = []
            for node in graph_module.graph.nodes:
                self.node_debug_str = node.name
                frame.visited = node
                if node.op == "placeholder":
                    env[node] = self.placeholder(
                        str(node.target), _data_of(next(values)), NodeMetadata(node.meta)
                    )
                    placeholders.append((node, env[node]))
                else:
                    env[node] = self._visit(node, graph_module, env)
        finally:
            self._frames.pop()
        for position, (old, new) in enumerate(placeholders):
            self._keep_input(position, old, new.node)
        module = lazy_module(frame.root, frame.graph)
        keys.copy_graph_meta(graph_module, module)
        return PassResult(module, True)

    def _keep_input(self, position: int, old: Node, new: Node) -> None:
        """Copies the value of the old placeholder to the new placeholder. A pass may not change inputs."""
        before, after = keys.find_val(old), keys.find_val(new)
        if before is None:
            return
        if _symbols(before) != _symbols(after):
            if not self.should_preserve_symbolic_input_metadata():
                return
            raise ExportPassBaseError(
                f"Input at position {position} did not preserve symbolic metadata: the sizes of {old.name} "
                f"were {_symbols(before)} and are now {_symbols(after)}"
            )
        if (
            isinstance(after, torch.Tensor)
            and isinstance(before, torch.Tensor)
            and before.shape != after.shape
        ):
            raise ExportPassBaseError(f"an ExportPass cannot change the input {old.name}")
        keys.set_val(new, before)

    def _visit(self, node: Node, owner: GraphModule, env: dict[Node, Any]) -> Any:
        def load(tree: Any) -> Any:
            return map_aggregate(tree, lambda item: env[item] if isinstance(item, Node) else item)

        if node.op == "get_attr":
            return operator.attrgetter(str(node.target))(owner)
        metadata = NodeMetadata(node.meta)
        if node.op == "output":
            return self.output(load(node.args[0]), metadata)
        if node.op != "call_function":
            raise ExportPassBaseError(f"{node.op} is not supported (node {node.name})")
        return self._call(node.target, load(node.args), load(node.kwargs), metadata)

    def _call(self, target: Any, args: Any, kwargs: Any, metadata: NodeMetadata) -> Any:
        if target is operator.getitem:
            return self.call_getitem(args[0], args[1], metadata)
        if isinstance(target, (OpOverload, OpOverloadPacket, EdgeOpOverload)):
            return self.call_operator(target, args, kwargs, metadata)
        if getattr(target, "__module__", None) in _SYM_MODULES or target in _TORCH_SYM_OPS:
            return self.call_sym(target, args, metadata)
        if target in (memory_ops.alloc, memory_ops.view, memory_ops.free):
            return self._fx("call_function", target, args, kwargs, metadata)
        if not isinstance(target, HigherOrderOperator):
            raise ExportPassBaseError(f"Unsupported target type: {target}")
        higher = torch.ops.higher_order
        name = target.__name__
        if name == "executorch_call_delegate":
            return self.call_delegate(args[0], args[1:], kwargs, metadata)
        visitors: dict[Any, Callable[..., object]] = {
            higher.cond: self.call_cond,
            higher.while_loop: self.call_while,
            higher.map_impl: self.call_map,
            higher.scan: self.call_scan,
        }
        visitor = visitors.get(target)
        if visitor is not None:
            return visitor(*args, metadata)
        return self._fx("call_function", target, args, kwargs, metadata)

    def _fx(
        self, kind: str, target: Any, args: Any, kwargs: dict[str, Argument], meta: NodeMetadata
    ) -> ProxyValue:
        """Adds a node to the new graph and computes its value."""
        if kind != "call_function":
            raise ExportPassBaseError(
                f"an ExportPass cannot make a node of kind {kind}; it can make calls, inputs and outputs"
            )
        data = target(*_data_of(args), **_data_of(kwargs))
        name = target._schema.name.split("::")[1] if isinstance(target, OpOverload) else None
        node = self.tracer.graph.create_node(
            "call_function", target, self._nodes(args), self._nodes(kwargs), name=name
        )
        self.tracer.derived(node)
        keys.set_all(node, meta.data)
        keys.set_val(node, map_aggregate(data, self._fake))
        return ProxyValue(data, node)

    def _nodes(self, tree: Any) -> Any:
        return map_aggregate(tree, self._argument)

    def _argument(self, item: object) -> Any:
        if isinstance(item, ProxyValue):
            return item.node
        if isinstance(item, FakeTensor):
            item = item.constant
            if item is None:
                raise ExportPassBaseError(
                    "an argument is a fake tensor that no node of the new graph computes; pass a ProxyValue"
                )
        if isinstance(item, (torch.Tensor, torch.nn.Module)):
            node = self.tracer.attribute(item)
            if isinstance(item, torch.Tensor):
                keys.set_val(node, self._fake(item))
                self.on_attr(ProxyValue(item, node))
            return node
        if isinstance(item, torch.SymInt) and item.node.constant is not None:
            return item.node.constant
        return item

    def _fake(self, value: object) -> Any:
        if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
            return self.fake_tensor_mode.from_tensor(value, static_shapes=True)
        return value

    def call_size_operator(
        self, tensor_proxy: ProxyValue, dim: int, meta: NodeMetadata, *, edge_dialect: bool = False
    ) -> ProxyValue | int:
        """Returns the size of a dim: an int, or a new call of `sym_size.int` if the size is symbolic.

        With `edge_dialect`, the call uses the edge operator.
        """
        size: Any = tensor_proxy.to_tensor().shape[dim]
        if not isinstance(size, torch.SymInt):
            return int(size)
        op = torch.ops.aten.sym_size.int
        return self.call_operator(to_edge_op(op) if edge_dialect else op, (tensor_proxy, dim), {}, meta)


def _data_of(tree: Any) -> Any:
    return map_aggregate(tree, lambda item: item.data if isinstance(item, ProxyValue) else item)


def _symbols(value: object) -> list[str]:
    """Returns the symbolic sizes of a tensor in order, or a symbolic number itself, as text."""
    sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
    return [str(size) for size in sizes if isinstance(size, (torch.SymInt, torch.SymFloat, torch.SymBool))]


def map_args(
    op: OpOverload, fn: Callable[[Any, Any], object], args: tuple[Argument, ...], kwargs: dict[str, Argument]
) -> tuple[tuple[Argument, ...], dict[str, Argument]]:
    """Returns the arguments with each value replaced by `fn(value, schema argument)`."""
    new_args, new_kwargs = list(args), dict(kwargs)
    for index, argument in enumerate(op._schema.arguments):
        if argument.name in new_kwargs:
            new_kwargs[argument.name] = fn(new_kwargs[argument.name], argument)
        elif not argument.kwarg_only and index < len(new_args):
            new_args[index] = fn(new_args[index], argument)
    return tuple(new_args), new_kwargs
