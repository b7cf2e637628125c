"""Fourier transforms. They compute in float64 with tables of constants, as the portable kernels do.

The length of a transform is divided into its prime factors (Cooley and Tukey: An algorithm for the machine
calculation of complex Fourier series, 1965). If a prime factor is above 61, the transform is a convolution
with a chirp (Bluestein: A linear filtering approach to the computation of discrete Fourier transform, 1970).

Example: `_fft_r2c` of float32[2].

    static void fft_r2c_0(const f32 *restrict in, c64 *restrict out, f64 *work) {
      {
        fourier_number *const line = (fourier_number *)work;
        fourier_number *const spectrum = line + 2;
        static const fourier_number roots[] = {{1.0, -0.0}, {-1.0, -1.2246467991473532e-16}};
        static const uint8_t radices[] = {2, 1};
        const fourier_plan plan = {2, 2, radices, roots, NULL, NULL, NULL};
        for (ptrdiff_t p = 0; p < 2; ++p) {
          line[p].re = (double)in[p];
          line[p].im = 0;
        }
        fourier_transform(&plan, line, spectrum, false);
        for (ptrdiff_t p = 0; p < 2; ++p) {
          out[p] = complex_float((float)(spectrum[p].re), (float)(spectrum[p].im));
        }
      }
      for (ptrdiff_t i = 0; i < 2; ++i) {
        out[i] = complex_float(crealf(out[i]), 0);
      }
    }
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from rushlight.aot_c.code import double_literal, terms
from rushlight.aot_c.dtypes import C_TYPES, DOUBLE, ELEMENTS, PARTS, name_of
from rushlight.aot_c.generators.copies import copy_elements
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType

_MAX_RADIX = 61
_WIDTH = 100


def _half_root(index: int, points: int) -> complex:
    """Returns exp(-pi i index / points)."""
    angle = -math.pi * index / points
    return complex(math.cos(angle), math.sin(angle))


def _product(a: complex, b: complex) -> complex:
    return complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


class _Factors:
    """The radices and the roots of a transform whose length has only small prime factors."""

    def __init__(self, points: int) -> None:
        self.points = points
        self.radices: list[int] = []
        rest = points
        while rest % 4 == 0:
            self.radices.append(4)
            rest //= 4
        factor = 2
        while rest > 1:
            while rest % factor == 0:
                self.radices.append(factor)
                rest //= factor
            factor += 1
        self.radices.append(1)
        self.roots = [_half_root(2 * k, points) for k in range(points)]

    def transform(self, values: Sequence[complex]) -> list[complex]:
        """Computes a spectrum with the same operations, in the same order, as the C function."""
        return self._step(values, 0, 1, self.points, 0)

    def _step(
        self, values: Sequence[complex], first: int, stride: int, points: int, level: int
    ) -> list[complex]:
        if points == 1:
            return [values[first]]
        radix = self.radices[level]
        part = points // radix
        parts = [
            self._step(values, first + q * stride, stride * radix, part, level + 1) for q in range(radix)
        ]
        result = [0j] * points
        for k in range(part):
            items = [_product(parts[q][k], self.roots[q * k * stride]) for q in range(radix)]
            for r, value in enumerate(self._combined(items)):
                result[r * part + k] = value
        return result

    def _combined(self, items: list[complex]) -> list[complex]:
        radix = len(items)
        if radix == 4:
            a, b, c, d = items[0] + items[2], items[0] - items[2], items[1] + items[3], items[1] - items[3]
            rotated = complex(d.imag, -d.real)
            return [a + c, b + rotated, a - c, b - rotated]
        sums = []
        for r in range(radix):
            total = items[0]
            for q in range(1, radix):
                total += _product(items[q], self.roots[q * r % radix * (self.points // radix)])
            sums.append(total)
        return sums


def _has_small_factors(points: int) -> bool:
    for factor in range(2, _MAX_RADIX + 1):
        while points > 1 and points % factor == 0:
            points //= factor
    return points == 1


def _table(k: Kernel, name: str, numbers: Sequence[complex]) -> None:
    """Writes a table of complex constants."""
    lines, line = [], ""
    for number in numbers:
        text = f"{{{double_literal(number.real)}, {double_literal(number.imag)}}}, "
        if len(line) + len(text) > _WIDTH:
            lines.append(line.rstrip())
            line = ""
        line += text
    lines.append(line.rstrip(", "))
    if len(lines) == 1:
        k.code.add(f"static const fourier_number {name}[] = {{{lines[0]}}};")
        return
    k.code.add(f"static const fourier_number {name}[] = {{")
    for text in lines:
        k.code.add(f"  {text}")
    k.code.add("};")


def _factors(points: int) -> _Factors:
    """Returns the factors of a transform, or of the longer transform that computes a convolution."""
    if _has_small_factors(points):
        return _Factors(points)
    padded = 1
    while padded < 2 * points - 1:
        padded *= 2
    return _Factors(padded)


def _declare_scratch(k: Kernel, lengths: Sequence[int], copied: int = 0) -> int:
    """Declares the scratch memory `work` of all transforms of a kernel, one after another.

    Args:
        k: the kernel.
        lengths: the number of points of each transform.
        copied: the number of float64 numbers for a copy of a tensor.

    Returns:
        The index of the copy in `work`.
    """
    needed = 0
    for points in lengths:
        padded = _factors(points).points
        needed = max(needed, 4 * points + (0 if padded == points else 4 * padded))
    k.scratch("work", DOUBLE, needed + copied)
    return needed


def _declare_plan(k: Kernel, points: int) -> None:
    """Declares the tables `plan` of a transform, and the arrays `line` and `spectrum` in scratch memory."""
    k.needs.add("fourier_transform")
    code = k.code
    code.add("fourier_number *const line = (fourier_number *)work;")
    code.add(f"fourier_number *const spectrum = line + {points};")
    chirp = chirp_spectrum = buffer = "NULL"
    factors = _factors(points)
    if factors.points != points:
        numbers = [_half_root(j * j % (2 * points), points) for j in range(points)]
        padded = [0j] * factors.points
        for j, number in enumerate(numbers):
            padded[j] = number.conjugate()
            if j > 0:
                padded[factors.points - j] = padded[j]
        _table(k, "chirp", numbers)
        _table(k, "chirp_spectrum", factors.transform(padded))
        chirp, chirp_spectrum, buffer = "chirp", "chirp_spectrum", f"line + {2 * points}"
    _table(k, "roots", factors.roots)
    code.add(f"static const uint8_t radices[] = {{{', '.join(map(str, factors.radices))}}};")
    code.add(
        f"const fourier_plan plan = {{{points}, {factors.points}, radices, roots, {chirp}, {chirp_spectrum}, "
        f"{buffer}}};"
    )


def _scale(k: Kernel, normalization: int, points: int) -> float:
    k.require(normalization in (0, 1, 2), f"normalization {normalization} is not 0, 1 or 2")
    points = max(points, 1)  # a tensor without elements has no points
    return (1.0, 1 / math.sqrt(points), 1 / points)[normalization]


def _axes(k: Kernel, dims: Sequence[int], rank: int) -> list[int]:
    k.require(rank > 0 and len(dims) > 0, "there are no dims to transform")
    k.require(all(-rank <= dim < rank for dim in dims), "a dim is out of range")
    axes = [dim % rank for dim in dims]
    k.require(len(set(axes)) == len(axes), "a dim occurs twice")
    return axes


@contextmanager
def _lines(k: Kernel, axis: int, a: TensorValue, b: TensorValue) -> Iterator[tuple[str, str]]:
    """Opens loops over the lines along an axis. Yields the index of the first element in each tensor."""
    nest = Nest(2)
    for d, size in enumerate(a.sizes):
        if d != axis:
            nest.push(size, a.strides[d], b.strides[d])
    with nest.collapse().emit(k.code) as (first, second):
        yield first, second


def _points(k: Kernel, count: int) -> AbstractContextManager[None]:
    """Opens a loop over the points of a line."""
    return k.code.block(f"for (ptrdiff_t p = 0; p < {count}; ++p)")


def _place(first: str, tensor: TensorValue, axis: int, point: str = "p") -> str:
    return plus(first, terms((point, tensor.strides[axis])))


def _run(k: Kernel, inverse: bool) -> None:
    k.code.add(f"fourier_transform(&plan, line, spectrum, {'true' if inverse else 'false'});")


def _read_complex(k: Kernel, element: str, dtype: ScalarType, target: str) -> None:
    """Writes an element of a complex tensor to an item of `line`."""
    k.code.add(f"{target}.re = {_wide(k.real_part(element, dtype), dtype)};")
    k.code.add(f"{target}.im = {_wide(k.imaginary_part(element, dtype), dtype)};")


def _wide(value: str, dtype: ScalarType) -> str:
    return f"(double){value}" if dtype == ScalarType.COMPLEX64 else value


def _narrow(value: str, dtype: ScalarType) -> str:
    return f"(float)({value})" if dtype == ScalarType.COMPLEX64 else value


def _write_complex(k: Kernel, element: str, dtype: ScalarType, scale: float) -> None:
    """Writes item `p` of `spectrum`, scaled, to an element of a complex tensor."""
    factor = "" if scale == 1 else f" * {double_literal(scale)}"
    real, imaginary = (_narrow(f"spectrum[p].{part}{factor}", dtype) for part in ("re", "im"))
    k.code.add(f"{element} = {k.complex_number(real, imaginary, dtype)};")


def _transform_in_place(
    k: Kernel, name: str, tensor: TensorValue, axis: int, inverse: bool, scale: float
) -> None:
    """Transforms the lines of the complex tensor `name` along an axis."""
    points = tensor.sizes[axis]
    with k.code.block(""):
        _declare_plan(k, points)
        with _lines(k, axis, tensor, tensor) as (first, _):
            element = f"{name}[{_place(first, tensor, axis)}]"
            with _points(k, points):
                _read_complex(k, element, tensor.dtype, "line[p]")
            _run(k, inverse)
            with _points(k, points):
                _write_complex(k, element, tensor.dtype, scale)


def _complex_to_complex(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(4)
    k.require(source.dtype == out.dtype and source.dtype in PARTS, "input or result is not complex")
    k.require_shape(out, source.sizes)
    dims = k.ints(1)
    axes = _axes(k, dims, source.rank) if dims else []
    scale = _scale(k, k.integer(2), math.prod(source.sizes[axis] for axis in axes))
    if out.numel == 0:
        return
    names = (k.read(source, "in"), k.write(out))
    _declare_scratch(k, [source.sizes[axis] for axis in axes])
    copy_elements(k, source, out, Nest.over(out.sizes, source, out), names=names)
    for position, axis in enumerate(axes):
        _transform_in_place(k, "out", out, axis, not k.flag(3), scale if position == 0 else 1)


def _real_to_complex(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(4)
    k.require(
        out.dtype in PARTS and PARTS[out.dtype] == source.dtype,
        f"the spectrum of {name_of(source.dtype)} cannot be {name_of(out.dtype)}",
    )
    axes = _axes(k, k.ints(1), source.rank)
    last = axes[-1]
    points = source.sizes[last]
    k.require(points > 0, "an empty dim cannot be transformed")
    scale = _scale(k, k.integer(2), math.prod(source.sizes[axis] for axis in axes))
    shape = list(source.sizes)
    if k.flag(3):
        shape[last] = points // 2 + 1
    k.require_shape(out, shape)
    if out.numel == 0:
        return
    k.read(source, "in")
    k.write(out)
    _declare_scratch(k, [source.sizes[axis] for axis in axes])
    with k.code.block(""):
        _declare_plan(k, points)
        with _lines(k, last, source, out) as (first, target):
            with _points(k, points):
                element = f"in[{_place(first, source, last)}]"
                k.code.add(f"line[p].re = {_wide(element, out.dtype)};")
                k.code.add("line[p].im = 0;")
            _run(k, False)
            with _points(k, shape[last]):
                _write_complex(k, f"out[{_place(target, out, last)}]", out.dtype, scale)
    for axis in axes[:-1]:
        _transform_in_place(k, "out", out, axis, False, 1)
    _clear_imaginary_parts(k, source, axes, out)


def _clear_imaginary_parts(k: Kernel, source: TensorValue, axes: Sequence[int], out: TensorValue) -> None:
    """Sets the imaginary parts of the points that are their own conjugates to 0."""
    nest = Nest(1)
    for d, size in enumerate(source.sizes):
        is_transformed = d in axes
        step = size // 2 if is_transformed else 1
        nest.push(2 - size % 2 if is_transformed else size, step * out.strides[d])
    with nest.collapse().emit(k.code) as (at,):
        real = k.real_part(f"out[{at}]", out.dtype)
        k.code.add(f"out[{at}] = {k.complex_number(real, '0', out.dtype)};")


def _complex_to_real(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(4)
    k.require(
        source.dtype in PARTS and PARTS[source.dtype] == out.dtype,
        f"the inverse transform of {name_of(source.dtype)} cannot be {name_of(out.dtype)}",
    )
    axes = _axes(k, k.ints(1), source.rank)
    last, points = axes[-1], k.integer(3)
    k.require(points > 0, "an empty dim cannot be transformed")
    scale = _scale(k, k.integer(2), points * math.prod(source.sizes[axis] for axis in axes[:-1]))
    shape = list(source.sizes)
    shape[last] = points
    k.require_shape(out, shape)
    if out.numel == 0:
        return
    name = k.read(source, "in")
    k.write(out)
    copied = source.numel * source.item_size // 8 if len(axes) > 1 else 0
    place = _declare_scratch(k, [points, *(source.sizes[axis] for axis in axes[:-1])], copied)
    if len(axes) > 1:
        name, element = "copy", ELEMENTS[source.dtype]
        k.headers.add("string.h")
        k.code.add(f"{element} *const copy = ({element} *)(work + {place});")
        k.code.add(f"memcpy(copy, in, {source.numel} * sizeof({C_TYPES[source.dtype]}));")
    for axis in axes[:-1]:
        _transform_in_place(k, name, source, axis, True, 1)
    _lines_to_real(k, name, source, last, scale, out)


def _lines_to_real(
    k: Kernel, name: str, source: TensorValue, axis: int, scale: float, out: TensorValue
) -> None:
    """Transforms the first half of each spectrum along an axis; the other half are the conjugates."""
    points = out.sizes[axis]
    given = min(source.sizes[axis], points // 2 + 1)
    factor = "" if scale == 1 else f" * {double_literal(scale)}"
    with k.code.block(""):
        _declare_plan(k, points)
        with _lines(k, axis, source, out) as (first, target):
            with _points(k, points):
                k.code.add("line[p].re = line[p].im = 0;")
            with _points(k, given):
                _read_complex(k, f"{name}[{_place(first, source, axis)}]", source.dtype, "line[p]")
                with k.code.block("if (p > 0)"):
                    k.code.add(f"line[{points} - p].re = line[p].re;")
                    k.code.add(f"line[{points} - p].im = -line[p].im;")
            k.code.add("line[0].im = 0;")
            if points % 2 == 0:
                k.code.add(f"line[{points // 2}].im = 0;")
            _run(k, True)
            with _points(k, points):
                value = _narrow(f"spectrum[p].re{factor}", source.dtype)
                k.code.add(f"out[{_place(target, out, axis)}] = {value};")


GENERATORS: Mapping[str, Generator] = {
    "aten::_fft_c2c.out": _complex_to_complex,
    "aten::_fft_r2c.out": _real_to_complex,
    "aten::_fft_c2r.out": _complex_to_real,
}
