"""Every row of the portable and the quantized table has a test that names it.

A test names an overload. The operator's name alone counts only for an operator with one row.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

from rushlight.runtime import kernel_names


def named_in(path: Path) -> set[str]:
    """Returns the string literals of a test module, and the keys of its tables."""
    literals = set(re.findall(r'"([^"\n]+)"', path.read_text()))
    module = importlib.import_module(f"tests.ops.{path.stem}")
    tables = [value for value in vars(module).values() if isinstance(value, dict)]
    return literals | {key for table in tables for key in table if isinstance(key, str)}


@pytest.fixture(scope="module")
def named() -> set[str]:
    folder = Path(__file__).parent
    paths = [*folder.glob("test_*.py"), *folder.glob("*_cases.py")]
    return set[str]().union(*(named_in(path) for path in paths if path.name != Path(__file__).name))


ROWS = [*kernel_names("portable"), *kernel_names("quantized")]
OVERLOADS = Counter(row.partition(".")[0] for row in ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_the_kernel_is_tested(name: str, named: set[str]) -> None:
    operator = name.partition("::")[2]
    names = {name, operator}
    if OVERLOADS[name.partition(".")[0]] == 1:
        names.add(operator.partition(".")[0])
    assert not named.isdisjoint(names), f"no test of {name} in tests/ops"
