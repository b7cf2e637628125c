"""Every kernel with damaged arguments: an error, or a result; never a crash."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.fuzz.calls import Call, calls, rows
from tests.fuzz.corpus import number_of_outs
from tests.fuzz.damage import damaged_calls

from rushlight.runtime import RushlightError, call_kernel

EXAMPLES = int(os.environ.get("RUSHLIGHT_EXAMPLES", "6"))  # of each kernel

pytestmark = pytest.mark.damage


def outs_of(call: Call) -> int:
    return number_of_outs(call.name, len(call.args))


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

    run()
