"""Cases for the elementwise kernels: a list for every row of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from tests.ops.harness import BOOL, COMPLEX, FLOAT16_TYPES, FLOATS, INTS, REAL, Case
from tests.ops.samples import BROADCASTS, SPECIAL, channels_last, mixed, pairs, special, tensor

Dtypes = tuple[torch.dtype, ...]
Make = Callable[[], list[Case]]
FLOATING = FLOATS + FLOAT16_TYPES
NUMBERS = FLOATING + INTS  # all real dtypes except bool


def unary(dtypes: Dtypes, *args: object, low: float = -4, high: float = 4, specials: bool = True) -> Make:
    """Returns cases with one tensor: every dtype, special values, ranks, no elements, channels last."""

    def make() -> list[Case]:
        inputs = [tensor(dtype, 3, 5, low=low, high=high) for dtype in dtypes]
        if specials:
            inputs += [special(dtype) for dtype in dtypes if not dtype.is_complex]
        first = dtypes[0]
        inputs += [
            tensor(first, low=low, high=high),
            tensor(first, 0, 3),
            tensor(first, 2, 700, low=low, high=high),
            channels_last(tensor(first, 2, 3, 4, 5, low=low, high=high)),
        ]
        return [Case(x, *args) for x in inputs]

    return make


def binary(
    dtypes: Dtypes,
    *args: object,
    divisor: bool = False,
    high: float = 4,
    extremes: bool = True,
    partners: Iterable[tuple[torch.dtype, torch.dtype]] | None = None,
) -> Make:
    """Returns cases with two tensors: pairs of dtypes, broadcasts, zero-dim tensors, pairs of special values.

    Without `extremes`, no value is at the limits of its dtype. There, the vectorized and the scalar loops of
    eager PyTorch differ (sums fused with a product, remainders of huge quotients).
    """

    def second(dtype: torch.dtype, *shape: int) -> torch.Tensor:
        values = tensor(dtype, *shape, seed=1, high=high)
        return torch.where(values == 0, torch.ones_like(values), values) if divisor else values

    def make() -> list[Case]:
        cases = []
        for a, b in mixed(dtypes) if partners is None else partners:
            cases.append(Case(tensor(a, 3, 4), second(b, 4), *args))
            cases.append(Case(tensor(a, 3, 4), second(b), *args))
        for dtype in dtypes:
            if not dtype.is_complex:
                values = special(dtype)
                if not extremes:
                    values = values[: len(SPECIAL)] if dtype.is_floating_point else values[2:5]
                x, y = pairs(values, values)
                if divisor and not dtype.is_floating_point:
                    y = torch.where(y == 0, torch.ones_like(y), y)
                cases.append(Case(x, y, *args))
        for left, right in BROADCASTS:
            cases.append(Case(tensor(dtypes[0], *left), second(dtypes[0], *right), *args))
        nhwc = channels_last(tensor(dtypes[0], 2, 3, 4, 5))
        cases.append(Case(nhwc, channels_last(second(dtypes[0], 2, 3, 4, 5)), *args))
        cases.append(Case(nhwc, second(dtypes[0], 3, 1, 1), *args))
        return cases

    return make


def with_number(dtypes: Dtypes, numbers: Iterable[float], *args: object, specials: bool = True) -> Make:
    """Returns cases with a tensor and a number."""

    def make() -> list[Case]:
        cases = []
        for number in numbers:
            for dtype in dtypes:
                cases.append(Case(tensor(dtype, 3, 5), number, *args))
                if specials and not dtype.is_complex:
                    cases.append(Case(special(dtype), number, *args))
            cases.append(Case(tensor(dtypes[0]), number, *args))
            cases.append(Case(channels_last(tensor(dtypes[0], 2, 3, 4, 5)), number, *args))
        return cases

    return make


def several(*makes: Make) -> Make:
    return lambda: [case for make in makes for case in make()]


def ternary(dtypes: Dtypes, *args: object, **kwargs: object) -> Make:
    def make() -> list[Case]:
        cases = []
        for dtype in dtypes:
            for shapes in (((3, 4), (3, 4), (3, 4)), ((3, 1), (4,), ()), ((2, 3, 4), (3, 1), (2, 1, 1))):
                x, y, z = (tensor(dtype, *shape, seed=i, low=0.5) for i, shape in enumerate(shapes))
                cases.append(Case(x, y, z, *args, **kwargs))
        return cases

    return make


def quotients_of_halves(*args: object) -> Make:
    """Returns divisions of 16-bit floats by numbers that these dtypes do not represent."""

    def make() -> list[Case]:
        values = torch.arange(-400, 401) / 100
        return [
            Case(values.to(dtype), number, *args) for dtype in FLOAT16_TYPES for number in (0.1, 0.3, -0.7)
        ]

    return make


def clamps() -> list[Case]:
    cases = []
    for dtype in NUMBERS:
        for low, high in ((1, 3), (None, 2), (2, None), (3, 1)):
            cases.append(Case(tensor(dtype, 3, 5), low, high))
        cases.append(Case(special(dtype), 0, 2))
    cases.append(Case(tensor(torch.int32, 3, 5), -0.5, 1.5))
    cases.append(Case(special(torch.float32), -float("inf"), float("inf")))
    return cases


def clamps_by_tensors() -> list[Case]:
    cases = []
    for dtype in NUMBERS:
        x, low, high = (tensor(dtype, 3, 5, seed=i) for i in range(3))
        cases += [Case(x, low, high), Case(x, None, high[0]), Case(x, low[:, :1].clone(), None)]
    x, bound = pairs(special(torch.float32), special(torch.float32))
    cases += [Case(x, bound, None), Case(x, None, bound), Case(x, bound, bound.flip(0))]
    cases.append(Case(tensor(torch.int64, 3), tensor(torch.float32, 2, 1), tensor(torch.float64)))
    return cases


def wheres() -> list[Case]:
    cases = []
    for a, b in mixed(REAL + COMPLEX):
        condition = tensor(torch.bool, 3, 4)
        cases.append(Case(condition, tensor(a, 3, 4), tensor(b, 3, 4, seed=1)))
        cases.append(Case(condition, tensor(a), tensor(b, 4)))
    nhwc = channels_last(tensor(torch.float32, 2, 3, 4, 5))
    cases.append(Case(channels_last(nhwc > 0), nhwc, torch.tensor(-torch.inf)))
    cases.append(Case(tensor(torch.bool, 3, 1), special(torch.float32), torch.tensor(0.0)))
    cases.append(Case(tensor(torch.bool), tensor(torch.int64, 0), torch.tensor(1)))
    cases.append(
        Case(torch.tensor([2**60 + 1, 3]) > 3, torch.tensor([2**60 + 1, 3]), torch.tensor(2**61 + 1))
    )
    return cases


def masked_fills(value: Callable[[torch.dtype], object]) -> Make:
    def make() -> list[Case]:
        cases = []
        for dtype in REAL:
            cases.append(Case(tensor(dtype, 3, 4), tensor(torch.bool, 3, 4, seed=2), value(dtype)))
            cases.append(Case(tensor(dtype, 3, 4), tensor(torch.bool, 4, seed=2), value(dtype)))
        return cases

    return make


def copies(from_dtypes: Dtypes) -> Iterable[tuple[torch.Tensor, torch.dtype]]:
    for source in from_dtypes:
        for target in from_dtypes:
            if not (source.is_complex and not target.is_complex):
                yield tensor(source, 3, 5, low=-3, high=100), target


def copy_cases() -> list[Case]:
    cases = [Case(torch.zeros(3, 5, dtype=dtype), x) for x, dtype in copies(REAL + COMPLEX)]
    cases.append(Case(torch.zeros(2, 3), tensor(torch.float64, 3)))
    cases.append(Case(torch.zeros(2, 3), tensor(torch.int64)))
    cases.append(Case(torch.zeros(2, 3, 4, 5), channels_last(tensor(torch.float32, 2, 3, 4, 5))))
    return cases


def to_copy_cases() -> list[Case]:
    cases = [Case(x, dtype=dtype) for x, dtype in copies(REAL + COMPLEX)]
    cases += [Case(special(torch.float32), dtype=dtype) for dtype in FLOATING + BOOL]
    cases += [Case(special(dtype), dtype=torch.float16) for dtype in NUMBERS]
    nhwc = channels_last(tensor(torch.float32, 2, 3, 4, 5))
    cases.append(Case(nhwc, dtype=torch.float16, memory_format=torch.contiguous_format))
    cases.append(Case(nhwc.contiguous(), memory_format=torch.channels_last))
    return cases


def clone_cases() -> list[Case]:
    nhwc = channels_last(tensor(torch.float32, 2, 3, 4, 5))
    cases = [Case(tensor(dtype, 3, 5)) for dtype in REAL + COMPLEX]
    cases += [Case(tensor(torch.float32)), Case(tensor(torch.float32, 0, 2)), Case(special(torch.float32))]
    cases += [Case(nhwc, memory_format=torch.contiguous_format), Case(nhwc)]
    return cases


def clone_cases_without_format() -> list[Case]:
    return [Case(*case.args) for case in clone_cases()]


def glu_cases() -> list[Case]:
    cases = [Case(tensor(dtype, 4, 6)) for dtype in FLOATING]
    cases += [Case(tensor(torch.float32, 2, 4, 3), dim) for dim in (0, 1, -2)]
    cases.append(Case(channels_last(tensor(torch.float32, 2, 4, 3, 5)), 1))
    return cases


def dropout_cases() -> list[Case]:
    return [Case(tensor(dtype, 3, 5), 0.4, False) for dtype in FLOATING]


# Eager PyTorch computes these less precisely in double. test_special.py has exact values.
SINGLE = (torch.float32,)


def incomplete_gammas() -> list[Case]:
    a = torch.tensor([[0.0], [0.3], [1.0], [4.0], [11.5], [13.0], [60.0], [900.0]], dtype=torch.float64)
    x = a * torch.tensor([0.0, 0.1, 0.7, 0.98, 1.0, 1.03, 1.5, 6.0], dtype=torch.float64)
    return [Case(a.float(), x.float())]


def logits() -> list[Case]:
    inputs = [tensor(dtype, 3, 5, low=0.01, high=0.99) for dtype in FLOATING]
    edges = torch.tensor([0.0, 1.0, 0.5, -1.0, 2.0, float("nan")])
    return [Case(x, eps) for x in [*inputs, edges] for eps in (None, 0.1)] + [Case(tensor(torch.bool, 4))]


def roundings() -> list[Case]:
    cases = []
    for decimals in (0, 2, -1, 5):
        cases += [Case(tensor(dtype, 3, 5, low=-50, high=50), decimals=decimals) for dtype in FLOATS]
    return cases + [Case(special(torch.float32), decimals=0)]


SHIFTS = [(dtype, dtype) for dtype in INTS] + [(torch.int8, torch.int64), (torch.int64, torch.uint8)]
ANY = REAL + COMPLEX
UNARY_FLOAT = FLOATING + INTS + BOOL

CASES: dict[str, Make] = {
    "aten::_conj_physical.out": unary((torch.complex64, torch.complex128)),
    "aten::_to_copy.out": to_copy_cases,
    "aten::abs.out": unary(NUMBERS + COMPLEX),
    "aten::add.Scalar_out": several(
        with_number(ANY, [2]), with_number(FLOATING, [0.3], 2), with_number(NUMBERS, [3], -2)
    ),
    "aten::add.out": several(
        binary(ANY), lambda: [Case(*c.args, alpha=2) for c in binary(NUMBERS + COMPLEX, extremes=False)()]
    ),
    "aten::addcdiv.out": ternary(FLOATING + COMPLEX, value=0.7),
    "aten::addcmul.out": ternary(NUMBERS + COMPLEX, value=3),
    "aten::atan2.out": binary(UNARY_FLOAT),
    "aten::bitwise_and.Scalar_out": several(with_number(INTS, [5]), with_number(BOOL, [True])),
    "aten::bitwise_and.Tensor_out": binary(INTS + BOOL),
    "aten::bitwise_left_shift.Tensor_Scalar_out": with_number(INTS, [0, 1, 3, 7, 8]),
    "aten::bitwise_left_shift.Tensor_out": binary(INTS, high=9, partners=SHIFTS),
    "aten::bitwise_not.out": unary(INTS + BOOL),
    "aten::bitwise_or.Scalar_out": several(with_number(INTS, [5]), with_number(BOOL, [True])),
    "aten::bitwise_or.Tensor_out": binary(INTS + BOOL),
    "aten::bitwise_right_shift.Tensor_Scalar_out": with_number(INTS, [0, 1, 3, 7, 8]),
    "aten::bitwise_right_shift.Tensor_out": binary(INTS, high=9, partners=SHIFTS),
    "aten::bitwise_xor.Scalar_out": several(with_number(INTS, [5]), with_number(BOOL, [True])),
    "aten::bitwise_xor.Tensor_out": binary(INTS + BOOL),
    "aten::ceil.out": unary(NUMBERS),
    "aten::clamp.Tensor_out": clamps_by_tensors,
    "aten::clamp.out": clamps,
    "aten::clone.out": clone_cases,
    "aten::conj_physical.out": unary(ANY),
    "aten::copy.out": copy_cases,
    "aten::div.Scalar_mode_out": several(
        *(with_number(NUMBERS, [3, -2], mode) for mode in ("floor", "trunc")),
        *(with_number(FLOATING + INTS, [0.7], mode, specials=False) for mode in ("floor", "trunc", None)),
        *(quotients_of_halves(mode) for mode in ("floor", "trunc")),
    ),
    "aten::div.Scalar_out": several(with_number(ANY, [3, 0.5]), with_number(NUMBERS, [0])),
    "aten::div.out": several(binary(ANY)),
    "aten::div.out_mode": several(
        *(binary(NUMBERS, mode, divisor=True) for mode in ("floor", "trunc", None))
    ),
    "aten::elu.out": several(unary(FLOATING), unary(FLOATING, 0.5, 2.0, 1.5)),
    "aten::eq.Scalar_out": with_number(ANY, [1, 0.5]),
    "aten::eq.Tensor_out": binary(ANY),
    "aten::fill.Scalar_out": with_number(REAL, [3, 0, 1.5]),
    "aten::fill.Tensor_out": lambda: [
        Case(tensor(a, 3, 4), tensor(b))
        for a, b in mixed(REAL)
        if not (b.is_floating_point and a == torch.bool)
    ],
    "aten::floor.out": unary(NUMBERS),
    "aten::floor_divide.Scalar_out": several(with_number(NUMBERS, [3, 2]), quotients_of_halves()),
    "aten::floor_divide.out": binary(NUMBERS, divisor=True),
    "aten::fmod.Scalar_out": with_number(NUMBERS, [3, 2.5]),
    "aten::fmod.Tensor_out": binary(NUMBERS, divisor=True, extremes=False),
    "aten::frac.out": unary(FLOATING),
    "aten::ge.Scalar_out": with_number(REAL, [1, 0.5]),
    "aten::ge.Tensor_out": binary(REAL),
    "aten::gelu.out": several(
        # The result of eager PyTorch for infinity is NaN on some processors.
        unary(FLOATING, specials=False),
        lambda: [Case(*c.args, approximate="tanh") for c in unary(FLOATING)()],
    ),
    "aten::glu.out": glu_cases,
    "aten::gt.Scalar_out": with_number(REAL, [1, 0.5]),
    "aten::gt.Tensor_out": binary(REAL),
    "aten::hardshrink.out": several(unary(FLOATING), unary(FLOATING, 1.5)),
    "aten::hardsigmoid.out": unary(FLOATING),
    "aten::hardswish.out": unary(FLOATING, specials=False),
    "aten::hardtanh.out": several(
        unary(FLOATING),
        unary(FLOATING, 0, 6),
        unary(FLOATING, 3, 1),
        unary(FLOATING, float("nan"), 1),
        unary(FLOATING, 0, float("nan")),
    ),
    "aten::hypot.out": binary(FLOATING),
    "aten::isinf.out": unary(ANY),
    "aten::isnan.out": unary(ANY),
    "aten::le.Scalar_out": with_number(REAL, [1, 0.5]),
    "aten::le.Tensor_out": binary(REAL),
    "aten::leaky_relu.out": several(unary(FLOATING), unary(FLOATING, 0.2)),
    "aten::lerp.Scalar_out": lambda: [Case(*c.args[:2], w) for c in ternary(FLOATING)() for w in (0.3, 0.8)],
    "aten::lerp.Tensor_out": ternary(FLOATING),
    "aten::logical_and.out": binary(ANY),
    "aten::logical_not.out": unary(ANY),
    "aten::logical_or.out": binary(ANY),
    "aten::logical_xor.out": binary(ANY),
    "aten::logit.out": logits,
    "aten::lt.Scalar_out": with_number(REAL, [1, 0.5]),
    "aten::lt.Tensor_out": binary(REAL),
    "aten::masked_fill.Scalar_out": masked_fills(lambda dtype: True if dtype == torch.bool else 3),
    "aten::masked_fill.Tensor_out": masked_fills(lambda dtype: tensor(dtype)),
    "aten::maximum.out": binary(REAL),
    "aten::minimum.out": binary(REAL),
    "aten::mish.out": unary(FLOATING, specials=False),
    "aten::mul.Scalar_out": with_number(ANY, [2, 0.3]),
    "aten::mul.out": binary(ANY),
    "aten::ne.Scalar_out": with_number(ANY, [1, 0.5]),
    "aten::ne.Tensor_out": binary(ANY),
    "aten::neg.out": unary(NUMBERS + COMPLEX),
    "aten::pow.Scalar_out": lambda: [
        Case(base, tensor(dtype, 3, 5, low=0)) for dtype in ANY for base in (2, 0.5, 3) if dtype != torch.bool
    ],
    "aten::pow.Tensor_Scalar_out": several(
        with_number(NUMBERS + COMPLEX, [2, 3]), with_number(FLOATING, [0, 0.5, 1, -1, -2, 1.7, -0.5, 4])
    ),
    "aten::pow.Tensor_Tensor_out": several(binary(FLOATING), binary(INTS)),
    "aten::reciprocal.out": unary(UNARY_FLOAT + COMPLEX),
    "aten::relu.out": unary(NUMBERS),
    "aten::remainder.Scalar_out": with_number(NUMBERS, [3, 2.5]),
    "aten::remainder.Tensor_out": binary(NUMBERS, divisor=True, extremes=False),
    "aten::round.decimals_out": roundings,
    "aten::round.out": unary(NUMBERS),
    "aten::rsqrt.out": unary(UNARY_FLOAT + COMPLEX),
    "aten::rsub.Scalar_out": with_number(NUMBERS + COMPLEX, [2], 3),
    "aten::rsub.Tensor_out": binary(NUMBERS + COMPLEX),
    "aten::sigmoid.out": unary(UNARY_FLOAT + COMPLEX),
    "aten::sign.out": unary(REAL),
    "aten::silu.out": unary(FLOATING, specials=False),
    "aten::softplus.out": several(unary(FLOATING), unary(FLOATING, 2.0, 3.0)),
    "aten::softshrink.out": several(unary(FLOATING), unary(FLOATING, 1.5)),
    "aten::square.out": unary(ANY),
    "aten::sub.Scalar_out": several(with_number(NUMBERS + COMPLEX, [2]), with_number(NUMBERS, [3], 2)),
    "aten::sub.out": several(
        binary(NUMBERS + COMPLEX),
        lambda: [Case(*c.args, alpha=2) for c in binary(NUMBERS + COMPLEX, extremes=False)()],
    ),
    "aten::threshold.out": unary(NUMBERS, 1, 7),
    "aten::trunc.out": unary(NUMBERS),
    "aten::where.self_out": wheres,
    "aten::angle.out": unary(ANY),
    "aten::celu.out": unary(FLOATING, 1.5),
    "aten::clamp_max.Tensor_out": binary(REAL),
    "aten::clamp_max.out": with_number(NUMBERS, [1, -1]),
    "aten::clamp_min.Tensor_out": binary(REAL),
    "aten::clamp_min.out": with_number(NUMBERS, [1, -1]),
    "aten::complex.out": lambda: [Case(tensor(d, 3, 4), tensor(d, 4, seed=1)) for d in FLOATS],
    "aten::copysign.Scalar_out": with_number(UNARY_FLOAT, [2, -1.5]),
    "aten::copysign.out": binary(UNARY_FLOAT),
    "aten::detach_copy.out": clone_cases_without_format,
    "aten::digamma.out": several(
        unary(FLOATS, low=-5.3, high=20), unary(FLOAT16_TYPES + INTS, low=1, specials=False)
    ),
    "aten::erfinv.out": unary(FLOATING, low=-0.999, high=0.999),
    "aten::fmax.out": binary(REAL),
    "aten::fmin.out": binary(REAL),
    "aten::gcd.out": binary(INTS, high=60, extremes=False),
    "aten::heaviside.out": binary(REAL, partners=[(dtype, dtype) for dtype in REAL]),
    "aten::isneginf.out": unary(REAL),
    "aten::isposinf.out": unary(REAL),
    "aten::lcm.out": binary(INTS, high=60, extremes=False),
    "aten::lift_fresh_copy.out": clone_cases_without_format,
    "aten::log_sigmoid_forward.output": lambda: [Case(c.args[0]) for c in unary(FLOATING)()],
    "aten::logaddexp.out": binary(FLOATING),
    "aten::logaddexp2.out": binary(FLOATING),
    "aten::max.out": binary(REAL),
    "aten::min.out": binary(REAL),
    "aten::nan_to_num.out": several(unary(REAL), unary(FLOATING, 1.5, 7.0, -8.0)),
    "aten::native_dropout.out": dropout_cases,
    "aten::nextafter.out": binary(FLOATING, partners=[(dtype, dtype) for dtype in FLOATING]),
    "aten::polar.out": lambda: [Case(tensor(d, 3, 4), tensor(d, 3, 4, seed=1)) for d in FLOATS],
    "aten::sgn.out": unary(ANY),
    "aten::signbit.out": unary(REAL),
    "aten::true_divide.out": binary(REAL),
    "aten::xlogy.OutScalar_Other": with_number(UNARY_FLOAT, [2, 0.5]),
    "aten::xlogy.OutScalar_Self": lambda: [
        Case(c.args[1], c.args[0]) for c in with_number(UNARY_FLOAT, [2, 0])()
    ],
    "aten::xlogy.OutTensor": binary(UNARY_FLOAT),
    "aten::frexp.Tensor_out": unary(FLOATING),
    "aten::igamma.out": incomplete_gammas,
    "aten::igammac.out": incomplete_gammas,
    "aten::polygamma.out": lambda: [
        Case(n, *c.args) for n in (0, 1, 3) for c in unary(SINGLE, low=0.5, specials=False)()
    ],
    "aten::special_erfcx.out": unary(FLOATS + INTS + BOOL, low=-3),
    "aten::special_ndtri.out": unary(FLOATS, low=0.01, high=0.99),
    "aten::special_zeta.other_scalar_out": with_number(FLOATS, [2, 0.5], specials=False),
    "aten::special_zeta.out": lambda: [
        Case(torch.rand(3, 4, dtype=d) * 6 + 1.1, torch.rand(4, dtype=d) * 20 - 0.5) for d in FLOATS
    ],
    "aten::special_zeta.self_scalar_out": lambda: [
        Case(c.args[1], c.args[0].abs() + 0.5) for c in with_number(FLOATS, [2, 3.5], specials=False)()
    ],
}
for _name in ("i0", "special_i0e", "special_i1", "special_i1e"):
    CASES[f"aten::{_name}.out"] = unary(FLOATS + INTS + BOOL, low=-40, high=40, specials=False)
for _name in ("bessel_j0", "bessel_j1"):
    CASES[f"aten::special_{_name}.out"] = unary(SINGLE + INTS + BOOL, specials=False)
for _name in ("bessel_y0", "bessel_y1"):
    CASES[f"aten::special_{_name}.out"] = unary(SINGLE, low=0.1, high=9, specials=False)
for _name in ("modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0"):
    CASES[f"aten::special_{_name}.out"] = unary(FLOATS + INTS + BOOL, specials=False)
for _name in ("modified_bessel_k0", "modified_bessel_k1"):
    CASES[f"aten::special_{_name}.out"] = unary(FLOATS + INTS, low=0.1, high=9, specials=False)
for _name in ("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"):
    CASES[f"aten::special_{_name}.out"] = unary(FLOATS + INTS, low=0.1, high=60, specials=False)
for _name in ("acos", "asin", "atanh"):
    CASES[f"aten::{_name}.out"] = unary(UNARY_FLOAT + COMPLEX, low=-0.9, high=0.9)
for _name in ("acosh", "log", "log10"):
    CASES[f"aten::{_name}.out"] = unary(UNARY_FLOAT + COMPLEX, low=0.6)
for _name in ("asinh", "atan", "cos", "cosh", "exp", "sin", "sinh", "sqrt", "tan", "tanh"):
    CASES[f"aten::{_name}.out"] = unary(UNARY_FLOAT + COMPLEX)
for _name in ("erf", "erfc", "exp2", "expm1", "lgamma"):
    CASES[f"aten::{_name}.out"] = unary(UNARY_FLOAT)
for _name in ("log1p", "log2"):
    CASES[f"aten::{_name}.out"] = unary(UNARY_FLOAT, low=-0.5)
