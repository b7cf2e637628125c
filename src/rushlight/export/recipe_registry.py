"""The providers of recipes, by backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.export.recipe import ExportRecipe, RecipeType
from rushlight.export.recipe_provider import BackendRecipeProvider


class RecipeRegistry:
    """One for the process: every construction gives the same object."""

    _instance: RecipeRegistry | None = None
    _initialized = False
    _providers: dict[str, BackendRecipeProvider]

    def __new__(cls) -> RecipeRegistry:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __init__(self) -> None:
        if not RecipeRegistry._initialized:
            self._providers = {}
            RecipeRegistry._initialized = True

    def register_backend_recipe_provider(self, provider: BackendRecipeProvider) -> None:
        """From here on `provider` makes the recipes of its backend."""
        self._providers[provider.backend_name] = provider

    def create_recipe(self, recipe_type: RecipeType, backend: str, **kwargs: Any) -> ExportRecipe | None:
        """The backend's recipe, None if it has none of this type. Raises ValueError if it is unknown."""
        return self._provider(backend).create_recipe(recipe_type, **kwargs)

    def get_supported_recipes(self, backend: str) -> Sequence[RecipeType]:
        """The backend's recipes. Raises ValueError for an unknown backend."""
        return self._provider(backend).get_supported_recipes()

    def list_backends(self) -> Sequence[str]:
        """The names of the backends that have a provider."""
        return list(self._providers)

    def _provider(self, backend: str) -> BackendRecipeProvider:
        try:
            return self._providers[backend]
        except KeyError:
            raise ValueError(
                f"Backend '{backend}' not available. Available: {list(self._providers)}"
            ) from None


recipe_registry = RecipeRegistry()
