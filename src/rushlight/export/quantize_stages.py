"""The stages that quantize: torchao's `quantize_` for modules, and torchao's pt2e flow for graphs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torchao.quantization import quantize_
from torchao.quantization.pt2e import (
    allow_exported_model_train_eval,
    move_exported_model_to_eval,
    move_exported_model_to_train,
)
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import ComposableQuantizer, Quantizer
from torchao.utils import unwrap_tensor_subclass

from rushlight.export.recipe_parts import GraphPass, QuantizationRecipe
from rushlight.export.stage import FixedStage, PipelineArtifact
from rushlight.export.types import StageType


class SourceTransformStage(FixedStage):
    """Quantizes the weights of modules with torchao's `quantize_`.

    The input and the output are dicts from method name to module. Without a torchao configuration in the
    recipe, the stage changes nothing.

    Args:
        quantization_recipe: the recipe with the torchao configuration, or None.
        in_place: quantize the given modules instead of copies.
    """

    TYPE = StageType.SOURCE_TRANSFORM
    AFTER = ()
    MAY_BE_FIRST = True

    def __init__(self, quantization_recipe: QuantizationRecipe | None, in_place: bool = False) -> None:
        super().__init__()
        self._quantization_recipe = quantization_recipe
        self._in_place = in_place
        self._transformed_models: dict[str, torch.nn.Module] = {}

    def run(self, artifact: PipelineArtifact) -> None:
        """Quantizes the modules.

        Args:
            artifact: modules by method name.

        Raises:
            ValueError: the recipe has more than one torchao configuration.
        """
        configs = self._quantization_recipe and self._quantization_recipe.ao_quantization_configs
        if not configs:
            self._artifact = artifact
            return
        if len(configs) > 1:
            raise ValueError(
                f"the recipe has {len(configs)} torchao quantization configs, but their combination is not "
                "supported: use one config"
            )
        models = artifact.data if self._in_place else copy.deepcopy(artifact.data)
        for model in models.values():
            quantize_(model, configs[0].ao_base_config, configs[0].filter_fn)
            unwrap_tensor_subclass(model)
        self._transformed_models = models
        self._artifact = artifact.copy_with_new_data(models)


class QuantizeStage(FixedStage):
    """Quantizes modules with torchao's pt2e flow.

    The input is a dict from method name to module, the output a dict from method name to quantized graph
    module. Without a quantizer in the recipe, the stage changes nothing.

    Args:
        quantization_recipe: the recipe with the quantizers, or None.
    """

    TYPE = StageType.QUANTIZE
    AFTER = (StageType.SOURCE_TRANSFORM,)
    MAY_BE_FIRST = True

    def __init__(self, quantization_recipe: QuantizationRecipe | None) -> None:
        super().__init__()
        self._quantization_recipe = quantization_recipe

    def run(self, artifact: PipelineArtifact) -> None:
        """Exports, prepares, calibrates or trains, and converts each module.

        Args:
            artifact: modules by method name; its context has the example inputs.

        Raises:
            ValueError: a method has no example inputs, or the quantizers cannot be combined.
        """
        recipe = self._quantization_recipe
        if recipe is None or not recipe.quantizers:
            self._artifact = artifact
            return
        examples = artifact.get_context("example_inputs")
        quantized = {}
        for name, model in artifact.data.items():
            if not examples.get(name):
                raise ValueError(f"Example inputs for method {name} not found or empty.")
            quantized[name] = self._quantize(model, examples[name], recipe)
        self._artifact = artifact.copy_with_new_data(quantized)

    def _quantize(
        self, model: torch.nn.Module, examples: Sequence[tuple[object, ...]], recipe: QuantizationRecipe
    ) -> torch.nn.Module:
        """Exports, prepares, calibrates or trains, and converts a module.

        The recipe's passes run before and after these steps.
        """
        if recipe.is_qat:
            model.train()
        exported = torch.export.export(
            model,
            examples[0],
            dynamic_shapes=_dynamic_batch(examples[0]) if recipe.dynamic_batch_size else None,
            strict=True,
        )
        # Without guards on sizes, because they would prevent a later export with dynamic sizes.
        graph = exported.module(check_guards=False)
        graph = self._apply_passes(graph, recipe.pre_prepare_passes)
        quantizer = self._get_quantizer_for_prepare_pt2e(recipe.quantizers or [])
        if recipe.is_qat:
            if recipe.train_fn is None:
                raise ValueError("train_fn must be provided when is_qat=True")
            prepared = self._apply_passes(prepare_qat_pt2e(graph, quantizer), recipe.post_prepare_passes)
            allow_exported_model_train_eval(prepared)
            move_exported_model_to_train(prepared)
            recipe.train_fn(prepared)
            move_exported_model_to_eval(prepared)
        else:
            prepared = self._apply_passes(prepare_pt2e(graph, quantizer), recipe.post_prepare_passes)
            calibration = recipe.calibration_inputs_fn() if recipe.calibration_inputs_fn else examples
            for inputs in calibration:
                prepared(*inputs)
        prepared = self._apply_passes(prepared, recipe.pre_convert_passes)
        converted: torch.nn.Module = self._apply_passes(convert_pt2e(prepared), recipe.post_convert_passes)
        return converted

    def _get_quantizer_for_prepare_pt2e(self, quantizers: Sequence[Quantizer]) -> Quantizer:
        """Returns one quantizer, which combines several torchao quantizers if necessary.

        Raises:
            ValueError: the quantizers cannot be combined.
        """
        torchao_quantizers = [item for item in quantizers if isinstance(item, Quantizer)]
        if not quantizers:
            raise ValueError("No quantizers detected")
        if torchao_quantizers and len(torchao_quantizers) < len(quantizers):
            raise ValueError("Mixed quantizer types are not supported")
        if torchao_quantizers:
            return ComposableQuantizer(torchao_quantizers)
        if len(quantizers) > 1:
            raise ValueError("Multiple quantizers of torch.ao.quantization.quantizer not supported")
        return quantizers[0]

    @staticmethod
    def _apply_passes(model: Any, passes: Sequence[GraphPass] | None) -> Any:
        for item in passes or ():
            try:
                model = item(model)
            except Exception as error:
                raise RuntimeError(f"QuantizeStage: Pass '{item!r}' raised an error: {error}") from error
        return model


def _dynamic_batch(inputs: Sequence[object]) -> tuple[dict[int, object] | None, ...]:
    batch = torch.export.Dim("batch", min=1)
    return tuple({0: batch} if isinstance(item, torch.Tensor) else None for item in inputs)
