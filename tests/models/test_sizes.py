"""`models/selective.py`: the sizes of programs for hosts, beside their budgets."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from models import selective


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the budgets are those of x86-64")
def test_programs_for_hosts_are_within_their_budgets(tmp_path: Path) -> None:
    sizes = selective.host_sizes(tmp_path)
    assert {name: size for name, size in sizes.items() if size > selective.HOST_BUDGETS[name]} == {}
