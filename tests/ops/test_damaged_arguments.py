"""Every kernel with damaged arguments: an error, or the result of eager; never a crash."""

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

EXAMPLES = int(os.environ.get("RUSHLIGHT_EXAMPLES", "6"))  # of each kernel

# By a part of a kernel's name, why eager does not determine the results.
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
    "split": "lists of outs",
}
MOST_ELEMENTS = 1 << 18

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
    """Whether eager says what the result is. Its arithmetic on huge numbers overflows in ways of its own."""
    return not any(part in call.name for part in UNDETERMINED) and all(map(is_usual, call.args))


def is_usual(value: object) -> bool:
    if isinstance(value, list):
        return all(map(is_usual, value))
    return not isinstance(value, int | float) or abs(value) < 1 << 20


def assert_result_of_eager(call: Call) -> None:
    """Requires the result of eager for a call that a kernel accepts, if eager accepts it."""
    case = Case(*call.args[: len(call.args) - outs_of(call)])
    try:
        wanted = expected(call.name, case)
    except Exception:  # eager refuses more dtypes
        return
    if not all(isinstance(result, torch.Tensor) and result.numel() <= MOST_ELEMENTS for result in wanted):
        return
    try:
        got = compute(call.name, case, [blank(result) for result in wanted], call.library)
    except RushlightError:  # eager's result has a dtype that the kernel does not write
        return
    for one, other in zip(got, wanted, strict=True):
        rtol = 10 * TOLERANCE.get(other.dtype, (0.0, 0.0))[0]
        assert_same([one], [other], call, rtol=rtol, atol=rtol * largest(wanted))


def largest(tensors: Sequence[torch.Tensor]) -> float:
    """The largest finite magnitude, at least 1."""
    wide = [tensor.to(torch.complex128 if tensor.is_complex() else torch.float64) for tensor in tensors]
    magnitudes = [tensor.abs().flatten() for tensor in wide]
    finite = [float(x[x.isfinite()].max()) for x in magnitudes if x.isfinite().any()]
    return max([1.0, *finite])


def test_every_row_of_the_tables_is_reached() -> None:
    """The calls that are damaged below begin as calls that succeed, of each row of each table."""
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
