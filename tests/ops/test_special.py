"""Special functions have the precision of their dtype, and agree with eager PyTorch in double."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import rushlight
from rushlight.runtime import Runtime, call_kernel

D = torch.float64
LINE = torch.cat([torch.linspace(-24, 24, 200, dtype=D), 10 ** torch.linspace(-9, 2, 50, dtype=D)])
POSITIVE = torch.cat([torch.linspace(0.05, 60, 200, dtype=D), 10 ** torch.linspace(-20, 2, 50, dtype=D)])
PROBABILITY = torch.cat(
    [torch.linspace(0.001, 0.999, 200, dtype=D), 10 ** torch.linspace(-200, -3, 50, dtype=D)]
)
S = torch.special
FUNCTIONS = {
    "i0": (torch.i0, LINE), "special_i0e": (S.i0e, LINE), "special_i1": (S.i1, LINE),
    "special_i1e": (S.i1e, LINE), "special_erfcx": (S.erfcx, LINE), "special_ndtri": (S.ndtri, PROBABILITY),
    "special_modified_bessel_k0": (S.modified_bessel_k0, POSITIVE),
    "special_modified_bessel_k1": (S.modified_bessel_k1, POSITIVE),
    "special_scaled_modified_bessel_k0": (S.scaled_modified_bessel_k0, POSITIVE),
    "special_scaled_modified_bessel_k1": (S.scaled_modified_bessel_k1, POSITIVE),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_relative_error(name: str) -> None:
    function, x = FUNCTIONS[name]
    for dtype, error in ((torch.float64, 1e-12), (torch.float32, 3e-7)):
        given = x.to(dtype)
        given = given[(given != 0) & (given != 1)]
        out = torch.empty_like(given)
        call_kernel(f"aten::{name}.out", [given, out])
        wanted = function(given.double())
        # Subnormal float32 numbers have fewer digits.
        usual = (wanted.abs() > torch.finfo(dtype).tiny) & (wanted.abs() < torch.finfo(dtype).max)
        torch.testing.assert_close(out.double()[usual], wanted[usual], rtol=error, atol=0)


# Values with 30 digits, from the integral and the sums of their definitions.
EXACT = [
    ("igamma", (27.525006642403227, 19.466709471590256), 0.0491774766870566896963019997142),
    ("igammac", (23.896088145124462, 30.98030318949799), 0.0817649036842135399230828373428),
    ("special_zeta", (14.257496200594368, 12.092929514473681), 5.5480989612827657052562284374e-16),
    (
        "special_zeta",
        (2.0, -1e15 - 0.5),
        9.86960440108935761883449099988,
    ),  # the time does not depend on q
    ("special_bessel_j0", (3.9,), -0.401826014887639907454462395734),
    ("special_bessel_j1", (7.25,), 0.0685817006531317445305748969783),
    ("special_bessel_y0", (2.5,), 0.498070359615231887827472350362),
    ("special_bessel_y1", (2.0,), -0.107032431540937546888370772277),
    ("polygamma", (1, 1.0761856178541187), 1.47894437470015011933808382786),
    ("polygamma", (1, -1e-12), 1.00000000000000000000000164493e24),
    ("digamma", (-1e-20,), 99999999999999999999.4227843350985),
]


@pytest.mark.parametrize(("name", "arguments", "wanted"), EXACT)
def test_double_precision(name: str, arguments: Any, wanted: Any) -> None:
    out = torch.empty(1, dtype=D)
    tensors = [a if isinstance(a, int) else torch.tensor([a], dtype=D) for a in arguments]
    call_kernel(f"aten::{name}.out", [*tensors, out])
    torch.testing.assert_close(out, torch.tensor([wanted], dtype=D), rtol=2e-14, atol=0)


class Specials(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[Any, ...]:
        mantissa, exponent = torch.frexp(x)
        return (
            mantissa, exponent, S.erfcx(x), torch.igamma(x, y), torch.igammac(x, y), S.zeta(x + 1, y),
            S.zeta(x + 1, 2),
            torch.polygamma(2, x), S.ndtri(x / 8), S.log_ndtr(x), torch.i0(x), S.i0e(x), S.i1(x), S.i1e(x),
            S.bessel_j0(x), S.bessel_j1(x), S.bessel_y0(x), S.bessel_y1(x), S.modified_bessel_i0(x),
            S.modified_bessel_i1(x), S.modified_bessel_k0(x), S.modified_bessel_k1(x),
            S.scaled_modified_bessel_k0(x), S.scaled_modified_bessel_k1(x), S.spherical_bessel_j0(x),
        )  # fmt: skip


def test_exported() -> None:
    inputs = torch.rand(12) * 6 + 0.2, torch.rand(12) * 6 + 0.2
    program = rushlight.compile(Specials(), inputs)
    results = Runtime.get().load_program(bytes(program.buffer)).load_method("forward").execute(list(inputs))
    for result, wanted in zip(results, Specials()(*inputs), strict=True):
        torch.testing.assert_close(result, wanted, rtol=2e-5, atol=2e-6)
