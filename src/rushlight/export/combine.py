"""Several recipes as one."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from rushlight.compile.config import EdgeCompileConfig
from rushlight.export.recipe import ExportRecipe, LoweringRecipe, QuantizationRecipe

# The order of these lists means nothing.
_SETS = {"preserve_ops", "_core_aten_ops_exception_list"}
_QUANTIZATION_LISTS = (
    "quantizers",
    "ao_quantization_configs",
    "pre_prepare_passes",
    "post_prepare_passes",
    "pre_convert_passes",
    "post_convert_passes",
)


def _joined(parts: Iterable[Any], name: str) -> list[Any] | None:
    return [item for part in parts for item in getattr(part, name) or ()] or None


def _agreed(parts: Sequence[Any], name: str) -> Any:
    """The value of `name` that all have; ValueError where they differ."""
    first = getattr(parts[0], name)
    if any(getattr(part, name) != first for part in parts):
        values = ", ".join(str(getattr(part, name)) for part in parts)
        raise ValueError(f"Cannot combine recipes with conflicting '{name}' values: {values}")
    return first


def _value(config: EdgeCompileConfig, name: str) -> Any:
    value = getattr(config, name)
    return sorted(map(str, value or ())) if name in _SETS else value


def _edge_config(named: Sequence[tuple[str, EdgeCompileConfig]]) -> EdgeCompileConfig | None:
    """The one configuration that all mean; ValueError naming the fields on which they disagree."""
    if not named:
        return None
    conflicts = []
    for field in dataclasses.fields(EdgeCompileConfig):
        values = [(name, _value(config, field.name)) for name, config in named]
        if any(value != values[0][1] for _, value in values):
            conflicts.append(f"{field.name} ({', '.join(f'{name}={value}' for name, value in values)})")
    if conflicts:
        raise ValueError(
            f"Cannot combine recipes whose edge_compile_configs disagree on {'; '.join(conflicts)}"
        )
    return copy.deepcopy(named[0][1])


def _partitioners(parts: Sequence[LoweringRecipe]) -> Any:
    given = [part.partitioners for part in parts if part.partitioners]
    by_method: dict[str, list[Any]] = {}
    for partitioners in given:
        if isinstance(partitioners, dict):
            for method, items in partitioners.items():
                by_method.setdefault(method, []).extend(items)
    if by_method and not all(isinstance(item, dict) for item in given):
        raise ValueError(
            "Cannot combine recipes that mix list-valued and dict-valued partitioners; "
            "name the methods in all of them"
        )
    return by_method or [item for items in given for item in items] or None


def _combine_lowering(recipes: Sequence[ExportRecipe]) -> LoweringRecipe | None:
    parts = [recipe.lowering_recipe for recipe in recipes if recipe.lowering_recipe is not None]
    config = _edge_config(
        [
            (recipe.name or f"recipes[{i}]", recipe.lowering_recipe.edge_compile_config)
            for i, recipe in enumerate(recipes)
            if recipe.lowering_recipe is not None and recipe.lowering_recipe.edge_compile_config is not None
        ]
    )
    combined = LoweringRecipe(
        partitioners=_partitioners(parts),
        edge_transform_passes=_joined(parts, "edge_transform_passes"),
        edge_manager_transform_passes=_joined(parts, "edge_manager_transform_passes"),
        edge_compile_config=config,
    )
    if combined == LoweringRecipe():
        return None
    combined.edge_compile_config = config or EdgeCompileConfig()
    return combined


def _combine_quantization(recipes: Sequence[ExportRecipe]) -> QuantizationRecipe | None:
    parts = [recipe.quantization_recipe for recipe in recipes if recipe.quantization_recipe is not None]
    if not parts:
        return None
    is_qat = _agreed(parts, "is_qat")
    trainers = [part.train_fn for part in parts if part.train_fn is not None]
    if len(trainers) > 1:
        raise ValueError("Cannot combine recipes: more than one recipe provides a train_fn.")
    lists = {name: _joined(parts, name) for name in _QUANTIZATION_LISTS}
    if not any(lists.values()):
        return None
    calibrations = [part.calibration_inputs_fn for part in parts if part.calibration_inputs_fn is not None]

    def all_inputs() -> Iterable[tuple[Any, ...]]:
        for calibration in calibrations:
            yield from calibration()

    return QuantizationRecipe(
        is_qat=is_qat,
        dynamic_batch_size=any(part.dynamic_batch_size for part in parts),
        train_fn=trainers[0] if trainers else None,
        calibration_inputs_fn=all_inputs if len(calibrations) > 1 else next(iter(calibrations), None),
        **lists,
    )


def combine(recipes: Sequence[ExportRecipe], name: str | None = None) -> ExportRecipe:
    """One recipe that does what all of `recipes` do; see `ExportRecipe.combine`.

    The backend configuration is the first that is given.
    """
    configs = [recipe.executorch_backend_config for recipe in recipes if recipe.executorch_backend_config]
    return ExportRecipe(
        name=name or "_".join(recipe.name for recipe in recipes if recipe.name is not None),
        quantization_recipe=_combine_quantization(recipes),
        aten_transform_passes=_joined(recipes, "aten_transform_passes"),
        source_transform_in_place=_agreed(recipes, "source_transform_in_place"),
        lowering_recipe=_combine_lowering(recipes),
        executorch_backend_config=copy.deepcopy(configs[0]) if configs else None,
        pipeline_stages=_agreed(recipes, "pipeline_stages"),
        mode=_agreed(recipes, "mode"),
        strict=_agreed(recipes, "strict"),
    )
