"""examples/microcontroller: an application without an operating system, and the sizes of its builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from models import selective


@pytest.mark.skipif(
    not selective.has_tools("cortex-m4"), reason="needs arm-none-eabi-g++ and qemu-system-arm"
)
def test_sizes_are_within_their_budgets(tmp_path: Path) -> None:
    """The application also runs in QEMU: `device_sizes` checks its exit code."""
    sizes = selective.device_sizes(tmp_path)
    assert {name: size for name, size in sizes.items() if size > selective.BUDGETS[name]} == {}
