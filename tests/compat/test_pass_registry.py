"""Tests of the registry of passes."""

from __future__ import annotations

import pytest

from rushlight.compat.pass_registry import PassRegistry
from rushlight.ir.errors import ExportError


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PassRegistry, "registry", {})


def test_passes_have_their_own_names_or_given_ones() -> None:
    @PassRegistry.register()
    class FoldThings:
        pass

    @PassRegistry.register("other")
    def fold() -> None:
        pass

    assert PassRegistry.get("fold_things") == [FoldThings]
    assert PassRegistry.get("other") == [fold]


def test_the_first_passes_of_a_name_stay() -> None:
    PassRegistry.register_list("both", [1, 2])
    with pytest.warns(UserWarning, match="both is already registered"):
        PassRegistry.register_list("both", [3])
    assert PassRegistry.get("both") == [1, 2]


def test_unknown_names_are_refused_with_those_that_exist() -> None:
    PassRegistry.register_list("known", [])
    with pytest.raises(ExportError, match="no pass is registered as missing; the registered names .*known"):
        PassRegistry.get("missing")
