"""Every kernel with damaged arguments returns an error or the result of eager PyTorch, and never crashes."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from tests.fuzz.calls import LIBRARIES, Call, calls, rows
from tests.fuzz.corpus import number_of_outs
from tests.fuzz.damage import damaged_calls
from tests.ops.harness import TOLERANCE, Case, assert_same, blank, compute, expected, operator

from rushlight.runtime import RushlightError, call_kernel, kernel_names

EXAMPLES = int(os.environ.get("RUSHLIGHT_EXAMPLES", "6"))  # examples for each kernel

# By a part of the name of a kernel: the reason why eager PyTorch does not determine the results.
UNDETERMINED = {
    "executorch_prim": "no tensors",
    "rand": "random numbers",
    "dropout": "random numbers",
    "empty": "memory that is not written",
    "argsort": "equal elements in any order",
    "_linalg_eigh": "signs of vectors",
    "_linalg_svd": "signs of vectors",
    "_linalg_det": "factors of a matrix or of its transpose",
    "_linalg_slogdet": "factors of a matrix or of its transpose",
    "_native_batch_norm_legit.out": "updates of arguments",
    "kthvalue": "any of equal elements",
    "llama": "changed arguments, and operators without an out variant in eager PyTorch",
    "preprocess": "operators without an out variant in eager PyTorch",
    "split": "lists of outs",
}
MAX_ELEMENTS = 1 << 18

pytestmark = pytest.mark.damage


def outs_of(call: Call) -> int:
    return number_of_outs(call.name, len(call.args))


def succeeds(call: Call) -> bool:
    try:
        call_kernel(call.name, call.args, call.library)
    except RushlightError:
        return False
    return True


def is_determined(call: Call) -> bool:
    """Whether eager PyTorch determines the result.

    With huge numbers, its arithmetic overflows in another way.
    """
    return not any(part in call.name for part in UNDETERMINED) and all(map(is_usual, call.args))


def is_usual(value: object) -> bool:
    if isinstance(value, list):
        return all(map(is_usual, value))
    return not isinstance(value, int | float) or abs(value) < 1 << 20


def assert_result_of_eager(call: Call) -> None:
    """If kernel and eager PyTorch accept a call, their results must agree."""
    case = Case(*call.args[: len(call.args) - outs_of(call)])
    try:
        wanted = expected(call.name, case)
    except Exception:  # eager PyTorch refuses more dtypes
        return
    if not all(isinstance(result, torch.Tensor) and result.numel() <= MAX_ELEMENTS for result in wanted):
        return
    try:
        got = compute(call.name, case, [blank(result) for result in wanted], call.library)
    except RushlightError:  # the result of eager PyTorch has a dtype that the kernel does not write
        return
    for one, other in zip(got, wanted, strict=True):
        rtol = 10 * TOLERANCE.get(other.dtype, (0.0, 0.0))[0]
        assert_same([one], [other], call, rtol=rtol, atol=rtol * largest(wanted))


def largest(tensors: Sequence[torch.Tensor]) -> float:
    """Returns the largest finite magnitude, at least 1."""
    wide = [tensor.to(torch.complex128 if tensor.is_complex() else torch.float64) for tensor in tensors]
    magnitudes = [tensor.abs().flatten() for tensor in wide]
    finite = [float(x[x.isfinite()].max()) for x in magnitudes if x.isfinite().any()]
    return max([1.0, *finite])


def test_every_row_of_the_tables_is_reached() -> None:
    """Each row of each table has a successful call, which the next tests damage."""
    reached = {
        library: [name for name in kernel_names(library) if any(map(succeeds, calls(library, name)))]
        for library in LIBRARIES
    }
    assert reached == {library: kernel_names(library) for library in LIBRARIES}
    assert sum(map(len, reached.values())) == len(rows()) > 500


@pytest.mark.parametrize("library, name", rows())
def test_damaged_arguments(library: str, name: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged_calls(list(calls(library, name)), outs_of))
    def run(made: tuple[Call, bool]) -> None:
        call, overlaps = made
        try:
            call_kernel(call.name, call.args, call.library)
        except (RushlightError, TypeError, ValueError, OverflowError) as error:
            assert str(error)
            return
        if not overlaps and is_determined(call) and operator(name).outs == outs_of(call) > 0:
            assert_result_of_eager(call)

    run()


def with_bytes(value: object, byte: int) -> object:
    """Returns a copy of an argument in which true elements have the given byte instead of 1."""
    if isinstance(value, list):
        return [with_bytes(item, byte) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    copy = value.clone()
    if value.dtype is torch.bool:
        numbers = copy.view(torch.uint8)
        numbers.mul_(byte)
    return copy


def is_bool(value: object) -> bool:
    return (
        any(map(is_bool, value)) if isinstance(value, list) else getattr(value, "dtype", None) is torch.bool
    )


BOOL_ROWS = [
    (library, name)
    for library, name in rows()
    if any(any(map(is_bool, call.args)) for call in calls(library, name))
]


@pytest.mark.parametrize("library, name", BOOL_ROWS)
def test_any_byte_but_zero_is_true(library: str, name: str) -> None:
    """In a damaged program, the memory of a bool can contain any byte."""
    for call in calls(library, name):
        count = outs_of(call)
        if not any(map(is_bool, call.args[: len(call.args) - count])) or "rand" in name or "dropout" in name:
            continue
        results = []
        for byte in (1, 64, 255):
            arguments = [with_bytes(value, byte) for value in call.args]
            try:
                call_kernel(name, arguments, library)
            except RushlightError:
                break
            results.append([with_bytes(value, 1) for value in arguments[len(arguments) - count :]])
        for other in results[1:]:
            for got, wanted in zip(other, results[0], strict=True):
                if isinstance(wanted, torch.Tensor) and isinstance(got, torch.Tensor):
                    if wanted.dtype is torch.bool:
                        got, wanted = got.view(torch.uint8) != 0, wanted.view(torch.uint8) != 0
                    assert_same([got], [wanted], call)
