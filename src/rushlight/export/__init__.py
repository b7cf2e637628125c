"""Exports a model to a program file with a recipe: the options to quantize, lower and write the model.

`recipe.py` defines recipes, `stages.py` the stages of an export, and `session.py` runs the stages in order.
The names and signatures are those of `executorch.export`.
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
