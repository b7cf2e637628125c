"""The state of lowering a partition: the steps emitted so far, and the tensor of each node."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.options import Options
from rushlight.backends.cpu.plan.aliases import Aliases
from rushlight.backends.cpu.plan.int8 import GroupedWeight
from rushlight.backends.cpu.plan.node import Chain, ChainInstruction, Convolution, PlanNode
from rushlight.backends.cpu.plan.operation import Operation
from rushlight.backends.cpu.plan.sizes import Size, Symbols, same
from rushlight.backends.cpu.plan.tables import BinaryFunction, Convert, Copy, UnaryFunction
from rushlight.backends.cpu.plan.tensor import (
    FLOAT16_TYPES,
    Storage,
    Tensor,
    constant,
    contiguous_strides,
    strides_in_order,
)
from rushlight.ir import meta

MAX_OPERANDS = 8  # the maximum number of inputs of an elementwise chain
MAX_INSTRUCTIONS = 24  # the maximum number of operators of an elementwise chain
# A chain is merged into the chain of another node only if this node can still add these numbers of operands
# and instructions.
_MORE_OPERANDS = 2
_MORE_INSTRUCTIONS = 4


class Lowering:
    """The state of lowering a partition: the steps emitted so far, and the tensor of each lowered node.

    The function that lowers a node reads the tensors of its arguments (`tensor`), makes a tensor for the
    result (`new_tensor`), adds a step that computes the result (`emit`), and records the result
    (`set_tensor`):

        out = lowering.new_tensor(lowering.sizes(node))
        lowering.emit(Copy(input=lowering.tensor(node.args[0]), output=out), node)
        lowering.set_tensor(node, out)

    Args:
        options: the options of the partition.
        constants: the values of the constants that steps or outputs read.

    Attributes:
        steps: the steps emitted so far, in execution order.
        symbols: the symbols of sizes, with their bounds.
        aliases: the memory accesses of the steps and nodes.
    """

    def __init__(self, options: Options, constants: Mapping[Node, torch.Tensor]) -> None:
        self.options = options
        self.constants = constants
        self.symbols = Symbols()
        self.steps: list[PlanNode] = []
        self.new_states: dict[Storage, Node] = {}
        """For each storage of a state: the node with the value of the state after a call."""
        self.aliases = Aliases()
        self._tensors: dict[Node, Tensor | tuple[Tensor, ...]] = {}
        self._constant_tensors: dict[Node, Tensor] = {}
        self.embedding_tables: dict[object, Tensor] = {}
        """The tables of embeddings, by node, in the dtype in which they are stored."""

    def set_tensor(self, node: Node, tensor: Tensor) -> None:
        """Records the tensor that holds the result of a node."""
        self._tensors[node] = tensor
        self.aliases.set_views(node, [tensor])

    def set_tensors(self, node: Node, tensors: Sequence[Tensor]) -> None:
        """Records the tensors that hold the results of an operator with several results, in order."""
        self._tensors[node] = tuple(tensors)
        self.aliases.set_views(node, tensors)

    def tensors(self, node: Node) -> tuple[Tensor, ...]:
        """Returns the tensors that `set_tensors` recorded for a node."""
        found = self._tensors[node]
        assert isinstance(found, tuple)
        return found

    def tensor(self, node: Any) -> Tensor:
        """Returns the tensor of an argument: a node that is lowered already, a constant, or a number.

        A number becomes a constant of one element.
        """
        if isinstance(node, (int, float)):
            return constant(torch.tensor(float(node)))
        if node in self.constants:
            if node not in self._constant_tensors:
                self._constant_tensors[node] = constant(self.constants[node])
            return self._constant_tensors[node]
        found = self._tensors[node]
        assert isinstance(found, Tensor)
        return found

    def stored_dtype(self, weight: torch.Tensor) -> torch.dtype:
        """Returns the dtype in which a float weight is stored."""
        return weight.dtype if weight.dtype in FLOAT16_TYPES else self.options.weights or torch.float32

    def constant_value(self, node: object) -> torch.Tensor | None:
        """Returns the value of a constant argument; None for any other argument."""
        if isinstance(node, (int, float)):
            return torch.tensor(float(node))
        return self.constants.get(node) if isinstance(node, Node) else None

    def grouped_weight(self, node: object) -> GroupedWeight | None:
        """Returns the int8 or int4 matrix that a node dequantizes; None if it dequantizes no such matrix."""
        return None

    def sizes(self, node: Node) -> tuple[Size, ...]:
        """Returns the sizes of a node's tensor."""
        fake = meta.get_tensor(node)
        assert fake is not None
        return tuple(self.symbols.register(size) for size in fake.shape)

    def new_tensor(
        self, sizes: Iterable[Size], order: Sequence[int] | None = None, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        """Returns a dense tensor in a storage of its own, which no step writes yet.

        Args:
            sizes: the sizes of the tensor.
            order: the dimensions in memory order, outermost first. The default is row-major.
            dtype: the dtype of the elements.
        """
        sizes = tuple(sizes)
        strides = contiguous_strides(sizes) if order is None else strides_in_order(sizes, order)
        storage = Storage(1, dtype)
        for size in sizes:
            storage.numel = storage.numel * size
        return Tensor(storage, sizes, strides)

    def new_image(self, sizes: Iterable[Size], dtype: torch.dtype = torch.float32) -> Tensor:
        """Returns a new tensor [n, c, h, w] in channels-last memory; see `new_tensor`."""
        return self.new_tensor(sizes, (0, 2, 3, 1), dtype)

    def emit(self, operation: Operation[Tensor], node: Node | None, nodes: Iterable[Node] = ()) -> None:
        """Adds a step that computes `node` and other nodes.

        Args:
            operation: the operation of the step.
            node: the node; None if the step computes no node of its own.
            nodes: the other nodes that the step computes, because their steps were fused into it.
        """
        self.append_step(PlanNode(operation, list(nodes)), node)

    def append_step(self, step: PlanNode, node: Node | None) -> None:
        """Adds a step, and records that it computes `node`."""
        if node is not None and node not in step.nodes:
            step.nodes.append(node)
        self.steps.append(step)
        self.aliases.add(step)

    def emit_copy(self, source: Tensor, target: Tensor, node: Node | None) -> None:
        """Adds a step that copies a tensor to another tensor of the same shape."""
        self.emit(Copy(input=source, output=target), node)

    def upcast_float16(self, tensor: Tensor, node: Node) -> Tensor:
        """Returns a float16 or bfloat16 tensor converted to float32, in which plans compute.

        A tensor of another dtype is returned unchanged.
        """
        if tensor.dtype not in FLOAT16_TYPES:
            return tensor
        result = replace(tensor, storage=Storage(tensor.storage.numel, torch.float32))
        self.emit(Convert(input=tensor, output=result), node)
        return result

    def contiguous(self, tensor: Tensor, node: Node) -> Tensor:
        """Returns the tensor in row-major memory, copied if necessary."""
        if tensor.is_contiguous():
            return tensor
        result = self.new_tensor(tensor.sizes, dtype=tensor.dtype)
        self.emit_copy(tensor, result, node)
        return result

    def reshape(self, tensor: Tensor, sizes: Sequence[Size], node: Node) -> Tensor:
        """Returns the tensor with other sizes: a view if the strides allow it, otherwise a view of a copy.

        The copy keeps the memory order of the tensor as far as the view allows.

        Args:
            tensor: the tensor.
            sizes: the new sizes, with the same number of elements.
            node: the node for which the copy is emitted.
        """
        view = tensor.view(sizes)
        if view is None:
            copied = self.new_tensor(tensor.sizes, tensor.order_for(sizes), tensor.dtype)
            self.emit_copy(tensor, copied, node)
            view = copied.view(sizes)
        assert view is not None
        return view

    def with_innermost(self, tensor: Tensor, axis: int, node: Node) -> Tensor:
        """Returns the tensor with the elements along dimension `axis` adjacent, copied if necessary."""
        axis %= tensor.rank
        if same(tensor.strides[axis], 1) or same(tensor.sizes[axis], 1):
            return tensor
        order = [*(i for i in range(tensor.rank) if i != axis), axis]
        result = self.new_tensor(tensor.sizes, order, tensor.dtype)
        self.emit_copy(tensor, result, node)
        return result

    def remove_step(self, step: PlanNode) -> None:
        """Removes a step, because another step computes its result or its result is not needed."""
        self.steps.remove(step)
        self.aliases.remove(step)

    def sole_writer(self, source: object, user: Node, allows_views: bool = False) -> PlanNode | None:
        """Returns the step that may be fused into the computation of `user`; see `Aliases.sole_writer`."""
        return self.aliases.sole_writer(source, user, allows_views) if isinstance(source, Node) else None

    def append_fused(self, step: PlanNode, source: Node, node: Node) -> None:
        """Appends a step again after `node` was fused into it; its output becomes the tensor of `node`.

        The step moves to the end, because it now also reads the other arguments of `node`, which later steps
        may compute. For example, relu(conv(x)) is one step, which runs where relu would run.

        Args:
            step: the changed step.
            source: the node whose tensor the step computed before.
            node: the fused node.
        """
        self.remove_step(step)
        self.append_step(step, node)
        tensor = self.tensor(source)
        self.set_tensor(node, tensor)

    def convolution_of(self, source: object, user: Node) -> tuple[PlanNode, Convolution] | None:
        """Returns the convolution whose result only `user` reads, if it has no function in its epilogue."""
        step = self.sole_writer(source, user)
        convolution = None if step is None else step.of(Convolution)
        if step is None or convolution is None or convolution.has_function:
            return None
        return step, convolution


def has_channels_last(tensor: Tensor) -> bool:
    """Returns whether a tensor is a batch of images or volumes in channels-last memory."""
    return tensor.rank in (4, 5) and same(tensor.strides[1], 1) and not same(tensor.sizes[1], 1)


def _preference(tensor: Tensor) -> tuple[bool, bool]:
    """Returns a sort key for operands: first channels-last images, then operands with unit inner stride."""
    return not has_channels_last(tensor), not (tensor.rank and same(tensor.strides[-1], 1))


_MIN_TRANSPOSED = 4096  # elements; smaller tensors fit the first level cache and are not copied


def order_of(lowering: Lowering, tensor: Tensor) -> list[int]:
    """Returns the dimensions of a tensor in memory order, outermost first."""
    uppers = [
        (-math.inf if same(size, 1) else -lowering.symbols.upper(stride), axis)
        for axis, (size, stride) in enumerate(zip(tensor.sizes, tensor.strides, strict=True))
    ]
    return [axis for _, axis in sorted(uppers)]


def result_order(lowering: Lowering, operands: Iterable[Tensor]) -> list[int] | None:
    """Returns the memory order for the result of an elementwise step, outermost first, or None for row-major.

    It is the order of one of the operands that are not broadcast: preferably of a channels-last image,
    otherwise of an operand whose last dimension is innermost. Other steps read these layouts without a copy.

    Args:
        operands: the operands, expanded to the sizes of the result.
    """
    for tensor in sorted(operands, key=_preference):
        is_broadcast = any(
            same(stride, 0) and not same(size, 1)
            for size, stride in zip(tensor.sizes, tensor.strides, strict=True)
        )
        if not tensor.is_constant and not is_broadcast:
            return order_of(lowering, tensor)
    return None


def in_order(lowering: Lowering, tensor: Tensor, order: Sequence[int] | None) -> Tensor:
    """Copies an operand to the memory order of the result if an elementwise step would read it slowly.

    The step would read only one element of each cache line at a time; a copy reads whole blocks.
    """
    sizes, strides = tensor.sizes, tensor.strides
    real = [axis for axis in order or range(tensor.rank) if not same(sizes[axis], 1)]
    upper = math.prod(lowering.symbols.upper(sizes[axis]) for axis in real)
    if (
        tensor.is_constant
        or upper < _MIN_TRANSPOSED
        or any(same(strides[axis], 0) for axis in real)
        or same(strides[real[-1]], 1)
        or not any(same(strides[axis], 1) for axis in real)
    ):
        return tensor
    copied = lowering.new_tensor(sizes, order, tensor.dtype)
    lowering.emit_copy(tensor, copied, None)
    return copied


class ChainBuilder:
    """Builds a chain of elementwise operators.

    Args:
        lowering: the steps emitted so far.
        node: the node that the chain computes.
        sizes: the sizes of the output.
    """

    def __init__(self, lowering: Lowering, node: Node, sizes: tuple[Size, ...]) -> None:
        self._lowering = lowering
        self._node = node
        self._sizes = sizes
        self.operands: list[Tensor] = []
        self.code: list[ChainInstruction] = []
        self._nodes: list[Node] = []
        self._absorbed: dict[Storage, int] = {}
        """For each storage that a merged chain would write: the source number of its result."""

    def take(self, source: object) -> int:
        """Returns the source number of an operand.

        If a chain computes the operand and only this node reads it, that chain is merged into this one.
        """
        lowering = self._lowering
        tensor = lowering.tensor(source)
        if tensor.storage in self._absorbed:
            return self._absorbed[tensor.storage]
        step = lowering.sole_writer(source, self._node, allows_views=True)
        chain = None if step is None else step.of(Chain)
        if (
            step is not None
            and chain is not None
            and chain.output.has_layout_of(tensor)
            and tensor.rank == len(self._sizes)
            and all(same(a, b) for a, b in zip(tensor.sizes, self._sizes, strict=True))
            and len(self.operands) + len(chain.inputs) + _MORE_OPERANDS <= MAX_OPERANDS
            and len(self.code) + len(chain.code) + _MORE_INSTRUCTIONS <= MAX_INSTRUCTIONS
        ):
            lowering.remove_step(step)
            self._nodes += step.nodes
            self._absorbed[tensor.storage] = result = self._merge(chain)
            return result
        return self.operand(tensor)

    def _merge(self, other: Chain) -> int:
        """Appends the instructions of another chain, and returns the source number of its result."""
        operands = [self.operand(operand) for operand in other.inputs]
        # The other chain counts its results from -1 on; here they follow the results so far.
        earlier = len(self.code)
        for instruction in other.code:
            sources = (operands[s] if s >= 0 else s - earlier for s in instruction.sources)
            self.code.append(replace(instruction, sources=tuple(sources)))
        return -len(self.code)

    def operand(self, tensor: Tensor) -> int:
        """Returns the source number of a tensor, which is broadcast to the chain's sizes."""
        expanded = tensor.expand(self._sizes)
        if expanded in self.operands:
            return self.operands.index(expanded)
        self.operands.append(expanded)
        return len(self.operands) - 1

    def add(
        self, function: UnaryFunction | BinaryFunction, *sources: int, p: float = 0.0, q: float = 0.0
    ) -> int:
        """Appends an instruction.

        Args:
            function: the elementwise function.
            sources: source numbers of operands (0 or more), or of earlier results (-1 is the first result).
            p: the first parameter of the function.
            q: the second parameter of the function.

        Returns:
            The source number of the result.
        """
        self.code.append(ChainInstruction(function, sources, p, q))
        return -len(self.code)

    def finish(self) -> None:
        """Emits the chain.

        The output has the memory order that `result_order` chooses.
        """
        lowering, node = self._lowering, self._node
        order = result_order(lowering, self.operands)
        out = lowering.new_tensor(self._sizes, order)
        inputs = [in_order(lowering, operand, order) for operand in self.operands]
        lowering.emit(Chain(inputs=inputs, output=out, code=self.code), node, self._nodes)
        lowering.set_tensor(node, out)
