"""Recipes for XNNPACK. Importing this module registers their provider."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import torch
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.export.recipe import BackendRecipeProvider, ExportRecipe, recipe_registry
from rushlight.export.recipe_parts import AOQuantizationConfig, LoweringRecipe, QuantizationRecipe, RecipeType
from rushlight.export.xnnpack_configs import (
    get_xnnpack_edge_compile_config,
    get_xnnpack_executorch_backend_config,
)

logger = logging.getLogger(__name__)


class XNNPackRecipeType(RecipeType):
    """The recipes of XNNPACK.

    `FP32` does not quantize. The `PT2E` recipes quantize to int8 with torchao's pt2e flow; the static ones
    calibrate on the example inputs. The `TORCHAO` recipes quantize weights to 4 bits with torchao's
    `quantize_`, and activations to int8 at run time.
    """

    FP32 = "xnnpack_fp32"
    PT2E_INT8_DYNAMIC_PER_CHANNEL = "xnnpack_pt2e_int8_dynamic_per_channel"
    PT2E_INT8_STATIC_PER_CHANNEL = "xnnpack_pt2e_int8_static_per_channel"
    PT2E_INT8_STATIC_PER_TENSOR = "xnnpack_pt2e_int8_static_per_tensor"
    TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_CHANNEL = "xnnpack_torchao_int8da_int4w_per_channel"
    TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR = "xnnpack_torchao_int8da_int4w_per_tensor"

    @classmethod
    def get_backend_name(cls) -> str:
        """Returns "xnnpack"."""
        return "xnnpack"


# (per channel, dynamic)
_PT2E = {
    XNNPackRecipeType.PT2E_INT8_DYNAMIC_PER_CHANNEL: (True, True),
    XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL: (True, False),
    XNNPackRecipeType.PT2E_INT8_STATIC_PER_TENSOR: (False, False),
}
_GROUPED = XNNPackRecipeType.TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR


class XNNPACKRecipeProvider(BackendRecipeProvider):
    """Makes the recipes of `XNNPackRecipeType`."""

    @property
    def backend_name(self) -> str:
        """The name "xnnpack"."""
        return "xnnpack"

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        """Returns all recipes of `XNNPackRecipeType`."""
        return list(XNNPackRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: object) -> ExportRecipe | None:
        """Makes a recipe.

        Args:
            recipe_type: the recipe to make.
            kwargs: `group_size` (int, default 32) is the number of weights that share a scale. Only
                `TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR` has this option. Other options are ignored
                with a warning.

        Returns:
            The recipe, or None if the type belongs to another backend.

        Raises:
            ValueError: the group size is not an int.
        """
        if not isinstance(recipe_type, XNNPackRecipeType):
            return None
        group_size = _read_options(recipe_type, kwargs)
        return ExportRecipe(
            name=recipe_type.value,
            quantization_recipe=_quantization(recipe_type, group_size),
            lowering_recipe=LoweringRecipe(
                partitioners=[XnnpackPartitioner()], edge_compile_config=get_xnnpack_edge_compile_config()
            ),
            executorch_backend_config=get_xnnpack_executorch_backend_config(),
        )


def _read_options(recipe_type: XNNPackRecipeType, kwargs: Mapping[str, object]) -> int:
    known = {"group_size"} if recipe_type is _GROUPED else set()
    unknown = sorted(kwargs.keys() - known)
    if unknown:
        logger.warning(
            "XNNPACK recipe '%s' ignoring unexpected parameters: %s. Its parameters: %s.",
            recipe_type.value,
            unknown,
            sorted(known) or "none",
        )
    group_size = kwargs.get("group_size", 32) if known else 32
    if not isinstance(group_size, int):
        raise ValueError(
            f"Parameter 'group_size' must be an integer, got {type(group_size).__name__}: {group_size}"
        )
    return group_size


def _quantization(recipe_type: XNNPackRecipeType, group_size: int) -> QuantizationRecipe | None:
    if recipe_type is XNNPackRecipeType.FP32:
        return None
    if recipe_type in _PT2E:
        per_channel, dynamic = _PT2E[recipe_type]
        quantizer = XNNPACKQuantizer()
        quantizer.set_global(
            get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic)
        )
        return QuantizationRecipe(quantizers=[quantizer])
    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4,  # type: ignore[attr-defined]
        weight_granularity=PerGroup(group_size) if recipe_type is _GROUPED else PerAxis(0),
    )
    return QuantizationRecipe(ao_quantization_configs=[AOQuantizationConfig(config)])


recipe_registry.register_backend_recipe_provider(XNNPACKRecipeProvider())
