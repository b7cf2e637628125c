"""Evaluates operators on fake tensors. Results are cached by metadata and constants."""

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
    """Returns (dtype, shape, strides, device, layout): all metadata that affects the results of operators."""
    shape = tuple(_size_key(size) for size in tensor.shape)
    strides = tuple(_size_key(size) for size in tensor.stride())
    return tensor.dtype, shape, strides, tensor.device, tensor.layout


def _size_key(size: int | torch.SymInt) -> object:
    return ("sym", size.node.expr) if isinstance(size, torch.SymInt) else size


def constant_key(value: object) -> object:
    """Returns a hashable key for a non-tensor argument. The keys of 1, 1.0 and True differ."""
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
    """Returns the distinct tensor nodes in the arguments, and a key of their metadata and the constants."""
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
    """Replaces each tensor node in the arguments by a new fake tensor. The fake mode must be active.

    Returns:
        The new fake tensors, the positional arguments and the keyword arguments.
    """
    fakes = {node: _fresh(get_val(node)) for node in nodes}

    # New lists are made, because some decompositions change their list arguments.
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
    """Runs operators on fake tensors without new guards on the symbols of the program.

    When an operator compares symbolic sizes, torch adds a guard with the result for the example sizes. The
    exported program must not have these guards: they would reduce the ranges of its symbols and reject valid
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
        """Makes an evaluator with the fake mode of a graph."""
        return cls(fake_mode_of(owner))

    def value(
        self, op: Callable[..., Any], args: Sequence[Argument], kwargs: Mapping[str, Argument] | None = None
    ) -> Any:
        """Returns the result of `op` on the values of nodes and constants."""
        kwargs = kwargs or {}
        nodes, key = signature_of(op, args, kwargs)
        if key not in self._known:
            with torch.no_grad(), enable_python_dispatcher(), no_new_guards(self.fake_mode), self.fake_mode:
                _, fake_args, fake_kwargs = fresh_arguments(nodes, args, kwargs)
                self._known[key] = op(*fake_args, **fake_kwargs)
        return self._known[key]

    def dense(self, val: object) -> Any:
        """Returns a row-major tensor with the shape and dtype of `val`. Other values stay unchanged."""
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
        """Returns the fake tensor for a constant tensor."""
        key = ("like", tensor_key(tensor))
        if key not in self._known:
            with torch.no_grad(), self.fake_mode:
                self._known[key] = _fresh(tensor)
        found: torch.Tensor = self._known[key]
        return found


def complete_values(module: GraphModule) -> bool:
    """Sets the value metadata of calls without a value, such as calls that a pass of the user added.

    A node stays without a value if one of its arguments has no value.

    Args:
        module: the graph module. Bodies of control flow operators are not visited.

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
    """Returns the fake mode of the values in a graph; a new fake mode if the graph has no fake tensor."""
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
