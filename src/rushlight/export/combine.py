"""Combines several recipes into one: lists are concatenated, and single values must be equal."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from rushlight.compiler.config import EdgeCompileConfig
from rushlight.export.recipe_parts import LoweringRecipe, QuantizationRecipe

# Options that are lists in which the order has no meaning.
_SETS = {"preserve_ops", "_core_aten_ops_exception_list"}
_QUANTIZATION_LISTS = (
    "quantizers",
    "ao_quantization_configs",
    "pre_prepare_passes",
    "post_prepare_passes",
    "pre_convert_passes",
    "post_convert_passes",
)


def joined(parts: Iterable[object], name: str) -> list[Any] | None:
    """Concatenates the lists that the parts have under one attribute name.

    Args:
        parts: objects with the attribute.
        name: the name of the attribute, whose value is a list or None.

    Returns:
        The concatenated list, or None if it is empty.
    """
    return [item for part in parts for item in getattr(part, name) or ()] or None


def agreed(parts: Sequence[object], name: str) -> Any:
    """Returns the value of an attribute that is equal in all parts.

    Args:
        parts: objects with the attribute.
        name: the name of the attribute.

    Raises:
        ValueError: the parts have different values.
    """
    first = getattr(parts[0], name)
    if any(getattr(part, name) != first for part in parts):
        values = ", ".join(str(getattr(part, name)) for part in parts)
        raise ValueError(f"Cannot combine recipes with conflicting '{name}' values: {values}")
    return first


def _value(config: EdgeCompileConfig, name: str) -> object:
    value = getattr(config, name)
    return sorted(map(str, value or ())) if name in _SETS else value


def _edge_config(named: Sequence[tuple[str, EdgeCompileConfig]]) -> EdgeCompileConfig | None:
    """Returns a copy of the edge configuration on which all recipes agree, or None if `named` is empty.

    Args:
        named: the configurations with the names of their recipes.

    Raises:
        ValueError: the configurations differ; the message names the fields.
    """
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
    specified = [part.partitioners for part in parts if part.partitioners]
    by_method: dict[str, list[object]] = {}
    for partitioners in specified:
        if isinstance(partitioners, dict):
            for method, items in partitioners.items():
                by_method.setdefault(method, []).extend(items)
    if by_method and not all(isinstance(item, dict) for item in specified):
        raise ValueError(
            "Cannot combine recipes that mix list-valued and dict-valued partitioners; "
            "name the methods in all of them"
        )
    return by_method or [item for items in specified for item in items] or None


def combine_lowering(named: Sequence[tuple[str, LoweringRecipe]]) -> LoweringRecipe | None:
    """Combines lowering recipes.

    Args:
        named: the recipes with their names.

    Returns:
        One recipe, or None if no recipe sets an option.

    Raises:
        ValueError: two recipes contradict each other.
    """
    parts = [part for _, part in named]
    configs = [(name, part.edge_compile_config) for name, part in named]
    config = _edge_config([(name, config) for name, config in configs if config is not None])
    combined = LoweringRecipe(
        partitioners=_partitioners(parts),
        edge_transform_passes=joined(parts, "edge_transform_passes"),
        edge_manager_transform_passes=joined(parts, "edge_manager_transform_passes"),
        edge_compile_config=config,
    )
    if combined == LoweringRecipe():
        return None
    combined.edge_compile_config = config or EdgeCompileConfig()
    return combined


def combine_quantization(parts: Sequence[QuantizationRecipe]) -> QuantizationRecipe | None:
    """Combines quantization recipes.

    Args:
        parts: the recipes.

    Returns:
        One recipe, or None if no recipe sets an option.

    Raises:
        ValueError: two recipes contradict each other.
    """
    if not parts:
        return None
    is_qat = agreed(parts, "is_qat")
    trainers = [part.train_fn for part in parts if part.train_fn is not None]
    if len(trainers) > 1:
        raise ValueError("Cannot combine recipes: more than one recipe provides a train_fn.")
    lists = {name: joined(parts, name) for name in _QUANTIZATION_LISTS}
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
