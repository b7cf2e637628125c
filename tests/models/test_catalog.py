"""The names of the measured networks."""

from __future__ import annotations

import pytest
from models.catalog import MODELS, build, find, is_dynamic_in_int8
from models.field import FIELD


@pytest.mark.parametrize("name", [*MODELS, *FIELD, "timm:resnet10t"])
def test_known_names(name: str) -> None:
    assert find(name) is not None


@pytest.mark.parametrize("name", ["", "timm:", "hub:resnet18", "resnet"])
def test_unknown_names(name: str) -> None:
    assert find(name) is None
    with pytest.raises(SystemExit, match="unknown model"):
        build(name)


def test_kinds_of_quantization() -> None:
    assert is_dynamic_in_int8("bert@4")
    assert not is_dynamic_in_int8("resnet50")
    assert not is_dynamic_in_int8("timm:resnet10t")
