"""Recipes for phones, which need vendors' tools: the names of `export.target_recipes` and `export.utils`."""

from __future__ import annotations

from typing import NoReturn


def is_fbcode() -> bool:
    """Returns whether the package lies in Meta's own repository, which it never does."""
    return False


def is_supported_platform_for_coreml_lowering() -> bool:
    """Returns whether programs can be lowered to Core ML: there is no such backend here."""
    return False


def is_supported_platform_for_qnn_lowering() -> bool:
    """Returns whether programs can be lowered to Qualcomm's AI Engine Direct: there is no backend for it."""
    return False


def get_ios_recipe(target_config: str = "ios-arm64-coreml-fp16", **kwargs: object) -> NoReturn:
    """Refuses to make a recipe, as ExecuTorch does where Core ML cannot be used.

    Args:
        target_config: the name of a configuration.
        kwargs: options of the backends.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        f"{target_config}: CoreML is not supported on this platform, because Rushlight has no Core ML "
        "backend; lower for XNNPACK (executorch.backends.xnnpack.recipes) or for the CPU backend"
    )


def get_android_recipe(target_config: str = "android-arm64-snapdragon-fp16", **kwargs: object) -> NoReturn:
    """Refuses to make a recipe, as ExecuTorch does where Qualcomm's SDK cannot be used.

    Args:
        target_config: the name of a configuration.
        kwargs: options of the backends.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        f"{target_config}: QNN is not supported or not properly configured on this platform, because "
        "Rushlight has no backend for Qualcomm's AI Engine Direct; lower for XNNPACK "
        "(executorch.backends.xnnpack.recipes) or for the CPU backend"
    )
