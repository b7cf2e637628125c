"""Operators that move elements: copies, slices, concatenations, permutations.

Example: `cat` of float32[2] and float32[3].

    static void cat_0(f32 *restrict out, const f32 *restrict in0, const f32 *restrict in1) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        out[i] = in0[i];
      }
      for (ptrdiff_t i = 0; i < 3; ++i) {
        out[i + 2] = in1[i];
      }
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import result_type
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.generators.copies import (
    broadcast_copy,
    copy_elements,
    is_same_memory,
    reshaped_copy,
    strided,
)
from rushlight.aot_c.generators.elementwise import require_cast
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest
from rushlight.aot_c.values import Number, TensorValue


def normalized(k: Kernel, dim: int, rank: int) -> int:
    """Returns a dim counted from 0."""
    most = max(rank, 1)
    k.require(-most <= dim < most, f"dim {dim} is out of range")
    return dim % most


def axis_of(k: Kernel, dim: int, tensor: TensorValue) -> int:
    """Returns a dim counted from 0 of a tensor that has at least one dimension."""
    k.require(tensor.rank > 0, f"{tensor.describe()} has no dimensions")
    return normalized(k, dim, tensor.rank)


def require_same(k: Kernel, source: TensorValue, out: TensorValue) -> None:
    """Raises Unsupported if the dtypes of the two tensors differ."""
    k.require(source.dtype == out.dtype, "the dtypes differ")


def _copy(out_position: int, source_position: int = 0, same_dtype: bool = False) -> Generator:
    def generate(k: Kernel) -> None:
        source, out = k.tensor(source_position), k.tensor(out_position)
        if same_dtype:
            require_same(k, source, out)
        broadcast_copy(k, source, out)

    return generate


def _reshape(out_position: int) -> Generator:
    return lambda k: reshaped_copy(k, k.tensor(0), k.tensor(out_position))


def _view_dtype(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(2)
    k.require(source.is_row_major and out.is_row_major, "the tensors are not in row-major order")
    bytes_of = source.numel * source.item_size
    k.require(bytes_of == out.numel * out.item_size, "the numbers of bytes differ")
    if bytes_of and not (source.region is not None and source.region == out.region):
        k.headers.add("string.h")
        a, b = k.read(source, "in"), k.write(out)
        k.code.add(f"memcpy({b}, {a}, {bytes_of});")


def _expand(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(3)
    require_same(k, source, out)
    broadcast_copy(k, source, out)


def _permute_by(k: Kernel, dims: list[int], out: TensorValue) -> None:
    source = k.tensor(0)
    require_same(k, source, out)
    k.require_shape(out, [source.sizes[d] for d in dims])
    copy_elements(k, source, out, strided(out.sizes, [source.strides[d] for d in dims], out.strides))


def _permute(k: Kernel) -> None:
    source = k.tensor(0)
    _permute_by(k, [normalized(k, dim, source.rank) for dim in k.ints(1)], k.tensor(2))


def _transpose(k: Kernel) -> None:
    source = k.tensor(0)
    a, b = normalized(k, k.integer(1), source.rank), normalized(k, k.integer(2), source.rank)
    dims = list(range(source.rank))
    if dims:
        dims[a], dims[b] = dims[b], dims[a]
    _permute_by(k, dims, k.tensor(3))


def _t(k: Kernel) -> None:
    _permute_by(k, list(reversed(range(k.tensor(0).rank))), k.tensor(1))


def slice_bounds(size: int, start: int | None, end: int | None, step: int) -> tuple[int, int]:
    """Returns the first position and the number of positions of a slice."""

    def clamped(position: int) -> int:
        return min(max(position + size if position < 0 else position, 0), size)

    if step <= 0:
        raise Unsupported(f"the step of a slice must be positive, not {step}")
    first = clamped(0 if start is None else start)
    last = max(first, clamped(size if end is None else end))
    return first, -(-(last - first) // step)


def _bound(k: Kernel, position: int) -> int | None:
    number = k.optional_number(position)
    return None if number is None else number.to_int("a bound of the slice")


def _slice(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(5)
    axis = axis_of(k, k.integer(1), source)
    step = k.integer(4)
    first, count = slice_bounds(source.sizes[axis], _bound(k, 2), _bound(k, 3), step)
    _part(k, source, out, axis, first, count, step)


def _part(
    k: Kernel,
    source: TensorValue,
    out: TensorValue,
    axis: int,
    first: int,
    count: int,
    step: int = 1,
    names: tuple[str, str] | None = None,
) -> None:
    require_same(k, source, out)
    k.require_shape(out, [count if d == axis else size for d, size in enumerate(source.sizes)])
    steps = [stride * step if d == axis else stride for d, stride in enumerate(source.strides)]
    copy_elements(
        k, source, out, strided(out.sizes, steps, out.strides), first * source.strides[axis], 0, names
    )


def _narrow(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(4)
    axis = axis_of(k, k.integer(1), source)
    start = k.integer(2)
    _part(k, source, out, axis, start % max(source.sizes[axis], 1) if start < 0 else start, k.integer(3))


def _split(k: Kernel, sizes: list[int], dim: int, outs: list[TensorValue]) -> None:
    source = k.tensor(0)
    axis = axis_of(k, dim, source)
    k.require(
        len(sizes) == len(outs) and sum(sizes) == source.sizes[axis],
        "the sizes of the parts do not match the dim",
    )
    start = 0
    name = k.read(source, "in")
    for i, (size, out) in enumerate(zip(sizes, outs, strict=True)):
        if out.numel and k.is_used(out):
            _part(k, source, out, axis, start, size, 1, (name, k.write(out, f"out{i}")))
        start += size


def _split_equal(k: Kernel) -> None:
    source, size, dim, outs = k.tensor(0), k.integer(1), k.integer(2), k.tensors(3)
    total = source.sizes[axis_of(k, dim, source)]
    sizes = [min(size, total - start) for start in range(0, total, max(size, 1))] or [0]
    _split(k, sizes, dim, outs)


def _split_sizes(k: Kernel) -> None:
    _split(k, k.ints(1), k.integer(2), k.tensors(3))


def _unbind(k: Kernel) -> None:
    source, outs = k.tensor(0), k.tensors(2)
    axis = axis_of(k, k.integer(1), source)
    k.require(len(outs) == source.sizes[axis], "the sizes of the parts do not match the dim")
    name = k.read(source, "in")
    for i, out in enumerate(outs):
        if out.numel and k.is_used(out):
            _selected(k, source, out, axis, i, (name, k.write(out, f"out{i}")))


def _selected(
    k: Kernel,
    source: TensorValue,
    out: TensorValue,
    axis: int,
    index: int | str,
    names: tuple[str, str] | None = None,
) -> None:
    require_same(k, source, out)
    sizes = [size for d, size in enumerate(source.sizes) if d != axis]
    k.require_shape(out, sizes)
    steps = [stride for d, stride in enumerate(source.strides) if d != axis]
    start = index * source.strides[axis] if isinstance(index, int) else terms((index, source.strides[axis]))
    copy_elements(k, source, out, strided(sizes, steps, out.strides), start, 0, names)


def runtime_index(k: Kernel, number: Number, size: int) -> int | str:
    """Returns a constant index counted from 0, or declares a C variable whose range is checked."""
    if number.value is not None:
        index = number.to_int("the index")
        k.require(-size <= index < size, f"index {index} is out of range")
        return index % size
    given = k.number_value(number, "index").name
    k.fail_if(f"{given} < {-size} || {given} >= {size}")
    k.code.add(f"const ptrdiff_t place = (ptrdiff_t)({given} < 0 ? {given} + {size} : {given});")
    return "place"


def _select(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(3)
    axis = axis_of(k, k.integer(1), source)
    _selected(k, source, out, axis, runtime_index(k, k.number(2), source.sizes[axis]))


def _scatter_part(
    k: Kernel, source: TensorValue, part: TensorValue, out: TensorValue, nest: Nest, target: int | str
) -> None:
    """Copies `source` to the result, and then overwrites some of its elements with `part`."""
    require_same(k, source, out)
    require_same(k, part, out)
    k.require_shape(out, source.sizes)
    k.in_place = True
    name = k.write(out)
    if not is_same_memory(source, out):
        copy_elements(k, source, out, Nest.over(out.sizes, source, out), 0, 0, (k.read(source, "in"), name))
    copy_elements(k, part, out, nest, 0, target, (k.read(part, "part"), name))


def _slice_scatter(k: Kernel) -> None:
    source, part, out = k.tensor(0), k.tensor(1), k.tensor(6)
    axis = axis_of(k, k.integer(2), source)
    k.require_rank(source.rank, out)
    step = k.integer(5)
    first, count = slice_bounds(source.sizes[axis], _bound(k, 3), _bound(k, 4), step)
    k.require(
        list(part.sizes) == [count if d == axis else s for d, s in enumerate(source.sizes)],
        "the shape of the source does not match the selected part",
    )
    steps = [stride * step if d == axis else stride for d, stride in enumerate(out.strides)]
    _scatter_part(k, source, part, out, strided(part.sizes, part.strides, steps), first * out.strides[axis])


def _select_scatter(k: Kernel) -> None:
    source, part, out = k.tensor(0), k.tensor(1), k.tensor(4)
    axis = axis_of(k, k.integer(2), source)
    k.require_rank(source.rank, out)
    index = runtime_index(k, k.number(3), source.sizes[axis])
    steps = [stride for d, stride in enumerate(out.strides) if d != axis]
    k.require(
        list(part.sizes) == [s for d, s in enumerate(source.sizes) if d != axis],
        "the shape of the source does not match the selected part",
    )
    place = index * out.strides[axis] if isinstance(index, int) else terms((index, out.strides[axis]))
    _scatter_part(k, source, part, out, strided(part.sizes, part.strides, steps), place)


def _diagonal(
    k: Kernel, tensor: TensorValue, offset: int, dim1: int, dim2: int
) -> tuple[list[int], list[int], int]:
    """Returns the sizes and strides of a diagonal view, and the index of its first element."""
    row, column = normalized(k, dim1, tensor.rank), normalized(k, dim2, tensor.rank)
    k.require(tensor.rank >= 2 and row != column, "a diagonal needs two different dims")
    first_row, first_column = max(-offset, 0), max(offset, 0)
    length = max(min(tensor.sizes[row] - first_row, tensor.sizes[column] - first_column), 0)
    others = [d for d in range(tensor.rank) if d not in (row, column)]
    sizes = [*(tensor.sizes[d] for d in others), length]
    strides = [*(tensor.strides[d] for d in others), tensor.strides[row] + tensor.strides[column]]
    return sizes, strides, first_row * tensor.strides[row] + first_column * tensor.strides[column]


def _diagonal_copy(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(4)
    require_same(k, source, out)
    sizes, strides, first = _diagonal(k, source, k.integer(1), k.integer(2), k.integer(3))
    k.require_shape(out, sizes)
    copy_elements(k, source, out, strided(sizes, strides, out.strides), first)


def _diagonal_scatter(k: Kernel) -> None:
    source, part, out = k.tensor(0), k.tensor(1), k.tensor(5)
    sizes, strides, first = _diagonal(k, out, k.integer(2), k.integer(3), k.integer(4))
    k.require(list(part.sizes) == sizes, "the shape of the source does not match the selected part")
    _scatter_part(k, source, part, out, strided(sizes, part.strides, strides), first)


def require_window(k: Kernel, sizes: Sequence[int], strides: Sequence[int], first: int, numel: int) -> None:
    """Raises Unsupported if a window exceeds memory of `numel` elements. It begins at element `first`."""
    k.require(len(sizes) == len(strides), "size and stride differ in their lengths")
    last = first + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    inside = 0 in sizes or (min(strides, default=0) >= 0 and last < numel)
    k.require(
        first >= 0 and min(sizes, default=0) >= 0 and inside, "the view exceeds the memory of the tensor"
    )


def _as_strided(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(4)
    sizes, strides, first = k.ints(1), k.ints(2), k.optional_int(3) or 0
    require_same(k, source, out)
    k.require_shape(out, sizes)
    require_window(k, sizes, strides, first, source.numel)
    copy_elements(k, source, out, strided(sizes, strides, out.strides), first)


def _unfold(k: Kernel) -> None:
    source, size, step, out = k.tensor(0), k.integer(2), k.integer(3), k.tensor(4)
    axis = normalized(k, k.integer(1), source.rank)
    require_same(k, source, out)
    k.require(
        source.rank > 0 and 0 <= size <= source.sizes[axis] and step > 0,
        "the size or the step of the windows does not match the dim",
    )
    sizes = list(source.sizes)
    sizes[axis] = (source.sizes[axis] - size) // step + 1
    k.require_shape(out, [*sizes, size])
    strides = [stride * step if d == axis else stride for d, stride in enumerate(source.strides)]
    copy_elements(k, source, out, strided(out.sizes, [*strides, source.strides[axis]], out.strides))


def _cat(k: Kernel) -> None:
    tensors, out = k.tensors(0), k.tensor(2)
    k.require(len(tensors) > 0, "there are no tensors")
    filled = [tensor for tensor in tensors if not (tensor.rank == 1 and tensor.sizes[0] == 0)] or tensors[:1]
    require_cast(k, result_type([(tensor.dtype, tensor.rank) for tensor in tensors]), out.dtype)
    axis = axis_of(k, k.integer(1), filled[0])
    k.require_rank(filled[0].rank, *filled, out)
    position = 0
    name = k.write(out)
    for i, tensor in enumerate(filled):
        sizes = [tensor.sizes[axis] if d == axis else size for d, size in enumerate(out.sizes)]
        k.require(list(tensor.sizes) == sizes, "the shapes differ in another dim than the concatenated dim")
        if tensor.numel:
            nest = strided(sizes, tensor.strides, out.strides)
            names = (k.read(tensor, f"in{i}"), name)
            copy_elements(k, tensor, out, nest, 0, position * out.strides[axis], names)
        position += tensor.sizes[axis]
    k.require(
        out.rank == 0 or position == out.sizes[axis],
        "the shape of the result is not the shape of the concatenation",
    )


def _stack(k: Kernel) -> None:
    tensors, out = k.tensors(0), k.tensor(2)
    k.require(len(tensors) > 0, "there are no tensors")
    require_cast(k, result_type([(tensor.dtype, tensor.rank) for tensor in tensors]), out.dtype)
    axis = normalized(k, k.integer(1), tensors[0].rank + 1)
    sizes = list(tensors[0].sizes)
    k.require_shape(out, [*sizes[:axis], len(tensors), *sizes[axis:]])
    strides = [stride for d, stride in enumerate(out.strides) if d != axis]
    name = k.write(out)
    for i, tensor in enumerate(tensors):
        k.require(list(tensor.sizes) == sizes, "the shapes of the tensors differ")
        if tensor.numel:
            nest = strided(sizes, tensor.strides, strides)
            copy_elements(k, tensor, out, nest, 0, i * out.strides[axis], (k.read(tensor, f"in{i}"), name))


def _repeat(k: Kernel) -> None:
    source, repeats, out = k.tensor(0), k.ints(1), k.tensor(2)
    require_same(k, source, out)
    lead = len(repeats) - source.rank
    k.require(lead >= 0, "there are fewer repeats than dimensions")
    padded_sizes = [1] * lead + list(source.sizes)
    k.require_shape(out, [times * size for times, size in zip(repeats, padded_sizes, strict=True)])
    nest = Nest(2)
    for d, (times, size) in enumerate(zip(repeats, padded_sizes, strict=True)):
        nest.push(times, 0, size * out.strides[d])
        if d >= lead:
            nest.push(size, source.strides[d - lead], out.strides[d])
    copy_elements(k, source, out, nest)


def _flip(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(2)
    require_same(k, source, out)
    k.require_shape(out, source.sizes)
    dims = {normalized(k, dim, source.rank) for dim in k.ints(1)}
    if out.numel == 0:
        return
    strides = [-stride if d in dims else stride for d, stride in enumerate(source.strides)]
    start = sum((source.sizes[d] - 1) * source.strides[d] for d in dims if d < source.rank)
    copy_elements(k, source, out, strided(out.sizes, strides, out.strides), start)


def _roll(k: Kernel) -> None:
    source, shifts, dims, out = k.tensor(0), k.ints(1), k.ints(2), k.tensor(3)
    require_same(k, source, out)
    k.require_shape(out, source.sizes)
    if out.numel == 0:
        return
    if not dims:
        k.require(source.is_row_major and out.is_row_major, "the tensors are not in row-major order")
        k.require(len(shifts) == 1, "several shifts need dims")
        sizes, ins, outs, by = [source.numel], [1], [1], [shifts[0]]
    else:
        sizes, ins, outs = list(source.sizes), list(source.strides), list(out.strides)
        k.require(len(shifts) == len(dims), f"there are {len(shifts)} shifts and {len(dims)} dims")
        by = [0] * source.rank
        for shift, dim in zip(shifts, dims, strict=True):
            by[normalized(k, dim, source.rank)] += shift
    # A roll divides each dim into two parts and exchanges them.
    parts: list[list[tuple[int, int, int]]] = []
    for size, shift in zip(sizes, by, strict=True):
        first = shift % size
        pieces = [(0, first, size - first), (size - first, 0, first)]
        parts.append([piece for piece in pieces if piece[2] > 0])
    names = (k.read(source, "in"), k.write(out))
    combinations: list[list[tuple[int, int, int]]] = [[]]
    for pieces in parts:
        combinations = [[*done, piece] for done in combinations for piece in pieces]
    for combination in combinations:
        start = sum(piece[0] * stride for piece, stride in zip(combination, ins, strict=True))
        target = sum(piece[1] * stride for piece, stride in zip(combination, outs, strict=True))
        nest = strided([piece[2] for piece in combination], ins, outs)
        copy_elements(k, source, out, nest, start, target, names)


def _pixel_shuffle(k: Kernel) -> None:
    source, factor, out = k.tensor(0), k.integer(1), k.tensor(2)
    require_same(k, source, out)
    k.require(factor > 0, f"the factor is {factor}")
    k.require(
        source.rank >= 3 and source.sizes[-3] % (factor * factor) == 0,
        "the number of channels is not a multiple of the squared factor",
    )
    c, h, w = source.rank - 3, source.rank - 2, source.rank - 1
    lead = source.sizes[:c]
    ins, outs = source.strides, out.strides
    k.require_shape(
        out, [*lead, source.sizes[c] // factor**2, source.sizes[h] * factor, source.sizes[w] * factor]
    )
    nest = strided(lead, ins[:c], outs[:c])
    nest.push(out.sizes[c], ins[c] * factor * factor, outs[c])
    nest.push(factor, ins[c] * factor, outs[h])
    nest.push(factor, ins[c], outs[w])
    nest.push(source.sizes[h], ins[h], outs[h] * factor)
    nest.push(source.sizes[w], ins[w], outs[w] * factor)
    copy_elements(k, source, out, nest)


def _pixel_unshuffle(k: Kernel) -> None:
    source, factor, out = k.tensor(0), k.integer(1), k.tensor(2)
    require_same(k, source, out)
    k.require(factor > 0, f"the factor is {factor}")
    k.require(source.rank >= 3, "the rank is below 3")
    c, h, w = source.rank - 3, source.rank - 2, source.rank - 1
    k.require(
        source.sizes[h] % factor == 0 and source.sizes[w] % factor == 0,
        "height or width is not a multiple of the factor",
    )
    lead = source.sizes[:c]
    ins, outs = source.strides, out.strides
    k.require_shape(
        out, [*lead, source.sizes[c] * factor**2, source.sizes[h] // factor, source.sizes[w] // factor]
    )
    nest = strided(lead, ins[:c], outs[:c])
    nest.push(source.sizes[c], ins[c], outs[c] * factor * factor)
    nest.push(factor, ins[h], outs[c] * factor)
    nest.push(factor, ins[w], outs[c])
    nest.push(out.sizes[h], ins[h] * factor, outs[h])
    nest.push(out.sizes[w], ins[w] * factor, outs[w])
    copy_elements(k, source, out, nest)


GENERATORS: dict[str, Generator] = {
    "aten::clone.out": _copy(2),
    "aten::_to_copy.out": _copy(3),
    "aten::copy.out": _copy(3, 1),
    "aten::copy_": _copy(0, 1),
    "aten::detach_copy.out": _copy(1),
    "aten::lift_fresh_copy.out": _copy(1),
    "aten::alias_copy.out": _copy(1, same_dtype=True),
    "dim_order_ops::_clone_dim_order.out": _copy(3, same_dtype=True),
    "dim_order_ops::_to_dim_order_copy.out": _copy(3),
    "et_copy::_h2d_copy.out": _copy(1, same_dtype=True),
    "et_copy::_d2h_copy.out": _copy(1, same_dtype=True),
    "quantized_decomposed::convert_element_type.no_fuse_out": _copy(2),
    "aten::view_copy.out": _reshape(2),
    "aten::view_copy.dtype_out": _view_dtype,
    "aten::_unsafe_view.out": _reshape(2),
    "aten::squeeze_copy.out": _reshape(1),
    "aten::squeeze_copy.dim_out": _reshape(2),
    "aten::squeeze_copy.dims_out": _reshape(2),
    "aten::unsqueeze_copy.out": _reshape(2),
    "aten::expand_copy.out": _expand,
    "aten::permute_copy.out": _permute,
    "aten::transpose_copy.int_out": _transpose,
    "aten::t_copy.out": _t,
    "aten::slice_copy.Tensor_out": _slice,
    "aten::narrow_copy.out": _narrow,
    "aten::split_copy.Tensor_out": _split_equal,
    "aten::split_with_sizes_copy.out": _split_sizes,
    "aten::unbind_copy.int_out": _unbind,
    "aten::select_copy.int_out": _select,
    "aten::slice_scatter.out": _slice_scatter,
    "aten::select_scatter.out": _select_scatter,
    "aten::diagonal_copy.out": _diagonal_copy,
    "aten::diagonal_scatter.out": _diagonal_scatter,
    "aten::as_strided_copy.out": _as_strided,
    "aten::unfold_copy.out": _unfold,
    "aten::cat.out": _cat,
    "aten::stack.out": _stack,
    "aten::repeat.out": _repeat,
    "aten::flip.out": _flip,
    "aten::roll.out": _roll,
    "aten::pixel_shuffle.out": _pixel_shuffle,
    "aten::pixel_unshuffle.out": _pixel_unshuffle,
}
