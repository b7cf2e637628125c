"""Strided views of storages: the operands of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from rushlight.backends.cpu.plan.sizes import Size, divide, product, same, simplify
from rushlight.backends.cpu.plan.tables import StorageKind

FLOAT16_TYPES = (torch.float16, torch.bfloat16)
"""Dtypes that plans support only in arguments and stored weights."""


def planned_dtype(dtype: torch.dtype) -> torch.dtype:
    """Returns the dtype in which a plan computes with tensors of `dtype`: float32 for 16-bit floats."""
    return torch.float32 if dtype in FLOAT16_TYPES else dtype


@dataclass(eq=False)
class Storage:
    """A memory area.

    Attributes:
        numel: the number of elements.
        dtype: the dtype of the elements.
        kind: where the memory is: in the arena, in an argument, or in a constant or state.
        index: the index of the argument, for storages in arguments.
        data: the value of a constant, or the initial value of a state; None for zeros.
    """

    numel: Size
    dtype: torch.dtype = torch.float32
    kind: StorageKind = StorageKind.ARENA
    index: int = 0
    data: torch.Tensor | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Tensor:
    """A strided view of a storage.

    Attributes:
        storage: the memory area.
        sizes: the size of each dimension.
        strides: the stride of each dimension in elements.
        offset: the offset of the first element in elements.
        version: for a state, the number of updates in this call before a step reads the view.
    """

    storage: Storage
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0
    version: int = 0

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    @property
    def dtype(self) -> torch.dtype:
        """The element type of the storage."""
        return self.storage.dtype

    @property
    def is_constant(self) -> bool:
        """Whether the storage is a constant, whose value is known at compile time."""
        return self.storage.kind is StorageKind.CONSTANT

    def permute(self, order: Sequence[int]) -> Tensor:
        """Returns a view with its dimensions in another order.

        Args:
            order: for each new dimension, the index of the old dimension. Negative indices count from the
                end.
        """
        order = [axis % self.rank for axis in order]
        return replace(
            self,
            sizes=tuple(self.sizes[axis] for axis in order),
            strides=tuple(self.strides[axis] for axis in order),
        )

    def narrow(self, axis: int, start: Size, size: Size, step: int = 1) -> Tensor:
        """Returns a view of a range of one dimension.

        Args:
            axis: the dimension.
            start: index of the first element.
            size: number of elements in the view.
            step: the distance between two elements, in elements of this view.
        """
        sizes, strides = list(self.sizes), list(self.strides)
        offset = simplify(self.offset + start * strides[axis])
        sizes[axis] = size
        strides[axis] = simplify(strides[axis] * step)
        return replace(self, sizes=tuple(sizes), strides=tuple(strides), offset=offset)

    def select(self, axis: int, index: Size) -> Tensor:
        """Returns a view of one index of a dimension, without that dimension."""
        narrowed = self.narrow(axis, index, 1)
        return narrowed.squeeze(axis)

    def squeeze(self, axis: int) -> Tensor:
        """Returns a view without dimension `axis`, which has one element."""
        return replace(
            self,
            sizes=self.sizes[:axis] + self.sizes[axis + 1 :],
            strides=self.strides[:axis] + self.strides[axis + 1 :],
        )

    def unsqueeze(self, axis: int) -> Tensor:
        """Returns a view with a new dimension of one element before dimension `axis`."""
        return replace(
            self,
            sizes=(*self.sizes[:axis], 1, *self.sizes[axis:]),
            strides=(*self.strides[:axis], 1, *self.strides[axis:]),
        )

    def as_image(self) -> Tensor:
        """Returns images [n, c, h, w], or rows [n, c, w] as images of height 1, as a view [n, h, w, c]."""
        images = self.unsqueeze(2) if self.rank == 3 else self
        return images.permute((0, 2, 3, 1))

    def expand(self, sizes: Sequence[Size]) -> Tensor:
        """Returns a view that is broadcast to `sizes`: it repeats elements, as in PyTorch."""
        missing = len(sizes) - self.rank
        strides: list[Size] = [0] * missing
        for have, want, stride in zip(self.sizes, sizes[missing:], self.strides, strict=True):
            strides.append(0 if same(have, 1) and not same(want, 1) else stride)
        return replace(self, sizes=tuple(sizes), strides=tuple(strides))

    def is_dense(self) -> bool:
        """Returns whether the view contains each element of its storage once, in any dimension order."""
        if not same(self.offset, 0) or not same(product(self.sizes), self.storage.numel):
            return False
        expected: Size = 1
        dims = [(t, s) for s, t in zip(self.sizes, self.strides, strict=True) if not same(s, 1)]
        while dims:
            found = next((dim for dim in dims if same(dim[0], expected)), None)
            if found is None:
                return False
            dims.remove(found)
            expected = simplify(expected * found[1])
        return True

    def has_layout_of(self, other: Tensor) -> bool:
        """Returns whether both views have the same sizes and strides.

        The strides of dimensions of one element are ignored.
        """
        return self.rank == other.rank and all(
            same(a, b) and (same(a, 1) or same(s, t))
            for a, b, s, t in zip(self.sizes, other.sizes, self.strides, other.strides, strict=True)
        )

    def is_contiguous(self) -> bool:
        """Returns whether the view is contiguous in row-major order."""
        expected = contiguous_strides(self.sizes)
        return all(
            same(size, 1) or same(stride, dense)
            for size, stride, dense in zip(self.sizes, self.strides, expected, strict=True)
        )

    def view(self, sizes: Sequence[Size]) -> Tensor | None:
        """Returns a view with another shape and the same order of elements.

        The result is None if no strides express this view; `Lowering.reshape` then makes a copy.
        """
        if any(same(size, 0) for size in sizes):
            return replace(self, sizes=tuple(sizes), strides=contiguous_strides(sizes))
        chunks: list[tuple[Size, Size]] = []  # (elements, stride), outermost first
        for size, stride in zip(self.sizes, self.strides, strict=True):
            if same(size, 1):
                continue
            if chunks and same(chunks[-1][1], size * stride):
                chunks[-1] = (simplify(chunks[-1][0] * size), stride)
            else:
                chunks.append((size, stride))
        strides: list[Size] = [1] * len(sizes)
        axis = len(sizes) - 1
        for elements, stride in reversed(chunks):
            covered: Size = 1  # elements of this chunk that the new dimensions cover so far
            while not same(covered, elements):
                while axis >= 0 and same(sizes[axis], 1):
                    axis -= 1
                if axis < 0 or not _divides(simplify(covered * sizes[axis]), elements):
                    return None
                strides[axis] = simplify(stride * covered)
                covered = simplify(covered * sizes[axis])
                axis -= 1
        if any(not same(size, 1) for size in sizes[: axis + 1]):
            return None
        return replace(self, sizes=tuple(sizes), strides=tuple(strides))

    def order_for(self, sizes: Sequence[Size]) -> list[int]:
        """Returns a memory order in which a copy of this tensor can be viewed with other sizes.

        Dimensions that the view joins or splits together are adjacent, in their logical order. These groups
        of dimensions have the order in which they are in memory. If sizes are symbols or elements are
        repeated, the order is row-major.

        Returns:
            The dimensions, outermost first.
        """
        axes = [axis for axis, size in enumerate(self.sizes) if not same(size, 1)]
        old = [self.sizes[axis] for axis in axes]
        new = [size for size in sizes if not same(size, 1)]
        strides = [self.strides[axis] for axis in axes]
        if not all(isinstance(value, int) and value > 0 for value in (*old, *new, *strides)):
            return list(range(self.rank))
        groups: list[list[int]] = []
        elements = wanted = 1
        for axis, size in zip(axes, old, strict=True):
            if elements == wanted:
                groups.append([])
            groups[-1].append(axis)
            elements *= int(size)
            while wanted < elements:
                wanted *= int(new.pop(0))
        groups.sort(key=lambda group: -min(int(self.strides[axis]) for axis in group))
        return [axis for axis in range(self.rank) if axis not in axes] + [
            a for group in groups for a in group
        ]


def _divides(a: Size, b: Size) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a > 0 and b % a == 0
    quotient = divide(b, a)
    if isinstance(quotient, int):
        return quotient > 0
    denominator = quotient.as_numer_denom()[1]
    return bool(denominator == 1)


def contiguous_strides(sizes: Sequence[Size]) -> tuple[Size, ...]:
    """Returns the strides of a dense row-major tensor."""
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(sizes):
        strides.append(step)
        step = simplify(step * size)
    return tuple(reversed(strides))


def strides_in_order(sizes: Sequence[Size], order: Sequence[int]) -> tuple[Size, ...]:
    """Returns the strides of a dense tensor with the memory order `order`, outermost dimension first."""
    strides: list[Size] = [1] * len(sizes)
    step: Size = 1
    for axis in reversed(order):
        strides[axis] = step
        step = simplify(step * sizes[axis])
    return tuple(strides)


def constant(data: torch.Tensor) -> Tensor:
    """Returns a constant in row-major order, in the dtype in which plans compute with it."""
    return stored_constant(data.to(planned_dtype(data.dtype)))


def stored_constant(data: torch.Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Returns a constant in row-major order.

    Args:
        data: the value.
        dtype: torch.float16 or torch.bfloat16, in which the value is stored if it does not overflow. For any
            other dtype or None, the constant keeps the dtype of `data`.
    """
    data = data.detach().contiguous()
    if dtype in FLOAT16_TYPES and bool(data.abs().max() <= torch.finfo(dtype).max if data.numel() else True):
        data = data.to(dtype)
    storage = Storage(data.numel(), data.dtype, StorageKind.CONSTANT, data=data)
    return Tensor(storage, tuple(data.shape), contiguous_strides(tuple(data.shape)))
