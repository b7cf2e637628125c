"""Recipes select the configuration of a weight by its name."""

from __future__ import annotations

import pytest

from rushlight.compat.llm_export.recipe import QuantConfig, QuantRecipe, QuantRule

FINE = QuantConfig(8, 16, True, "min_max")
COARSE = QuantConfig(4, 32, False, "min_max")
RECIPE = QuantRecipe(
    [
        QuantRule(r"norm\.bias", None),
        QuantRule(r".*\.down\.weight", FINE, layers={0, 11}),
        QuantRule(r".*weight", COARSE),
    ]
)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("layers.0.mlp.down.weight", FINE),
        ("model.layers.11.down.weight", FINE),
        ("layers.1.mlp.down.weight", COARSE),
        ("output.down.weight", COARSE),  # It has no number of a layer.
        ("norm.bias", None),
        ("norm.weight.scale", None),  # A part of the name does not match.
        ("embedding", None),
    ],
)
def test_the_first_rule_that_matches(name: str, config: QuantConfig | None) -> None:
    assert RECIPE.get_config(name) == config
