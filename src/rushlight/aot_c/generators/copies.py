"""Copies elements between layouts and dtypes.

Example: `permute_copy` of float32[2, 3] to [3, 2].

    static void permute_copy_0(const f32 *restrict in, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 3; ++i) {
        for (ptrdiff_t j = 0; j < 2; ++j) {
          out[2 * i + j] = in[i + 3 * j];
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.aot_c.dtypes import C_TYPES
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.kernel import Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue


def copy_elements(
    k: Kernel,
    source: TensorValue,
    out: TensorValue,
    nest: Nest,
    start: int | str = 0,
    target: int | str = 0,
    names: tuple[str, str] | None = None,
) -> None:
    """Copies elements, and converts them if the dtypes differ.

    Args:
        k: the kernel.
        source: the tensor to read.
        out: the tensor to write.
        nest: loops over the source and the result.
        start: the index of the first element in the source.
        target: the index of the first element in the result.
        names: the names of the pointers to source and result; None if they are not yet declared.
    """
    if nest.numel == 0:
        return
    a, b = names or (k.read(source, "in"), k.write(out))
    # The innermost loop has the smallest stride of the result.
    nest.sort_by(1).collapse()
    if (
        nest.inner_size > 1
        and (nest.inner_stride(0), nest.inner_stride(1)) == (1, 1)
        and source.dtype == out.dtype
    ):
        size = nest.inner_size * out.item_size
        if size >= 32:
            k.headers.add("string.h")
            with nest.outer().emit(k.code) as (at, to):
                to_text, from_text = plus(to, str(target)), plus(at, str(start))
                k.code.add(
                    f"memcpy({_address(b, to_text)}, {_address(a, from_text)}, "
                    f"{nest.inner_size} * sizeof({C_TYPES[out.dtype]}));"
                )
            return
    with nest.emit(k.code) as (at, to):
        value = k.convert(f"{a}[{plus(at, str(start))}]", source.dtype, out.dtype)
        k.code.add(f"{b}[{plus(to, str(target))}] = {value};")


def _address(name: str, place: str) -> str:
    return name if place == "0" else f"{name} + {place}"


def is_same_memory(source: TensorValue, out: TensorValue) -> bool:
    """Returns whether both tensors have the same memory, dtype and strides, so that no copy is needed."""
    return (
        source.region is not None
        and source.region == out.region
        and source.dtype == out.dtype
        and source.strides == out.strides
    )


def start_from(k: Kernel, source: TensorValue, out: TensorValue) -> str:
    """Writes a result that begins as a copy of a tensor of its shape, or that already is in its memory.

    Returns:
        The name of the pointer to the result.
    """
    k.in_place = True
    target = k.write(out)
    if not is_same_memory(source, out):
        names = (k.read(source, "in"), target)
        copy_elements(k, source, out, Nest.over(out.sizes, source, out), 0, 0, names)
    return target


def broadcast_copy(k: Kernel, source: TensorValue, out: TensorValue) -> None:
    """Copies a tensor to a result to which it broadcasts, and converts its dtype."""
    if source.rank > out.rank or any(
        size not in (1, out.sizes[axis]) for axis, size in enumerate(source.sizes, out.rank - source.rank)
    ):
        raise Unsupported(f"{source.describe()} does not broadcast to {out.describe()}")
    if is_same_memory(source, out):
        return
    k.in_place = True
    copy_elements(k, source, out, Nest.over(out.sizes, source, out))


def reshaped_copy(k: Kernel, source: TensorValue, out: TensorValue) -> None:
    """Copies elements in row-major order to a tensor of another shape."""
    k.require(source.dtype == out.dtype, "the dtypes differ")
    k.require(source.numel == out.numel, "the numbers of elements differ")
    if source.numel == 0:
        return
    if source.is_row_major and out.is_row_major:
        if source.region is not None and source.region == out.region:
            return
        nest = Nest(2)
        nest.push(out.numel, 1, 1)
        copy_elements(k, source, out, nest)
        return
    copy_elements(k, source, out, _common_loops(source, out))


def _common_loops(source: TensorValue, out: TensorValue) -> Nest:
    """Makes loops over both tensors in row-major order.

    Raises:
        Unsupported: no common loops exist, because the dims do not divide each other.
    """
    nest = Nest(2)
    a = [(size, stride) for size, stride in zip(source.sizes, source.strides, strict=True) if size != 1]
    b = [(size, stride) for size, stride in zip(out.sizes, out.strides, strict=True) if size != 1]
    loops: list[tuple[int, int, int]] = []
    while a and b:
        (size_a, step_a), (size_b, step_b) = a.pop(), b.pop()
        size = min(size_a, size_b)
        if size_a % size or size_b % size:
            raise Unsupported(f"{source.describe()} cannot be viewed as {out.describe()} in its dim order")
        loops.append((size, step_a, step_b))
        if size_a > size:
            a.append((size_a // size, step_a * size))
        if size_b > size:
            b.append((size_b // size, step_b * size))
    for loop in reversed(loops):
        nest.push(*loop)
    return nest


def strided(sizes: Sequence[int], source: Sequence[int], target: Sequence[int]) -> Nest:
    """Makes loops with the given strides of the source and the result, in elements."""
    if not len(sizes) == len(source) == len(target):
        raise Unsupported("the tensors differ in their numbers of dimensions")
    nest = Nest(2)
    for size, a, b in zip(sizes, source, target, strict=True):
        nest.push(size, a, b)
    return nest
