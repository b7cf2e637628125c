"""Every reduction, scan, sort and normalization agrees with eager PyTorch in every supported dtype."""

from __future__ import annotations

import pytest
import torch
from tests.ops.harness import TOLERANCE, Case, assert_same, check, compute
from tests.ops.ordering_cases import CASES as ORDERING
from tests.ops.reduction_cases import CASES as REDUCTIONS
from tests.ops.reduction_cases import FLOATING
from tests.ops.samples import channels_last, tensor

from rushlight.runtime import call_kernel
from rushlight.runtime.errors import RushlightError

CASES = {**REDUCTIONS, **ORDERING}


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", CASES)
def test_reduction(name: str) -> None:
    for case in CASES[name]():
        check(name, case, "portable", **tolerance(name, case))


def tolerance(name: str, case: Case) -> dict[str, float]:
    """Eager adds gradients of 16-bit weights in 16 bits; their order depends on its number of threads."""
    is_rounded = name == "aten::native_layer_norm_backward.out" and case.args[0].dtype.itemsize == 2
    return {"rtol": 4 * TOLERANCE[case.args[0].dtype][0]} if is_rounded else {}


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("training", [True, False])
def test_native_batch_norm_legit_updates_the_running_statistics(dtype: torch.dtype, training: bool) -> None:
    x, weight, bias = tensor(dtype, 2, 3, 4, 5), tensor(dtype, 3, seed=1), tensor(dtype, 3, seed=2)
    mean, var = tensor(dtype, 3, seed=3), tensor(dtype, 3, seed=4, low=0.5)
    eager_mean, eager_var = mean.clone(), var.clone()
    wanted = torch.ops.aten._native_batch_norm_legit(
        x, weight, bias, eager_mean, eager_var, training, 0.1, 1e-5
    )
    outs = [torch.empty_like(w) for w in wanted]
    args = [x, weight, bias, mean, var, training, 0.1, 1e-5, *outs]
    call_kernel("aten::_native_batch_norm_legit.out", args, "portable")
    assert_same([*outs, mean, var], [*wanted, eager_mean, eager_var], dtype)


def test_long_sums_stay_exact() -> None:
    x = torch.full((1 << 20,), 0.1)
    for name in ("aten::sum.IntList_out", "aten::mean.out"):
        out = torch.empty(())
        call_kernel(name, [x, [0], False, None, out], "portable")
        reference = x.double().sum() if "sum" in name else x.double().mean()
        assert_same([out], [reference.float()], name, rtol=1e-7, atol=0)


def test_softmax_in_place() -> None:
    x = tensor(torch.float32, 3, 1000)
    wanted = torch.softmax(x, 1)
    assert_same(compute("aten::_softmax.out", Case(x, 1, False), [x]), [wanted], "softmax")


def test_softmax_of_half_into_float() -> None:
    x = tensor(torch.float16, 3, 40)
    out = torch.empty(3, 40)
    for name in ("softmax", "log_softmax"):
        wanted = getattr(torch, name)(x.float(), 1)
        assert_same(compute(f"aten::_{name}.out", Case(x, 1, True), [out]), [wanted], name)


def test_layer_norm_of_channels_last() -> None:
    x = channels_last(tensor(torch.float32, 2, 3, 4, 5))
    weight = tensor(torch.float32, 5, seed=1)
    wanted = torch.nn.functional.layer_norm(x, [5], weight)
    outs = [torch.empty_like(x), torch.empty(2, 3, 4, 1), torch.empty(2, 3, 4, 1)]
    args = [x, [5], weight, None, 1e-5, *outs]
    call_kernel("aten::native_layer_norm.out", args, "portable")
    assert_same(outs[:1], [wanted], "layer_norm")


def test_equal_elements_keep_their_order() -> None:
    x = torch.tensor([1, 0, 1, 0, 1] * 50)
    for descending in (False, True):
        check("aten::sort.values_stable", Case(x, stable=True, dim=0, descending=descending))


LONG = torch.int64
ROWS = torch.zeros(2, 3)
REFUSED: list[tuple[str, tuple[object, ...], str]] = [
    ("amax.out", (torch.zeros(2, 0), [1], False, torch.zeros(2)), "no elements"),
    ("argmax.out", (torch.zeros(0), None, False, torch.zeros((), dtype=LONG)), "no elements"),
    ("sum.IntList_out", (torch.zeros(2, 3), [2], False, None, torch.zeros(2)), "out of range"),
    ("sum.IntList_out", (torch.zeros(2, 3), [1, -1], False, None, torch.zeros(2)), "twice"),
    ("topk.values", (torch.zeros(3), 4, 0, True, True, torch.zeros(4), torch.zeros(4, dtype=LONG)), "k is 4"),
    (
        "native_layer_norm.out",
        (torch.zeros(3), [4], None, None, 0.1, *[torch.zeros(3)] * 3),
        "normalized_shape",
    ),
    (
        "native_group_norm.out",
        (torch.zeros(2, 3), None, None, 2, 3, 1, 2, 0.1, *[torch.zeros(2, 3)] * 3),
        "groups",
    ),
    ("_cdist_forward.out", (torch.zeros(2, 3), torch.zeros(2, 4), 2.0, None, torch.zeros(2, 2)), "lengths"),
]


@pytest.mark.parametrize(("name", "args", "message"), REFUSED)
def test_what_is_refused(name: str, args: tuple[object, ...], message: str) -> None:
    with pytest.raises(RushlightError, match=message):
        call_kernel(f"aten::{name}", args, "portable")


@pytest.mark.parametrize("shape", [(1, 5), (3, 300), (300, 3), (2, 5, 300)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool], ids=str)
def test_extremes_so_far_of_rows_and_columns(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = tensor(dtype, *shape)
    if dtype == torch.float32:
        x[0, 2] = float("nan")
        x[0, 0] = -float("inf")
    for dim in range(len(shape)):
        for name in ("cummax", "cummin"):
            check(f"aten::{name}.out", Case(x, dim))


@pytest.mark.parametrize(
    "shape", [(1, 5), (4, 130), (7, 300), (130, 3), (2, 33, 600), (2, 3, 5, 129)], ids=str
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8], ids=str)
def test_scans_of_rows_and_columns(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = tensor(dtype, *shape)
    for given in (x, channels_last(x)) if len(shape) == 4 else (x,):
        for dim in range(len(shape)):
            for name, function in (("cumsum", torch.cumsum), ("cumprod", torch.cumprod)):
                expected = function(given, dim)
                out = torch.empty_strided(expected.shape, given.stride(), dtype=expected.dtype)
                call_kernel(f"aten::{name}.out", [given, dim, None, out], None, 2)
                torch.testing.assert_close(out, expected, check_stride=False)
