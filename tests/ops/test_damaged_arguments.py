"""Every kernel with damaged arguments: an error, or a result; never a crash."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.fuzz.calls import LIBRARIES, Call, calls, rows
from tests.fuzz.corpus import number_of_outs
from tests.fuzz.damage import damaged_calls

from rushlight.runtime import RushlightError, call_kernel, kernel_names

EXAMPLES = int(os.environ.get("RUSHLIGHT_EXAMPLES", "6"))  # of each kernel

pytestmark = pytest.mark.damage


def outs_of(call: Call) -> int:
    return number_of_outs(call.name, len(call.args))


def succeeds(call: Call) -> bool:
    try:
        call_kernel(call.name, call.args, call.library)
    except RushlightError:
        return False
    return True


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

    run()
