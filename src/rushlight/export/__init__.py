"""From a model to a program file by recipe: what to quantize, lower and write, named once and used again.

`recipe.py` says what, `stages.py` how a stage does it, `session.py` runs them in order.
Names and signatures are those of `executorch.export`.
"""

from __future__ import annotations

from rushlight.export.recipe import BackendRecipeProvider, ExportRecipe, RecipeRegistry, recipe_registry
from rushlight.export.recipe_parts import (
    AOQuantizationConfig,
    LoweringRecipe,
    Mode,
    QuantizationRecipe,
    RecipeType,
)
from rushlight.export.session import ExportSession, export
from rushlight.export.types import StageType

__all__ = [
    "AOQuantizationConfig",
    "BackendRecipeProvider",
    "ExportRecipe",
    "ExportSession",
    "LoweringRecipe",
    "Mode",
    "QuantizationRecipe",
    "RecipeRegistry",
    "RecipeType",
    "StageType",
    "export",
    "recipe_registry",
]
