"""Quantization recipes: which weights of a model are quantized, and how."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LAYER = re.compile(r"layers\.(\d+)\.")


@dataclass(frozen=True)
class QuantConfig:
    """How a weight is quantized.

    Attributes:
        bits: the number of bits of a value: 4, 5, 6 or 8.
        group_size: the number of consecutive values of a row with the same scale.
        symmetric: whether the zero point is 0.
        method: "min_max" computes the scale from the range of values. "hqq" also minimizes the error.
    """

    bits: int
    group_size: int
    symmetric: bool
    method: str


@dataclass
class QuantRule:
    """A rule of a recipe.

    Attributes:
        pattern: a regular expression that the whole qualified name of the weight must match.
        config: how the weight is quantized; None means that it is not quantized.
        layers: the numbers of the layers (`layers.<number>.` in the name); None means all weights.
    """

    pattern: str
    config: QuantConfig | None
    layers: set[int] | None = field(default=None, repr=False)


@dataclass
class QuantRecipe:
    """A list of rules. The first rule that matches the name of a weight is used.

    Attributes:
        rules: the rules in order.
    """

    rules: list[QuantRule]

    def get_config(self, fqn: str) -> QuantConfig | None:
        """Returns how a weight is quantized; None if it is not quantized.

        Args:
            fqn: the qualified name of the weight.
        """
        found = _LAYER.search(fqn)
        layer = None if found is None else int(found[1])
        for rule in self.rules:
            if (rule.layers is None or layer in rule.layers) and re.fullmatch(rule.pattern, fqn):
                return rule.config
        return None
