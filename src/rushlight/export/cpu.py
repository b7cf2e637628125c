"""Recipes for the CPU backend. Importing this module registers their provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.compiler.config import EdgeCompileConfig
from rushlight.compiler.preserved_ops import PRESERVED_OPS
from rushlight.export.recipe import BackendRecipeProvider, ExportRecipe, recipe_registry
from rushlight.export.recipe_parts import LoweringRecipe, RecipeType

_OPTIONS = ("target", "float32_matmul_precision", "compact", "weights")


class CpuRecipeType(RecipeType):
    """The recipes of the CPU backend.

    `FP32` compiles a model as it is: in float32, or quantized before the export.
    """

    FP32 = "cpu_fp32"

    @classmethod
    def get_backend_name(cls) -> str:
        """Returns "cpu"."""
        return "cpu"


class CpuRecipeProvider(BackendRecipeProvider):
    """Makes the recipes of `CpuRecipeType`."""

    @property
    def backend_name(self) -> str:
        """The name "cpu"."""
        return "cpu"

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        """Returns all recipes of `CpuRecipeType`."""
        return list(CpuRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """Makes a recipe.

        Args:
            recipe_type: the recipe to make.
            kwargs: the options `target`, `float32_matmul_precision`, `compact` and `weights` of
                `CpuPartitioner`.

        Returns:
            The recipe, or None if the type belongs to another backend.

        Raises:
            ValueError: an option is unknown or has an invalid value.
        """
        if not isinstance(recipe_type, CpuRecipeType):
            return None
        unknown = sorted(kwargs.keys() - set(_OPTIONS))
        if unknown:
            raise ValueError(
                f"recipe {recipe_type.value} has the options {', '.join(_OPTIONS)}, not {', '.join(unknown)}"
            )
        return ExportRecipe(
            name=recipe_type.value,
            lowering_recipe=LoweringRecipe(
                partitioners=[CpuPartitioner(**kwargs)],
                edge_compile_config=EdgeCompileConfig(core_aten_only=False, preserve_ops=list(PRESERVED_OPS)),
            ),
        )


recipe_registry.register_backend_recipe_provider(CpuRecipeProvider())
