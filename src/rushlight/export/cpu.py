"""Recipes for the CPU backend; importing this registers their provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.compile.config import EdgeCompileConfig
from rushlight.compile.whole import WHOLE
from rushlight.export.recipe import BackendRecipeProvider, ExportRecipe, recipe_registry
from rushlight.export.recipe_parts import LoweringRecipe, RecipeType

_OPTIONS = ("target", "float32_matmul_precision", "compact", "weights")


class CpuRecipeType(RecipeType):
    """A program as it is, float32 or quantized before."""

    FP32 = "cpu_fp32"

    @classmethod
    def get_backend_name(cls) -> str:
        return "cpu"


class CpuRecipeProvider(BackendRecipeProvider):
    """Makes the recipes of `CpuRecipeType`."""

    @property
    def backend_name(self) -> str:
        return "cpu"

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        return list(CpuRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """The recipe. Its options are `target`, `float32_matmul_precision`, `compact` and `weights`, as
        CpuPartitioner takes them. Raises ValueError for another option, and for a value that CpuPartitioner
        refuses."""
        if not isinstance(recipe_type, CpuRecipeType):
            return None
        unknown = sorted(kwargs.keys() - set(_OPTIONS))
        if unknown:
            raise ValueError(f"{recipe_type.value} takes {', '.join(_OPTIONS)}, not {', '.join(unknown)}")
        return ExportRecipe(
            name=recipe_type.value,
            lowering_recipe=LoweringRecipe(
                partitioners=[CpuPartitioner(**kwargs)],
                edge_compile_config=EdgeCompileConfig(core_aten_only=False, preserve_ops=list(WHOLE)),
            ),
        )


recipe_registry.register_backend_recipe_provider(CpuRecipeProvider())
