"""The partitioners and quantizers of backends that Rushlight does not have. Calling them raises ImportError.

The functions exist because ExecuTorch's scripts import all of them, and call the one that the user selects.
"""

from __future__ import annotations

from typing import NoReturn


def _refuse(name: str, need: str) -> NoReturn:
    raise ImportError(f"{name} is not part of Rushlight: it would need {need}")


def get_coreml_partitioner(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_coreml_partitioner", "the backend for Apple's Core ML")


def get_coreml_quantizer(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_coreml_quantizer", "the backend for Apple's Core ML")


def get_ethosu_partitioner(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_ethosu_partitioner", "the backend for Arm's processors")


def get_ethosu_quantizer(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_ethosu_quantizer", "the backend for Arm's processors")


def get_tosa_partitioner(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_tosa_partitioner", "the backend for Arm's processors")


def get_tosa_quantizer(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_tosa_quantizer", "the backend for Arm's processors")


def get_vgf_partitioner(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_vgf_partitioner", "the backend for Arm's processors")


def get_vgf_quantizer(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_vgf_quantizer", "the backend for Arm's processors")


def get_qnn_partitioner(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_qnn_partitioner", "the backend for Qualcomm's processors")


def get_qnn_quantizer(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_qnn_quantizer", "the backend for Qualcomm's processors")


def get_vulkan_partitioner(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_vulkan_partitioner", "the backend for Vulkan")


def get_vulkan_quantizer(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_vulkan_quantizer", "the backend for Vulkan")


def get_ov_quantizer(*args: object, **kwargs: object) -> NoReturn:
    """Raises ImportError."""
    _refuse("get_ov_quantizer", "NNCF")
