"""Every pass is checked: it must not change its input program, and must return a valid graph."""

from __future__ import annotations

import pytest

from rushlight.passes.runner import CHECK


@pytest.fixture(autouse=True)
def checked_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHECK, "1")
