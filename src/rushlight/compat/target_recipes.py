"""The names of ExecuTorch's `export.target_recipes` and `export.utils`.

These recipes need the tools of vendors, which Rushlight does not support.
"""

from __future__ import annotations

from typing import NoReturn


def is_fbcode() -> bool:
    """Returns False: the package is not part of Meta's internal repository."""
    return False


def is_supported_platform_for_coreml_lowering() -> bool:
    """Returns False: Rushlight has no backend for Core ML."""
    return False


def is_supported_platform_for_qnn_lowering() -> bool:
    """Returns False: Rushlight has no backend for Qualcomm's AI Engine Direct."""
    return False


def get_ios_recipe(target_config: str = "ios-arm64-coreml-fp16", **kwargs: object) -> NoReturn:
    """Raises an error, as ExecuTorch does on platforms without Core ML.

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
    """Raises an error, as ExecuTorch does on platforms without Qualcomm's SDK.

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
