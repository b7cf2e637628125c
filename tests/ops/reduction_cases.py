"""Cases for reductions, scans, sorts and normalizations: a list for every row of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from tests.ops.harness import BOOL, COMPLEX, FLOAT16_TYPES, FLOATS, INTS, REAL, Case
from tests.ops.samples import channels_last, special, tensor

Dtypes = tuple[torch.dtype, ...]
Make = Callable[[], list[Case]]
FLOATING = FLOATS + FLOAT16_TYPES
NUMBERS = FLOATING + INTS
INF, NAN = float("inf"), float("nan")

# Reduced dims of a tensor of rank 3.
DIMS: list[object] = [[0], [1], [-1], [0, 2], [1, 2], [0, 1, 2], []]


def distinct(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Returns a tensor whose rows have distinct elements (except bool), so that orders are unique."""
    numel = int(torch.Size(shape).numel())
    order = torch.randperm(numel, generator=torch.Generator().manual_seed(numel)) - numel // 2
    if dtype == torch.uint8:
        order = order + numel // 2
    return order.view(shape).to(dtype)


def over_dims(
    dtypes: Dtypes, *, low: float = -4, high: float = 4, empty: bool = True, infinite: bool = True
) -> Make:
    """Returns cases with a tensor, dims and keepdim, optionally without elements and with infinities."""

    def make() -> list[Case]:
        cases = []
        for dtype in dtypes:
            x = tensor(dtype, 3, 4, 5, low=low, high=high)
            cases += [Case(x, dims, keep) for dims in DIMS for keep in (False, True)]
            cases.append(Case(tensor(dtype, low=low, high=high), [], False))
            cases.append(Case(tensor(dtype, 2, 300, low=low, high=high), [1], False))
            cases.append(Case(tensor(dtype, 300, 40, low=low, high=high), [0], False))
            if dtype.is_floating_point:
                if infinite:
                    cases.append(Case(special(dtype)[:-3].view(-1, 1), [1], False))
                for value in (INF, -INF, NAN) if infinite else (NAN,):
                    cases.append(Case(torch.tensor([1.0, value, 2.0], dtype=dtype), [0], False))
        nhwc = channels_last(tensor(dtypes[0], 2, 3, 4, 5, low=low, high=high))
        cases += [Case(nhwc, dims, False) for dims in ([1], [2, 3], [0, 1, 2, 3], [0, 2])]
        cases.append(Case(nhwc, [1], True))
        if empty:
            cases += [Case(tensor(dtypes[0], 2, 0, 3), [1], False), Case(tensor(dtypes[0], 0, 3), [1], True)]
        return cases

    return make


def over_dim(dtypes: Dtypes, *, unique: bool = False, empty: bool = True) -> Make:
    """Returns cases with a tensor, one dim and keepdim."""
    values = distinct if unique else tensor

    def make() -> list[Case]:
        cases = []
        for dtype in dtypes:
            x = values(dtype, 3, 4, 5)
            cases += [Case(x, dim, keep) for dim in (0, 1, -1) for keep in (False, True)]
            cases += [Case(tensor(dtype), 0, False), Case(values(dtype, 2, 40), 1, False)]
            if dtype.is_floating_point:
                cases.append(Case(torch.tensor([[1.0, NAN, NAN], [-INF, INF, 2.0]], dtype=dtype), 1, False))
        cases += [Case(channels_last(values(dtypes[0], 2, 3, 4, 5)), dim, False) for dim in (1, 3)]
        if empty:
            cases.append(Case(tensor(dtypes[0], 2, 0, 3), 1, False))
        return cases

    return make


def whole(dtypes: Dtypes, *, low: float = -4, high: float = 4, empty: bool = True) -> Make:
    """Returns cases with a tensor that is reduced to one number."""

    def make() -> list[Case]:
        cases = [Case(tensor(dtype, 3, 4, 5, low=low, high=high)) for dtype in dtypes]
        cases += [Case(tensor(dtype, low=low, high=high)) for dtype in dtypes]
        cases.append(Case(channels_last(tensor(dtypes[0], 2, 3, 4, 5, low=low, high=high))))
        cases.append(Case(torch.tensor([1.0, NAN, 2.0]).to(dtypes[0])))
        return cases + ([Case(tensor(dtypes[0], 0, 3))] if empty else [])

    return make


def several(*makes: Make) -> Make:
    return lambda: [case for make in makes for case in make()]


def with_dtype(make: Make, dtypes: Iterable[torch.dtype]) -> Make:
    """Returns the cases with a dtype for the result."""
    wanted = list(dtypes)
    return lambda: [Case(*c.args, dtype=wanted[i % len(wanted)]) for i, c in enumerate(make())]


def arg_extremes() -> list[Case]:
    cases = over_dim(NUMBERS, unique=True, empty=False)()
    cases += [Case(distinct(dtype, 3, 4, 5)) for dtype in NUMBERS]
    cases += [Case(distinct(torch.float32, 3, 4), None, True), Case(torch.tensor([1, 3, 3, 1]), 0)]
    cases += [
        Case(torch.tensor([1.0, NAN, 3.0, NAN])),
        Case(channels_last(distinct(torch.float32, 2, 3, 4, 5))),
    ]
    return cases


def scans(dtypes: Dtypes) -> Make:
    def make() -> list[Case]:
        cases = []
        for dtype in dtypes:
            cases += [Case(tensor(dtype, 3, 4, 5, low=-2, high=2), dim) for dim in (0, 1, -1)]
            cases += [Case(tensor(dtype), 0), Case(tensor(dtype, 2, 150, low=-1, high=1), 1)]
            if dtype.is_floating_point:
                cases.append(Case(torch.tensor([1.0, -INF, 2.0, INF, 3.0, NAN, 1.0], dtype=dtype), 0))
        cases += [Case(channels_last(tensor(dtypes[0], 2, 3, 4, 5)), 1), Case(tensor(dtypes[0], 2, 0), 1)]
        return cases

    return make


def softmaxes() -> list[Case]:
    cases = []
    for dtype in FLOATING:
        cases += [Case(tensor(dtype, 3, 4, 5), dim, False) for dim in (0, 1, -1)]
        cases += [Case(tensor(dtype), 0, False), Case(tensor(dtype, 2, 1000, low=-9, high=9), 1, False)]
        cases.append(
            Case(torch.tensor([[1.0, -INF], [-INF, -INF], [INF, 1.0], [NAN, 1.0]], dtype=dtype), 1, False)
        )
    cases += [Case(channels_last(tensor(torch.float32, 2, 3, 4, 5)), 1, False)]
    cases += [Case(tensor(torch.float32, 0, 3), 1, False), Case(tensor(torch.float32, 3, 0), 1, False)]
    cases.append(Case(torch.tensor([[1e4, -1e4, 1e4 - 1]]), 1, False))
    return cases


def vector_norms() -> list[Case]:
    cases = []
    for order in (2, 1, 0, 3, 0.5, INF, -INF, -1):
        for dtype in FLOATING + COMPLEX:
            cases.append(Case(tensor(dtype, 3, 4, 5), order, [1], True))
        cases.append(Case(tensor(torch.float32, 3, 4), order))
        cases.append(Case(tensor(torch.float32, 4, 300), order, [-1]))
    cases.append(Case(tensor(torch.float16, 3, 4), 2, [0], dtype=torch.float32))
    cases += [Case(tensor(torch.float32, 0, 3), 2, [0]), Case(torch.tensor([1.0, NAN, INF]), INF)]
    return cases


def norms() -> list[Case]:
    return [
        Case(tensor(d, 3, 4, 5), p, dims, keep)
        for d in FLOATING
        for p in (None, 1, 3)
        for dims, keep in (([1], True), ([0, 2], False))
    ]


def cdists() -> list[Case]:
    cases = []
    for p in (0.0, 1.0, 2.0, 3.0, INF):
        cases.append(Case(tensor(torch.float32, 4, 3), tensor(torch.float32, 5, 3, seed=1), p, None))
        cases.append(Case(tensor(torch.float64, 2, 1, 4, 3), tensor(torch.float64, 6, 5, 3, seed=1), p, None))
    cases.append(Case(tensor(torch.float32, 2, 200), tensor(torch.float32, 3, 200, seed=1), 2.0, 2))
    cases.append(Case(tensor(torch.float32, 2, 0), tensor(torch.float32, 3, 0), 2.0, None))
    cases.append(Case(tensor(torch.float32, 0, 2), tensor(torch.float32, 3, 2), 2.0, None))
    return cases


def pdists() -> list[Case]:
    return [Case(tensor(d, 5, 3), p) for d in FLOATS for p in (0.0, 1.0, 2.0, 3.0, INF)] + [
        Case(tensor(torch.float32, 1, 3), 2.0),
        Case(tensor(torch.float32, 3, 0), 2.0),
    ]


def layer_norms() -> list[Case]:
    cases = []
    for dtype in FLOATING:
        x = tensor(dtype, 3, 4, 5)
        weight, bias = tensor(dtype, 5, seed=1), tensor(dtype, 5, seed=2)
        cases += [
            Case(x, [5], weight, bias, 1e-5),
            Case(x, [5], None, None, 1e-5),
            Case(x, [5], weight, None, 0.1),
        ]
        cases.append(Case(x, [4, 5], tensor(dtype, 4, 5, seed=1), tensor(dtype, 4, 5, seed=2), 1e-5))
        cases.append(Case(tensor(dtype, 2, 700), [700], None, tensor(dtype, 700, seed=2), 1e-5))
    cases.append(Case(tensor(torch.float32, 0, 5), [5], None, None, 1e-5))
    return cases


def group_norms() -> list[Case]:
    cases = []
    for dtype in FLOATING:
        weight, bias = tensor(dtype, 6, seed=1), tensor(dtype, 6, seed=2)
        for group in (1, 2, 6):
            cases.append(Case(tensor(dtype, 2, 6, 3, 4), weight, bias, 2, 6, 12, group, 1e-5))
        cases.append(Case(tensor(dtype, 2, 6, 5), None, bias, 2, 6, 5, 3, 1e-5))
    weight = tensor(torch.float32, 6, seed=1)
    cases.append(Case(channels_last(tensor(torch.float32, 2, 6, 3, 4)), weight, weight, 2, 6, 12, 2, 1e-5))
    return cases


def batch_norms(*flags: object, running: bool) -> Make:
    def make() -> list[Case]:
        cases = []
        for dtype in FLOATING:
            weight, bias = tensor(dtype, 3, seed=1), tensor(dtype, 3, seed=2)
            stats = [tensor(dtype, 3, seed=3), tensor(dtype, 3, seed=4, low=0.5)] if running else []
            cases.append(Case(tensor(dtype, 2, 3, 4, 5), weight, bias, *stats, *flags))
            cases.append(Case(tensor(dtype, 4, 3), None, None, *stats, *flags))
        stats = (
            [tensor(torch.float32, 3, seed=3), tensor(torch.float32, 3, seed=4, low=0.5)] if running else []
        )
        cases.append(Case(channels_last(tensor(torch.float32, 2, 3, 4, 5)), None, None, *stats, *flags))
        return cases

    return make


def softmax_gradients(forward: Callable[[torch.Tensor, int], torch.Tensor]) -> Make:
    def make() -> list[Case]:
        cases = []
        for dtype in FLOATING:
            for dim in (0, 1, -1):
                output = forward(tensor(dtype, 3, 4, 5, seed=1), dim)
                cases.append(Case(tensor(dtype, 3, 4, 5), output, dim, dtype))
        output = forward(tensor(torch.float32, 2, 300, seed=1), 1)
        return [*cases, Case(tensor(torch.float32, 2, 300), output, 1, torch.float32)]

    return make


def layer_norm_gradients() -> list[Case]:
    cases = []
    for dtype in FLOATING:
        for shape in ([5], [4, 5]):
            x, weight = tensor(dtype, 3, 4, 5), tensor(dtype, *shape, seed=1)
            _, mean, rstd = torch.native_layer_norm(x, shape, weight, weight, 1e-5)
            grad = tensor(dtype, 3, 4, 5, seed=2)
            cases.append(Case(grad, x, shape, mean, rstd, weight, weight, [True, True, True]))
    return cases


def group_norm_gradients() -> list[Case]:
    cases = []
    for dtype in FLOATING:
        for group in (1, 2, 6):
            x, weight = tensor(dtype, 2, 6, 3, 4), tensor(dtype, 6, seed=1)
            _, mean, rstd = torch.native_group_norm(x, weight, weight, 2, 6, 12, group, 1e-5)
            grad = tensor(dtype, 2, 6, 3, 4, seed=2)
            cases.append(Case(grad, x, mean, rstd, weight, 2, 6, 12, group, [True, True, True]))
    return cases


POSITIVE_SMALL: dict[str, Any] = {"low": 0.5, "high": 1.5}
CASES: dict[str, Make] = {
    "aten::_cdist_forward.out": cdists,
    "aten::_log_softmax.out": softmaxes,
    "aten::_native_batch_norm_legit.no_stats_out": batch_norms(True, 0.1, 1e-5, running=False),
    "aten::_native_batch_norm_legit_no_training.out": batch_norms(0.1, 1e-5, running=True),
    "aten::_pdist_forward.out": pdists,
    "aten::_softmax.out": softmaxes,
    "aten::all.all_out": whole(REAL + COMPLEX),
    "aten::all.dims_out": over_dims(REAL),
    "aten::all.out": over_dim(REAL + COMPLEX),
    "aten::amax.out": over_dims(REAL, empty=False),
    "aten::amin.out": over_dims(REAL, empty=False),
    "aten::aminmax.out": lambda: [
        Case(c.args[0], dim=c.args[1], keepdim=c.args[2]) for c in over_dim(NUMBERS + BOOL, empty=False)()
    ],
    "aten::any.all_out": whole(REAL + COMPLEX),
    "aten::any.dims_out": over_dims(REAL),
    "aten::any.out": over_dim(REAL + COMPLEX),
    "aten::argmax.out": arg_extremes,
    "aten::argmin.out": arg_extremes,
    "aten::cumprod.out": several(
        scans(REAL + COMPLEX), with_dtype(scans(INTS), [torch.float32, torch.int64])
    ),
    "aten::cumsum.out": several(scans(REAL + COMPLEX), with_dtype(scans(INTS), [torch.float32, torch.int64])),
    "aten::linalg_vector_norm.out": vector_norms,
    "aten::logcumsumexp.out": scans(FLOATING),
    "aten::logsumexp.out": lambda: [c for c in over_dims(FLOATING)() if c.args[1]],
    "aten::max.dim_max": over_dim(NUMBERS + BOOL, unique=True, empty=False),
    "aten::max.unary_out": whole(NUMBERS + BOOL, empty=False),
    "aten::mean.dtype_out": several(whole(FLOATING + COMPLEX), with_dtype(whole(INTS), FLOATING)),
    "aten::mean.out": several(over_dims(FLOATING + COMPLEX), with_dtype(over_dims(INTS), FLOATING)),
    "aten::min.dim_min": over_dim(NUMBERS + BOOL, unique=True, empty=False),
    "aten::min.unary_out": whole(NUMBERS + BOOL, empty=False),
    "aten::native_group_norm.out": group_norms,
    "aten::native_layer_norm.out": layer_norms,
    "aten::norm.Scalar_out": lambda: [Case(tensor(d, 3, 4), p) for d in FLOATING for p in (2, 1, 3)],
    "aten::norm.out": norms,
    "aten::prod.int_out": several(
        over_dim(REAL + COMPLEX),
        with_dtype(over_dim(INTS + FLOATING), [torch.float32, torch.int64, torch.float64]),
    ),
    "aten::prod.out": several(
        whole(REAL + COMPLEX, **POSITIVE_SMALL),
        with_dtype(whole(INTS), [torch.float32]),
    ),
    "aten::std.correction_out": lambda: [
        Case(c.args[0], c.args[1], correction=k, keepdim=c.args[2])
        for i, c in enumerate(over_dims(FLOATING)())
        for k in ((0, None) if i % 2 else (1, 2.5))
    ],
    "aten::std.out": lambda: [
        Case(c.args[0], c.args[1], u, c.args[2]) for c in over_dims(FLOATING)() for u in (True, False)
    ],
    "aten::sum.IntList_out": several(
        over_dims(REAL + COMPLEX),
        with_dtype(over_dims(INTS + FLOATING), [torch.float32, torch.int64, torch.float64]),
    ),
    "aten::sum.out": several(whole(REAL + COMPLEX), with_dtype(whole(INTS), [torch.float32, torch.int32])),
    "aten::_log_softmax_backward_data.out": softmax_gradients(torch.log_softmax),
    "aten::_softmax_backward_data.out": softmax_gradients(torch.softmax),
    "aten::count_nonzero.dim_IntList_out": lambda: [Case(*c.args[:2]) for c in over_dims(REAL)()],
    "aten::count_nonzero.out": several(
        whole(REAL + COMPLEX), lambda: [Case(*c.args[:2]) for c in over_dim(REAL)()]
    ),
    "aten::cummax.out": scans(REAL),
    "aten::cummin.out": scans(REAL),
    "aten::nansum.out": several(over_dims(REAL), with_dtype(over_dims(FLOATS), FLOATS)),
    "aten::native_group_norm_backward.out": group_norm_gradients,
    "aten::native_layer_norm_backward.out": layer_norm_gradients,
}
CASES["aten::var.correction_out"] = CASES["aten::std.correction_out"]
for _name in ("std_mean", "var_mean"):
    CASES[f"aten::{_name}.correction_out"] = lambda: [
        Case(c.args[0], c.args[1], correction=k, keepdim=c.args[2])
        for c in over_dims(FLOATING, infinite=False)()
        for k in (0, None)
    ]
CASES["aten::var.out"] = CASES["aten::std.out"]
