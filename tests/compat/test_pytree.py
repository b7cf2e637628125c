"""Tests of trees of containers."""

from __future__ import annotations

from typing import Any

from rushlight.compat import pytree


def test_specs_have_a_text() -> None:
    spec: Any
    leaves, spec = pytree.tree_flatten(({"a": 1, "b": [2, 3]}, 4))
    text = spec.to_str()
    assert leaves == [1, 2, 3, 4] and pytree.from_str(text) == spec
    assert pytree.tree_unflatten(leaves, pytree.from_str(text)) == ({"a": 1, "b": [2, 3]}, 4)
