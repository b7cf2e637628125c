"""What a backend implements to offer recipes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from rushlight.export.recipe import ExportRecipe, RecipeType


class BackendRecipeProvider(ABC):
    """Makes the recipes of one backend."""

    @property
    @abstractmethod
    def backend_name(self) -> str:
        """What `RecipeType.get_backend_name` of its recipes says."""

    @abstractmethod
    def get_supported_recipes(self) -> Sequence[RecipeType]:
        """The recipes there are."""

    @abstractmethod
    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """The recipe, made with its own options `kwargs`; None if the backend has none of this type."""

    def supports_recipe(self, recipe_type: RecipeType) -> bool:
        """Whether the recipe is among `get_supported_recipes()`."""
        return recipe_type in self.get_supported_recipes()
