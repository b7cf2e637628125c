"""Recipes: all the options of an export as one value, and the backends' providers of them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch.export import ExportedProgram

from rushlight.compile.config import ExecutorchBackendConfig
from rushlight.export.combine import agreed, combine_lowering, combine_quantization, joined
from rushlight.export.recipe_parts import LoweringRecipe, Mode, QuantizationRecipe, RecipeType
from rushlight.export.types import StageType


@dataclass
class ExportRecipe:
    """All that an export does.

    aten_transform_passes: `(method, program) -> program`, on the exported program.
    source_transform_in_place: change the caller's own model instead of a copy, for models of which two do not
    fit into memory.
    pipeline_stages: None means the usual ones for the kind of model.
    """

    name: str | None = None
    quantization_recipe: QuantizationRecipe | None = None
    aten_transform_passes: list[Callable[[str, ExportedProgram], ExportedProgram]] | None = None
    source_transform_in_place: bool = False
    lowering_recipe: LoweringRecipe | None = None
    executorch_backend_config: ExecutorchBackendConfig | None = None
    pipeline_stages: list[StageType] | None = None
    mode: Mode = Mode.RELEASE
    strict: bool = True

    @classmethod
    def get_recipe(cls, recipe: RecipeType, **kwargs: Any) -> ExportRecipe:
        """The recipe that the provider of its backend makes; `kwargs` are the recipe's own.

        Raises ValueError if it is no recipe type, or the backend or the recipe is not known.
        """
        if not isinstance(recipe, RecipeType):
            raise ValueError(f"Invalid recipe type: {recipe}")
        backend = recipe.get_backend_name()
        made = recipe_registry.create_recipe(recipe, backend, **kwargs)
        if made is None:
            known = [item.value for item in recipe_registry.get_supported_recipes(backend)]
            raise ValueError(f"Recipe '{recipe.value}' not supported by '{backend}'. Supported: {known}")
        return made

    @classmethod
    def combine(cls, recipes: list[ExportRecipe], recipe_name: str | None = None) -> ExportRecipe:
        """One recipe for several backends: lists are joined in order, single options must agree, the
        backend configuration is the first that is given.

        Raises ValueError if there are none, or naming the option on which they disagree.
        """
        if not recipes:
            raise ValueError("Recipes cannot be empty")
        if len(recipes) == 1:
            return recipes[0]
        lowering = [
            (recipe.name or f"recipes[{i}]", recipe.lowering_recipe)
            for i, recipe in enumerate(recipes)
            if recipe.lowering_recipe is not None
        ]
        quantization = [
            recipe.quantization_recipe for recipe in recipes if recipe.quantization_recipe is not None
        ]
        configs = [recipe.executorch_backend_config for recipe in recipes if recipe.executorch_backend_config]
        return cls(
            name=recipe_name or "_".join(recipe.name for recipe in recipes if recipe.name is not None),
            quantization_recipe=combine_quantization(quantization),
            aten_transform_passes=joined(recipes, "aten_transform_passes"),
            source_transform_in_place=agreed(recipes, "source_transform_in_place"),
            lowering_recipe=combine_lowering(lowering),
            executorch_backend_config=copy.deepcopy(configs[0]) if configs else None,
            pipeline_stages=agreed(recipes, "pipeline_stages"),
            mode=agreed(recipes, "mode"),
            strict=agreed(recipes, "strict"),
        )


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
