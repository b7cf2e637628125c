"""Operators that depend on the representation of floating-point numbers.

Example: `nextafter` of float32[4] and float32[4].

    static void nextafter_0(const f32 *restrict a, const f32 *restrict b, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        const float x = a[i];
        const float y = b[i];
        out[i] = nextafterf(x, y);
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable

from rushlight.aot_c.dtypes import HALF, LONG, SIXTEEN, c_compute
from rushlight.aot_c.generators.elementwise import common_type, elementwise
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.format.program import ScalarType


def _frexp(k: Kernel) -> None:
    x, mantissa, exponent = k.tensor(0), k.tensor(1), k.tensor(2)
    k.require(exponent.dtype == ScalarType.INT, "the dtype of the exponents is not int32")

    def part(name: str) -> Callable[..., str]:
        return lambda k, c, x: k.call(f"{name}_of_{c_compute(c)}", x)

    # The exponents are first, because the mantissas may overwrite the input.
    elementwise(
        k,
        [x],
        exponent,
        x.dtype,
        part("exponent"),
        floating=True,
        result=LONG,
        checks=False,
        suffix="_exponent",
    )
    elementwise(k, [x], mantissa, x.dtype, part("mantissa"), floating=True)


def _next_after(k: Kernel) -> None:
    a, b = k.tensor(0), k.tensor(1)
    common = common_type(a, b)

    def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
        if common in SIXTEEN:
            return k.call("next_half" if common == HALF else "next_bfloat16", x, y)
        return k.math("nextafter", c, x, y)

    elementwise(k, [a, b], k.tensor(2), common, expression, floating=True)


GENERATORS: dict[str, Generator] = {
    "aten::frexp.Tensor_out": _frexp,
    "aten::nextafter.out": _next_after,
}
