"""All passes are checked here: each leaves its program as it is, and makes a valid graph of its dialect."""

from __future__ import annotations

import pytest

from rushlight.passes.runner import CHECK


@pytest.fixture(autouse=True)
def checked_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHECK, "1")
