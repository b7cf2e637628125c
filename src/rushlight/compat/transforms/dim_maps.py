"""Maps the dimensions of a tensor to the dimensions of a view or a permute of the tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import sympy
import torch
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op
from rushlight.ir.sym import expression_of, plain_size, same_size

Size: TypeAlias = int | torch.SymInt
"""A size of a tensor, or a bound of a slice."""

Axes: TypeAlias = tuple[int, ...]


def same_sizes(left: Sequence[Size], right: Sequence[Size]) -> bool:
    """Returns whether two shapes are equal for all inputs."""
    return len(left) == len(right) and all(map(same_size, left, right))


def numel(shape: Iterable[Size]) -> Size:
    """Returns the number of elements of a shape."""
    product: Size = 1
    for size in shape:
        product = plain_size(product * plain_size(size))
    return product


def same_numel(first_shape: Iterable[Size], second_shape: Iterable[Size]) -> bool:
    """Returns whether two shapes have the same number of elements for all inputs."""
    return same_size(numel(first_shape), numel(second_shape))


def normalize_view_shape(source_shape: Sequence[Size], target_shape: Sequence[Size]) -> list[Size]:
    """Returns the shape of a view, in which the size -1 is replaced by the computed size.

    Args:
        source_shape: the shape of the tensor.
        target_shape: the shape argument of the view; one size may be -1.

    Raises:
        ValueError: several sizes are -1.
    """
    shape = [plain_size(size) for size in target_shape]
    unknown = [axis for axis, size in enumerate(shape) if same_size(size, -1)]
    if len(unknown) > 1:
        raise ValueError(f"a view of shape {list(target_shape)} has {len(unknown)} sizes of -1")
    if unknown:
        rest = numel(size for axis, size in enumerate(shape) if axis != unknown[0])
        total = numel(source_shape)
        shape[unknown[0]] = total if same_size(rest, 1) else plain_size(total // rest)
    return shape


def normalized_axes(axes: object, rank: int) -> list[int] | None:
    """Returns one or several axes as non-negative numbers; None if an axis is out of range."""
    given = [axes] if isinstance(axes, int) else axes
    if not isinstance(given, Sequence) or not all(type(axis) is int for axis in given):
        return None
    if not all(-rank <= axis < rank for axis in given):
        return None
    return [axis % rank for axis in given]


def normalized_permutation(dims: object, rank: int | None = None) -> list[int] | None:
    """Returns a permutation with non-negative numbers; None if it is invalid for the rank."""
    if not isinstance(dims, Sequence) or (rank is not None and len(dims) != rank):
        return None
    axes = normalized_axes(dims, len(dims))
    return axes if axes is not None and sorted(axes) == list(range(len(dims))) else None


def inverse_permutation(dims: Sequence[int]) -> list[int]:
    """Returns the inverse permutation."""
    inverse = [0] * len(dims)
    for place, axis in enumerate(dims):
        inverse[axis] = place
    return inverse


def keeps_memory_order(shape: Sequence[Size], dims: Sequence[int]) -> bool:
    """Returns whether a permute moves only dimensions of size 1, so that the elements are not reordered."""
    moved = [axis for axis in dims if not same_size(shape[axis], 1)]
    return moved == sorted(moved)


class ViewMap:
    """Maps the dimensions of a tensor to the dimensions of a view of it.

    Both shapes are divided into the shortest runs of dimensions that have the same number of elements. For
    the shapes [4, 3, 10] and [2, 2, 1, 5, 6], the first run is [4] and [2, 2], and the second run is [3, 10]
    and [5, 6]. Dimensions of size 1 do not belong to a run. A view does not move elements between runs, so
    that an operation on whole runs gives the same result before and after the view.

    Args:
        view_node: a call of view_copy of the edge dialect.

    Attributes:
        source_shape: the sizes of the tensor.
        target_shape: the sizes of the view, without -1.

    Raises:
        ValueError: the node is not a view, or its shape is invalid.
    """

    def __init__(self, view_node: Node) -> None:
        source = view_node.args[0] if view_node.args else None
        shape = view_node.args[1] if len(view_node.args) > 1 else None
        tensor = meta.get_tensor(source) if isinstance(source, Node) else None
        if tensor is None or not is_op(
            view_node, torch.ops.aten.view_copy.default, torch.ops.aten.view.default
        ):
            raise ValueError(f"{view_node.name} is not a view of a tensor")
        sizes: list[Any] = [meta.get_val(size) if isinstance(size, Node) else size for size in shape]  # type: ignore[union-attr]
        self._set_shapes(tuple(tensor.shape), sizes)

    @classmethod
    def from_shapes(cls, source_shape: Sequence[Size], target_shape: Sequence[Size]) -> ViewMap:
        """Returns the map of a view from one shape to another."""
        made = cls.__new__(cls)
        made._set_shapes(source_shape, target_shape)
        return made

    def _set_shapes(self, source_shape: Sequence[Size], target_shape: Sequence[Size]) -> None:
        self.source_shape = [plain_size(size) for size in source_shape]
        self.target_shape = normalize_view_shape(self.source_shape, target_shape)
        self._runs = _runs(self.source_shape, self.target_shape)

    @property
    def is_valid_map(self) -> bool:
        """Whether the shapes can be divided into runs. All other methods require this."""
        return self._runs is not None

    @property
    def source_rank(self) -> int:
        """The number of dimensions of the tensor."""
        return len(self.source_shape)

    @property
    def target_rank(self) -> int:
        """The number of dimensions of the view."""
        return len(self.target_shape)

    def map_dim(self, source_dims: int | Sequence[int]) -> list[int] | None:
        """Returns the dimensions of the view that correspond to the reduced dimensions of the tensor.

        Args:
            source_dims: the reduced dimensions. They must be whole runs, or dimensions of size 1 that the
                view has too.

        Returns:
            The dimensions, or None if no dimensions correspond.
        """
        dims = normalized_axes(source_dims, self.source_rank)
        if not dims or not self._covers_runs(dims, 0, with_ones=True):
            return None
        mapped = self.source_to_target_axes()
        found = sorted({target for dim in dims for target in mapped[dim]})
        shared = any(
            set(self.source_axes_for_target_axis(target, mapped)).difference(dims) for target in found
        )
        return found if found and not shared else None

    def map_dim_inverse(self, target_dims: int | Sequence[int]) -> list[int] | None:
        """Returns the dimensions of the tensor that correspond to the reduced dimensions of the view.

        Args:
            target_dims: the reduced dimensions.

        Returns:
            The dimensions, or None if `target_dims` are not whole runs.
        """
        dims = normalized_axes(target_dims, self.target_rank)
        if not dims or not self._covers_runs(dims, 1, with_ones=False):
            return None
        run_of = self._run_of(1)
        return list(dict.fromkeys(axis for dim in dims for axis in self._valid()[run_of[dim]][0]))

    def map_reduction_after_view(
        self, source_shape: Sequence[Size], source_dims: int | Sequence[int]
    ) -> tuple[list[Size], list[int]] | None:
        """Swaps a reduction with `keepdim=True` and the view that follows it.

        Args:
            source_shape: the shape of the input of the reduction.
            source_dims: the reduced dimensions.

        Returns:
            The shape of a view of the input, and the dimensions to reduce in this view. None if the operators
            cannot be swapped.
        """
        shape, dims = self.remap_target_shape(source_shape), self.map_dim(source_dims)
        return None if shape is None or dims is None or not _is_range(dims) else (shape, dims)

    def map_reduction_before_view(
        self, target_dims: int | Sequence[int]
    ) -> tuple[list[int], list[Size]] | None:
        """Swaps the view and a reduction with `keepdim=True` that follows it.

        Args:
            target_dims: the reduced dimensions of the view.

        Returns:
            The dimensions to reduce in the tensor, and the shape of the view of the result. None if the
            operators cannot be swapped.
        """
        dims, reduced = self.map_dim_inverse(target_dims), normalized_axes(target_dims, self.target_rank)
        if dims is None or reduced is None or not _is_range(dims):
            return None
        return dims, [1 if axis in reduced else size for axis, size in enumerate(self.target_shape)]

    def map_permutation(self, source_permutation: Sequence[int]) -> list[int] | None:
        """Returns the permutation of the view that corresponds to a permutation of the tensor.

        Args:
            source_permutation: the permutation. It must move whole runs and keep the order within each run.

        Returns:
            The permutation, or None if no permutation corresponds.
        """
        return self._map_permutation(source_permutation, 0)

    def map_permutation_inverse(self, target_permutation: Sequence[int]) -> list[int] | None:
        """Returns the permutation of the tensor that corresponds to a permutation of the view, or None."""
        return self._map_permutation(target_permutation, 1)

    def remap_target_shape(self, source_shape: Sequence[Size]) -> list[Size] | None:
        """Returns the shape of the same view of another tensor of the same rank.

        Args:
            source_shape: the shape of the other tensor. Its sizes may differ in runs that have one dimension
                in the view.

        Returns:
            The shape, or None if no view of the other tensor has the same mapping of dimensions.
        """
        if self._runs is None or len(source_shape) != self.source_rank:
            return None
        shape: list[Size] = [1] * self.target_rank
        for sources, targets in self._runs:
            if same_sizes([source_shape[i] for i in sources], [self.source_shape[i] for i in sources]):
                for target in targets:
                    shape[target] = self.target_shape[target]
            elif len(targets) == 1:
                shape[targets[0]] = numel(source_shape[i] for i in sources)
            else:
                return None
        mapped = self.source_to_target_axes()
        for axis in (i for i in range(self.source_rank) if same_size(self.source_shape[i], 1)):
            if mapped[axis]:
                shape[mapped[axis][0]] = numel((shape[mapped[axis][0]], source_shape[axis]))
        order = [t for i, targets in enumerate(mapped) if not same_size(source_shape[i], 1) for t in targets]
        if order != sorted(order) or not same_numel(source_shape, shape):
            return None
        return None if any(same_size(size, 0) for size in shape) else shape

    def remap_unit_slice(
        self, producer_shape: Sequence[Size], slice_dim: int, start: Size, end: Size, step: Size = 1
    ) -> tuple[list[Size], int, Size, Size] | None:
        """Swaps a slice of one index and the view that follows it, which removes the sliced dimension.

        Args:
            producer_shape: the shape of the input of the slice.
            slice_dim: the dimension of the slice.
            start: the index.
            end: the index plus 1.
            step: must be 1.

        Returns:
            The shape of a view of the input, and the dimension, start and end of a slice of this view. The
            view joins the sliced dimension with the next dimension. None if the operators cannot be swapped.
        """
        dims = normalized_axes(slice_dim, self.source_rank)
        bounds = (start, end, step)
        if not dims or len(producer_shape) != self.source_rank or not all(map(_is_size, bounds)):
            return None
        mapped = self.source_to_target_axes()
        dim = dims[0]
        if not same_size(step, 1) or not same_size(end - start, 1) or mapped[dim]:
            return None
        before = [target for targets in mapped[:dim] for target in targets]
        behind = [target for targets in mapped[dim + 1 :] for target in targets]
        if not before or not behind or max(before) >= min(behind) or behind[0] != min(behind):
            return None
        joined = behind[0]
        chunk = self.target_shape[joined]
        shape = list(self.target_shape)
        shape[joined] = numel((chunk, producer_shape[dim]))
        return shape, joined, plain_size(start * chunk), plain_size(end * chunk)

    def source_to_target_axes(self) -> list[list[int]]:
        """Returns, for each dimension of the tensor, the dimensions of the view in the same run.

        Dimensions of size 1 are paired in order. Dimensions without a partner are not mapped.
        """
        mapped: list[list[int]] = [[] for _ in self.source_shape]
        for sources, targets in self._valid():
            for source in sources:
                mapped[source].extend(targets)
        ones = [[axis for axis, run in enumerate(self._run_of(side)) if run == -1] for side in (0, 1)]
        if len(ones[0]) == 1:
            ones[0] *= len(ones[1])
        elif len(ones[1]) == 1:
            ones[1] *= len(ones[0])
        for source, target in zip(*ones, strict=False):
            mapped[source].append(target)
        return mapped

    def map_source_dims_to_target_axes(self, source_dims: int | Sequence[int]) -> list[int] | None:
        """Returns the dimensions of the view in the same runs as the given dimensions of the tensor."""
        dims = normalized_axes(source_dims, self.source_rank)
        if dims is None:
            return None
        mapped = self.source_to_target_axes()
        return list(dict.fromkeys(target for dim in dims for target in mapped[dim]))

    @staticmethod
    def source_axes_for_target_axis(
        target_axis: int, source_to_target_axes: Sequence[Sequence[int]]
    ) -> list[int]:
        """Returns the dimensions of the tensor that are mapped to a dimension of the view."""
        return [axis for axis, targets in enumerate(source_to_target_axes) if target_axis in targets]

    def _valid(self) -> list[tuple[Axes, Axes]]:
        if self._runs is None:
            raise ValueError(f"{self.source_shape} and {self.target_shape} have no common runs")
        return self._runs

    def _run_of(self, side: int) -> list[int]:
        """Returns the index of each dimension's run, -1 for size 1. Side 0 is the tensor, side 1 the view."""
        found = [-1] * (self.target_rank if side else self.source_rank)
        for number, run in enumerate(self._valid()):
            for axis in run[side]:
                found[axis] = number
        return found

    def _covers_runs(self, dims: Sequence[int], side: int, with_ones: bool) -> bool:
        """Whether dimensions are whole runs. Dimensions of size 1 do not belong to a run."""
        run_of = self._run_of(side)
        touched = {run_of[dim] for dim in dims}
        if -1 in touched and not with_ones:
            return False
        return all(set(self._valid()[run][side]).issubset(dims) for run in touched - {-1})

    def _map_permutation(self, permutation: Sequence[int], side: int) -> list[int] | None:
        run_of = self._run_of(side)
        dims = normalized_permutation(permutation, len(run_of))
        if dims is None:
            return None
        moved = [dim for dim in dims if run_of[dim] != -1]
        order = list(dict.fromkeys(run_of[dim] for dim in moved))
        if moved != [axis for run in order for axis in self._valid()[run][side]]:
            return None
        other = 1 - side
        found = [axis for run in order for axis in self._valid()[run][other]]
        ones = [axis for axis, run in enumerate(self._run_of(other)) if run == -1]
        for axis in reversed(ones):
            found.insert(next((i for i, later in enumerate(found) if later > axis), len(found)), axis)
        return found


class PermuteMap:
    """Maps the dimensions of a tensor to the dimensions of the permuted tensor.

    Args:
        permute_node: a call of permute_copy.

    Raises:
        ValueError: the dimensions of the call are not a permutation.
    """

    def __init__(self, permute_node: Node) -> None:
        dims = permute_node.args[1] if len(permute_node.args) > 1 else permute_node.kwargs.get("dims")
        normalized = normalized_permutation(dims)
        if normalized is None:
            raise ValueError(f"{permute_node.name}: {dims} is not a permutation")
        self.permute_dims = normalized

    def map_dims(self, dims: int | Sequence[int]) -> list[int]:
        """Returns the dimensions of the permuted tensor for dimensions of the tensor."""
        inverse = inverse_permutation(self.permute_dims)
        return [inverse[dim] for dim in self._normalized(dims)]

    def map_dims_inverse(self, dims: int | Sequence[int]) -> list[int]:
        """Returns the dimensions of the tensor for dimensions of the permuted tensor."""
        return [self.permute_dims[dim] for dim in self._normalized(dims)]

    def _normalized(self, dims: int | Sequence[int]) -> list[int]:
        found = normalized_axes(dims if isinstance(dims, int) else list(dims), len(self.permute_dims))
        if found is None:
            raise ValueError(f"{dims} is out of range for a tensor with {len(self.permute_dims)} dimensions")
        return found


def _is_range(dims: Sequence[int]) -> bool:
    found = sorted(set(dims))
    return bool(found) and found[-1] - found[0] + 1 == len(found)


def _is_size(value: object) -> bool:
    return isinstance(value, (int, torch.SymInt))


def _runs(source: Sequence[Size], target: Sequence[Size]) -> list[tuple[Axes, Axes]] | None:
    """Divides both shapes into the shortest runs with equal numbers of elements; None if impossible."""
    if any(same_size(size, 0) for size in (*source, *target)):
        return None
    left = [(axis, expression_of(size)) for axis, size in enumerate(source) if not same_size(size, 1)]
    right = [(axis, expression_of(size)) for axis, size in enumerate(target) if not same_size(size, 1)]
    found: list[tuple[Axes, Axes]] = []
    while left and right:
        sources, targets = [left.pop(0)], [right.pop(0)]
        while (order := _compare(sources, targets)) != 0:
            # The run whose product divides the other product gets another dimension. If no product divides
            # the other, both runs get one.
            for grows, side, rest in ((order != 1, sources, left), (order != -1, targets, right)):
                if grows:
                    if not rest:
                        return None
                    side.append(rest.pop(0))
        found.append((tuple(axis for axis, _ in sources), tuple(axis for axis, _ in targets)))
    return None if left or right else found


def _compare(left: Sequence[tuple[int, sympy.Expr]], right: Sequence[tuple[int, sympy.Expr]]) -> int | None:
    """Compares the products of two runs.

    Returns:
        0 if the products are equal, -1 if the left product divides the right one, 1 if the right product
        divides the left one, else None. For integers, the sign shows which product is smaller.
    """
    first, second = (sympy.Mul(*(size for _, size in side)) for side in (left, right))
    if first.is_Integer and second.is_Integer:
        return int(sympy.sign(first - second))
    if sympy.expand(first - second) == 0:
        return 0
    quotient = sympy.cancel(second / first)
    if _is_whole(quotient):
        return -1
    return 1 if _is_whole(sympy.cancel(1 / quotient)) else None


def _is_whole(quotient: sympy.Expr) -> bool:
    return bool(sympy.fraction(quotient)[1] == 1)
