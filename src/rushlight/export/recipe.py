"""Recipes, which contain all options of an export, and the providers of the backends' recipes."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch.export import ExportedProgram

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.export.combine import agreed, combine_lowering, combine_quantization, joined
from rushlight.export.recipe_parts import LoweringRecipe, Mode, QuantizationRecipe, RecipeType
from rushlight.export.types import StageType


@dataclass
class ExportRecipe:
    """All options of an export.

    Attributes:
        name: a name for messages.
        quantization_recipe: how to quantize; None means that the model is not quantized.
        aten_transform_passes: functions `(method name, program) -> program` that run on each exported
            program.
        source_transform_in_place: quantize the caller's module instead of a copy. This saves the memory of
            the copy.
        lowering_recipe: how to lower to backends; None means that all operators run on kernels.
        executorch_backend_config: options of memory planning and of the file.
        pipeline_stages: the stages in order; None means the usual stages for the kind of model.
        mode: whether the export is for debugging or for release.
        strict: the option `strict` of torch.export.
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
    def get_recipe(cls, recipe: RecipeType, **kwargs: object) -> ExportRecipe:
        """Makes a recipe that a backend provides.

        Args:
            recipe: the type of the recipe, such as `CpuRecipeType.FP32`.
            kwargs: options of the recipe.

        Raises:
            ValueError: `recipe` is not a recipe type, or its backend or the recipe is unknown.
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
        """Combines recipes of several backends into one.

        Lists are concatenated in order, and single options must be equal. The first
        `executorch_backend_config` is used.

        Args:
            recipes: the recipes.
            recipe_name: the name of the result; by default the names of the recipes, joined.

        Raises:
            ValueError: `recipes` is empty, or two recipes contradict each other; the message names the
                option.
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
    """The base class of providers, which make the recipes of one backend."""

    @property
    @abstractmethod
    def backend_name(self) -> str:
        """The name of the backend, which is also `RecipeType.get_backend_name()` of its recipe types."""

    @abstractmethod
    def get_supported_recipes(self) -> Sequence[RecipeType]:
        """Returns the types of the recipes that this provider makes."""

    @abstractmethod
    def create_recipe(self, recipe_type: RecipeType, **kwargs: object) -> ExportRecipe | None:
        """Makes a recipe.

        Args:
            recipe_type: the recipe to make.
            kwargs: options of the recipe.

        Returns:
            The recipe, or None if the backend has no recipe of this type.
        """

    def supports_recipe(self, recipe_type: RecipeType) -> bool:
        """Returns whether the backend has a recipe of a type.

        Args:
            recipe_type: the type to look for.

        Returns:
            True if `get_supported_recipes()` contains the type.
        """
        return recipe_type in self.get_supported_recipes()


class RecipeRegistry:
    """The recipe providers by backend.

    The class is a singleton: each construction returns the same object.
    """

    _instance: RecipeRegistry | None = None
    _initialized = False
    _providers: dict[str, BackendRecipeProvider]

    def __new__(cls) -> RecipeRegistry:
        """Returns the registry of the process. The first call creates it."""
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __init__(self) -> None:
        if not RecipeRegistry._initialized:
            self._providers = {}
            RecipeRegistry._initialized = True

    def register_backend_recipe_provider(self, provider: BackendRecipeProvider) -> None:
        """Registers a provider, which replaces an earlier one for the same backend.

        Args:
            provider: the provider of the recipes of the backend `provider.backend_name`.
        """
        self._providers[provider.backend_name] = provider

    def create_recipe(self, recipe_type: RecipeType, backend: str, **kwargs: object) -> ExportRecipe | None:
        """Makes a recipe.

        Args:
            recipe_type: the recipe to make.
            backend: the name of the backend.
            kwargs: options of the recipe.

        Returns:
            The recipe, or None if the backend has no recipe of this type.

        Raises:
            ValueError: the backend has no provider.
        """
        return self._provider(backend).create_recipe(recipe_type, **kwargs)

    def get_supported_recipes(self, backend: str) -> Sequence[RecipeType]:
        """Returns the types of a backend's recipes.

        Args:
            backend: the name of the backend.

        Returns:
            The types that `create_recipe` accepts for this backend.

        Raises:
            ValueError: the backend has no provider. The message lists the backends.
        """
        return self._provider(backend).get_supported_recipes()

    def list_backends(self) -> Sequence[str]:
        """Returns the names of the backends with a provider."""
        return list(self._providers)

    def _provider(self, backend: str) -> BackendRecipeProvider:
        try:
            return self._providers[backend]
        except KeyError:
            raise ValueError(
                f"Backend '{backend}' not available. Available: {list(self._providers)}"
            ) from None


recipe_registry = RecipeRegistry()
