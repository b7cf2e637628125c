"""`models/selective.py`: the sizes of programs for hosts are within their budgets."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from models import selective

# Each network has a separate build, which takes about a minute.
NAMES = [
    pytest.param(name, marks=pytest.mark.long) if "portable" in name else name
    for name in selective.HOST_BUDGETS
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the budgets are those of x86-64")
def test_programs_for_hosts_are_within_their_budgets(name: str, tmp_path: Path) -> None:
    assert selective.host_sizes(tmp_path, [name])[name] <= selective.HOST_BUDGETS[name]
