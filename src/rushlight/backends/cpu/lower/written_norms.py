"""Lowers norms that a model writes as reductions and elementwise operators: each becomes one step.

These forms are found, with means and sums over one dimension:

    x / max(sqrt(sum(x * x)), epsilon)                        division by the Euclidean norm
    x * rsqrt(mean(x * x) + epsilon)                          RMS norm
    (x - mean(x)) / sqrt(mean((x - mean(x)) ** 2) + epsilon)  layer norm; also with var(x)

A factor and a summand for each element of a row become the weight and the bias of the norm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.nodes import operation, rank_of
from rushlight.backends.cpu.lower.normalizations import rows_of
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.sizes import Size, same
from rushlight.backends.cpu.plan.tables import Normalize
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten


def written_norm(lowering: Lowering, node: Node) -> bool:
    """Lowers a norm to one step.

    Args:
        lowering: the steps emitted so far, among them those of the norm.
        node: a product or a quotient, which may be the result of the norm.

    Returns:
        Whether `node` is the result of a norm.
    """
    is_quotient = operation(node) is aten.div.Tensor
    for numerator, other in (node.args[:2], node.args[1::-1])[: 1 if is_quotient else 2]:
        norm = _Norm(lowering)
        if norm.matches(numerator, other, is_quotient):
            return norm.lower(node)
    return False


def weighted_norm(lowering: Lowering, node: Node) -> bool:
    """Makes a constant factor for each element of a row the weight of the norm that computes the rows.

    Args:
        lowering: the steps emitted so far.
        node: a product.

    Returns:
        Whether `node` became the result of the norm.
    """
    for x, factor in (node.args[:2], node.args[1::-1]):
        norm, row = _norm_and_row(lowering, node, x, factor)
        if norm is not None and norm.weight is None and norm.bias is None:
            norm.weight = row
            return _replaces(lowering, node, x)
    return False


def shifted_norm(lowering: Lowering, node: Node) -> bool:
    """Makes a constant summand for each element of a row the bias of the norm that computes the rows.

    Args:
        lowering: the steps emitted so far.
        node: a sum, with alpha = 1.

    Returns:
        Whether `node` became the result of the norm.
    """
    for x, shift in (node.args[:2], node.args[1::-1]):
        norm, row = _norm_and_row(lowering, node, x, shift)
        if norm is not None and norm.bias is None:
            norm.bias = row
            return _replaces(lowering, node, x)
    return False


def _norm_and_row(
    lowering: Lowering, node: Node, x: object, item: object
) -> tuple[Normalize[Tensor] | None, Tensor | None]:
    """Returns the norm whose result is `x`, and the numbers of a constant for each element of its rows.

    The results are None if another node also reads the norm, or the constant has another shape.
    """
    data = lowering.constant_value(item)
    step = None if data is None else lowering.sole_writer(x, node)
    norm = None if step is None else step.of(Normalize)
    if data is None or norm is None or norm.divides_by_norm or data.numel() != norm.length:
        return None, None
    tensor = lowering.tensor(x)
    axes = [i - data.dim() for i in range(data.dim()) if data.shape[i] != 1]
    if len(axes) != 1 or -axes[0] > tensor.rank or not _are_same(tensor.sizes, lowering.sizes(node)):
        return None, None
    is_row = same(tensor.sizes[axes[0]], norm.length) and same(tensor.strides[axes[0]], 1)
    return (norm, constant(data.float().flatten())) if is_row else (None, None)


def _replaces(lowering: Lowering, node: Node, x: object) -> bool:
    assert isinstance(x, Node)
    step = lowering.sole_writer(x, node)
    assert step is not None
    lowering.append_fused(step, x, node)
    return True


def _are_same(a: Sequence[Size], b: Sequence[Size]) -> bool:
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))


@dataclass
class _Norm:
    """A norm that is being matched.

    Attributes:
        lowering: the steps emitted so far.
        nodes: the nodes between the input and the result.
        x: the input.
        axis: the dimension over which the norm is computed; None until a reduction was found.
        epsilon: the number that is added to the variance, or the least norm.
        subtracts_mean: whether the norm is a layer norm.
        divides_by_norm: whether the norm is a division by the Euclidean norm.
    """

    lowering: Lowering
    nodes: set[Node] = field(default_factory=set)
    x: Node | None = None
    axis: int | None = None
    epsilon: float = 0.0
    subtracts_mean: bool = False
    divides_by_norm: bool = False

    def matches(self, numerator: object, other: object, is_quotient: bool) -> bool:
        """Returns whether `numerator` / `other` (or their product) is a norm."""
        expanded = self._read(other, aten.expand_copy.default)
        other = other if expanded is None else expanded.args[0]
        least = self._least(other) if is_quotient else None
        if least is not None:
            other, self.epsilon = least
        root = self._root(other, is_quotient)
        if root is None:
            return False
        total = self._read(root, aten.sum.dim_IntList)
        if total is not None:
            self.divides_by_norm = True
            return self._takes(numerator, total) and self._is_square(total.args[0], numerator)
        variance = self._without_epsilon(root) if least is None else None
        return variance is not None and self._is_variance(variance, numerator)

    def _read(self, node: object, *ops: object) -> Node | None:
        """Returns the node, as a part of the norm, if it calls one of the operators."""
        if not isinstance(node, Node) or operation(node) not in ops:
            return None
        self.nodes.add(node)
        return node

    def _least(self, item: object) -> tuple[object, float] | None:
        """Returns the operand and the least result of a clamp without an upper bound."""
        clamp = self._read(item, aten.clamp.default)
        if clamp is None:
            return None
        least, most = argument(clamp, 1), argument(clamp, 2)
        is_bound = isinstance(least, (int, float)) and least >= 0 and most is None
        return (clamp.args[0], float(least)) if is_bound else None

    def _root(self, item: object, is_quotient: bool) -> object | None:
        """Returns the operand of a square root, or of its reciprocal if the norm is a product."""
        root = self._read(item, aten.sqrt.default if is_quotient else aten.rsqrt.default)
        if root is None:
            root = self._read(item, aten.pow.Tensor_Scalar)
            if root is None or root.args[1] != (0.5 if is_quotient else -0.5):
                return None
        return root.args[0]

    def _without_epsilon(self, item: object) -> object | None:
        """Returns the other operand of a sum with a constant number, which becomes epsilon."""
        shifted = self._read(item, aten.add.Tensor, aten.add.Scalar)
        if shifted is None or argument(shifted, 2, 1) != 1:
            return None
        for variance, number in (shifted.args[:2], shifted.args[1::-1]):
            value = self.lowering.constant_value(number)
            if value is not None and value.numel() == 1:
                number = float(value)
            if isinstance(number, (int, float)):
                self.epsilon = float(number)
                return variance
        return None

    def _is_variance(self, item: object, numerator: object) -> bool:
        """Returns whether `item` is the variance, or the mean of squares, of the numerator."""
        variance = self._read(item, aten.var.correction)
        if variance is not None:
            x = self._centered(numerator)
            if argument(variance, 2) != 0 or not argument(variance, 3, False) or x is not variance.args[0]:
                return False
            return self._has_axis(argument(variance, 1), x)
        mean = self._read(item, aten.mean.dim)
        if mean is None or not argument(mean, 2, False):
            return False
        x = self._centered(numerator)
        has_axis = self._takes(numerator, mean) if x is None else self._has_axis(argument(mean, 1), x)
        return has_axis and self._is_square(mean.args[0], numerator)

    def _takes(self, numerator: object, reduction: Node) -> bool:
        """Makes the numerator the input, if the reduction is over one of its dimensions, which stays."""
        if not isinstance(numerator, Node) or not argument(reduction, 2, False):
            return False
        self.x = numerator
        return self._has_axis(argument(reduction, 1), numerator)

    def _centered(self, item: object) -> object | None:
        """Returns x of x - mean(x), which becomes the input of a layer norm."""
        if not isinstance(item, Node) or operation(item) is not aten.sub.Tensor or argument(item, 2, 1) != 1:
            return None
        x, mean = item.args[:2]
        is_mean = isinstance(mean, Node) and operation(mean) is aten.mean.dim
        if not is_mean or not isinstance(mean, Node) or not isinstance(x, Node) or mean.args[0] is not x:
            return None
        if not argument(mean, 2, False) or not self._has_axis(argument(mean, 1), x):
            return None
        self.nodes |= {item, mean}
        self.x, self.subtracts_mean = x, True
        return x

    def _has_axis(self, axes: Any, x: object) -> bool:
        """Returns whether `axes` is the one dimension of the norm."""
        rank = rank_of(x)
        dims = [axes] if isinstance(axes, int) else list(axes or ())
        if len(dims) != 1 or rank < 1 or self.axis not in (None, dims[0] % rank):
            return False
        self.axis = dims[0] % rank
        return True

    def _is_square(self, item: object, root: object) -> bool:
        """Returns whether `item` is the square of `root`, or of another node that centers the same input."""
        square = self._read(item, aten.pow.Tensor_Scalar, aten.mul.Tensor)
        if square is None or not self._is_equal(square.args[0], root):
            return False
        if operation(square) is aten.pow.Tensor_Scalar:
            return bool(square.args[1] == 2)
        return self._is_equal(square.args[1], root)

    def _is_equal(self, item: object, root: object) -> bool:
        x = self.x  # `_centered` replaces it
        return item is root or (self.subtracts_mean and self._centered(item) is x)

    def lower(self, node: Node) -> bool:
        """Replaces the steps of the norm by one step. Returns False if other nodes read their results."""
        lowering, x, axis = self.lowering, self.x, self.axis
        assert x is not None and axis is not None
        tensor = lowering.tensor(x)
        length = tensor.sizes[axis]
        if (
            tensor.dtype is not torch.float32
            or not same(tensor.strides[axis], 1)
            or not isinstance(length, int)
        ):
            return False
        if not _are_same(tensor.sizes, lowering.sizes(node)):
            return False
        steps = self._steps(node)
        if steps is None or not all(lowering.aliases.may_run_later(step) for step in steps):
            return False
        for step in steps:
            lowering.remove_step(step)
        order = [*(i for i in range(tensor.rank) if i != axis), axis]
        source, target = rows_of(lowering, node, tensor.permute(order))
        fused = Normalize(
            input=source,
            output=target,
            length=length,
            subtracts_mean=self.subtracts_mean,
            epsilon=self.epsilon,
            divides_by_norm=self.divides_by_norm,
        )
        lowering.emit(fused, node, _nodes_of(steps))
        out = target.view([tensor.sizes[i] for i in order])
        assert out is not None
        lowering.set_tensor(node, out.permute([order.index(i) for i in range(tensor.rank)]))
        return True

    def _steps(self, node: Node) -> list[PlanNode] | None:
        """Returns the steps that compute the nodes of the norm; None if they or others compute more."""
        if any(not self.nodes.issuperset(part.users.keys() - {node}) for part in self.nodes):
            return None
        found = [step for step in self.lowering.steps if not self.nodes.isdisjoint(step.nodes)]
        return found if all(self.nodes.issuperset(step.nodes) for step in found) else None


def _nodes_of(steps: Iterable[PlanNode]) -> list[Node]:
    return [item for step in steps for item in step.nodes]
