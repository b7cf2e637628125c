"""Evaluates operators on fake tensors, once for each distinct combination of metadata and constants."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import Argument

from rushlight.ir.edge_ops import aten_op
from rushlight.ir.meta import VAL, get_val, has_val, set_val
from rushlight.ir.spec import contiguous_strides

if TYPE_CHECKING:
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

TensorKey = tuple[object, ...]


def tensor_key(tensor: torch.Tensor) -> TensorKey:
    """(dtype, shape, strides, device, layout): all properties that results depend on, except the values."""
    shape = tuple(_size_key(size) for size in tensor.shape)
    strides = tuple(_size_key(size) for size in tensor.stride())
    return tensor.dtype, shape, strides, tensor.device, tensor.layout


def _size_key(size: int | torch.SymInt) -> object:
    return ("sym", size.node.expr) if isinstance(size, torch.SymInt) else size


def constant_key(value: object) -> object:
    """A hashable key for a non-tensor argument; the keys of 1, 1.0 and True differ."""
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(constant_key(item) for item in value))
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return ("sym", value.node.expr)
    if isinstance(value, float):
        return (float, repr(value))
    return (type(value), value)


def signature_of(
    op: object, args: Sequence[Argument], kwargs: Mapping[str, Argument]
) -> tuple[list[Node], object]:
    """The distinct tensor nodes among the arguments, and a key of their metadata and the constants."""
    positions: dict[Node, int] = {}

    def key_of(item: object) -> object:
        if isinstance(item, Node):
            val = get_val(item)
            if not isinstance(val, torch.Tensor):
                return constant_key(val)
            return ("tensor", positions.setdefault(item, len(positions)), tensor_key(val))
        if isinstance(item, (list, tuple)):
            return (type(item).__name__, *(key_of(part) for part in item))
        return constant_key(item)

    key = (op, key_of(tuple(args)), tuple((name, key_of(value)) for name, value in kwargs.items()))
    return list(positions), key


def fresh_arguments(
    nodes: list[Node], args: Sequence[Argument], kwargs: Mapping[str, Argument]
) -> tuple[list[torch.Tensor], tuple[object, ...], dict[str, object]]:
    """Returns arguments with a new fake tensor in place of each tensor node; call this in the fake mode."""
    fakes = {node: _fresh(get_val(node)) for node in nodes}

    # Plain containers, because some decompositions write into their list arguments.
    def convert(item: object) -> object:
        if isinstance(item, Node):
            return fakes[item] if item in fakes else get_val(item)
        if isinstance(item, list):
            return [convert(part) for part in item]
        return tuple(convert(part) for part in item) if isinstance(item, tuple) else item

    new_kwargs = {name: convert(value) for name, value in kwargs.items()}
    return list(fakes.values()), tuple(convert(item) for item in args), new_kwargs


def _fresh(val: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(val.shape, val.stride(), dtype=val.dtype, device=val.device)


def no_new_guards(fake_mode: FakeTensorMode) -> AbstractContextManager[None]:
    """Lets operators run on fake tensors without an effect on the symbols of the program.

    Where an operator compares symbolic sizes, torch adds a guard with the result for the example sizes. The
    exported program does not need these guards: they would narrow the ranges of its symbols and refuse legal
    inputs.
    """
    return nullcontext() if fake_mode.shape_env is None else fake_mode.shape_env.suppress_guards()


class Evaluator:
    """Computes the `val` metadata of nodes; results are cached by metadata and constants."""

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self.fake_mode = fake_mode
        self._known: dict[object, Any] = {}

    @classmethod
    def of(cls, owner: Graph | GraphModule) -> Evaluator:
        """An evaluator in the fake mode of a graph's metadata."""
        return cls(fake_mode_of(owner))

    def value(
        self, op: Callable[..., Any], args: Sequence[Argument], kwargs: Mapping[str, Argument] | None = None
    ) -> Any:
        """The result of `op` on the values of nodes and constants."""
        kwargs = kwargs or {}
        nodes, key = signature_of(op, args, kwargs)
        if key not in self._known:
            with torch.no_grad(), enable_python_dispatcher(), no_new_guards(self.fake_mode), self.fake_mode:
                _, fake_args, fake_kwargs = fresh_arguments(nodes, args, kwargs)
                self._known[key] = op(*fake_args, **fake_kwargs)
        return self._known[key]

    def dense(self, val: object) -> Any:
        """A row-major tensor of the shape and dtype of `val`; other values are returned unchanged."""
        if not isinstance(val, torch.Tensor):
            return val
        static = all(type(size) is int for size in val.shape)
        if static and val.stride() == contiguous_strides(val.shape):
            return val
        key = ("dense", tensor_key(val))
        if key not in self._known:
            with torch.no_grad(), no_new_guards(self.fake_mode), self.fake_mode:
                self._known[key] = torch.empty(val.shape, dtype=val.dtype, device=val.device)
        return self._known[key]

    def like(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake tensor for a constant tensor."""
        key = ("like", tensor_key(tensor))
        if key not in self._known:
            with torch.no_grad(), self.fake_mode:
                self._known[key] = _fresh(tensor)
        found: torch.Tensor = self._known[key]
        return found


def complete_values(module: GraphModule) -> bool:
    """Sets the value metadata of calls that have none, such as calls that a user's pass added.

    A node stays without a value if one of its arguments has no value.

    Args:
        module: a graph module, whose nodes get values; bodies of control flow are not visited.

    Returns:
        Whether at least one node got a value.
    """
    missing = [node for node in module.graph.nodes if _lacks_value(node)]
    evaluator = Evaluator.of(module) if missing else None
    changed = False
    for node in missing:
        if evaluator is not None and all(map(has_val, node.all_input_nodes)):
            set_val(node, evaluator.value(node.target, node.args, node.kwargs))
            changed = True
    return changed


def _lacks_value(node: Node) -> bool:
    called = node.op == "call_function" and not has_val(node)
    return called and (aten_op(node.target) is not None or node.target is operator.getitem)


def fake_mode_of(owner: Graph | GraphModule) -> FakeTensorMode:
    """The fake mode of the graph's values; a new fake mode if the graph has no fake tensor."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    for tensor in _fake_tensors(owner):
        return tensor.fake_mode
    return FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)


def _fake_tensors(owner: Graph | GraphModule) -> Iterator[FakeTensor]:
    from torch._subclasses.fake_tensor import FakeTensor

    graph = owner.graph if isinstance(owner, GraphModule) else owner
    for node in graph.nodes:
        val = node.meta.get(VAL)
        for item in val if isinstance(val, (list, tuple)) else (val,):
            if isinstance(item, FakeTensor):
                yield item
