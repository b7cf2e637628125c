"""The packages of backends export the public names."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize("name", ["cpu", "openvino", "xnnpack"])
def test_public_names(name: str) -> None:
    module = importlib.import_module(f"rushlight.backends.{name}")
    assert all(getattr(module, item).__name__ == item for item in module.__all__)
    assert sorted(module.__all__) == module.__all__
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing
