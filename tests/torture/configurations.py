"""Configurations: quantizers and options of the compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.export import ExportedProgram

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.quantize import dynamic_int8, quantize, static_int8, weight_only_int8

THREADS = (1, 2)

_ARGUMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "kernels": lambda: {"partitioner": ()},
    "default": dict,
    "high": lambda: {"float32_matmul_precision": "high"},
    "xnnpack": lambda: {"partitioner": [XnnpackPartitioner()]},
}

NAMES = tuple(_ARGUMENTS)

TEXT = {
    "kernels": ", partitioner=()",
    "default": "",
    "high": ', float32_matmul_precision="high"',
    "xnnpack": ", partitioner=[XnnpackPartitioner()]",
}
"""The source of the arguments of `rushlight.compile` after the program, by configuration."""

_QUANTIZERS: dict[str, Callable[[], Any]] = {
    "cpu static_int8()": lambda: CpuQuantizer().set_global(static_int8()),
    "cpu dynamic_int8()": lambda: CpuQuantizer().set_global(dynamic_int8()),
    "cpu dynamic_int8(per_token=True)": lambda: CpuQuantizer().set_global(dynamic_int8(per_token=True)),
    "cpu weight_only_int8()": lambda: CpuQuantizer().set_global(weight_only_int8()),
    "xnnpack static": lambda: XNNPACKQuantizer().set_global(get_symmetric_quantization_config()),
    "xnnpack per channel": lambda: XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True)
    ),
    "xnnpack dynamic": lambda: XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    ),
}

QUANTIZERS = tuple(_QUANTIZERS)

QUANTIZER_TEXT = {
    "cpu static_int8()": "CpuQuantizer().set_global(static_int8())",
    "cpu dynamic_int8()": "CpuQuantizer().set_global(dynamic_int8())",
    "cpu dynamic_int8(per_token=True)": "CpuQuantizer().set_global(dynamic_int8(per_token=True))",
    "cpu weight_only_int8()": "CpuQuantizer().set_global(weight_only_int8())",
    "xnnpack static": "XNNPACKQuantizer().set_global(get_symmetric_quantization_config())",
    "xnnpack per channel": "XNNPACKQuantizer().set_global("
    "get_symmetric_quantization_config(is_per_channel=True))",
    "xnnpack dynamic": "XNNPACKQuantizer().set_global("
    "get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))",
}
"""The source of each quantizer."""


def configurations_of(quantizer: str) -> tuple[str, ...]:
    """Returns the configurations for programs of a quantizer."""
    if quantizer.startswith("cpu"):
        return ("kernels", "default", "high")
    return ("kernels", "xnnpack") if quantizer else NAMES


def quantized(program: ExportedProgram, quantizer: str, data: list[tuple[Any, ...]]) -> ExportedProgram:
    """Quantizes a program after calibration with data."""
    return quantize(program, None, _QUANTIZERS[quantizer](), data)


def compile_program(program: ExportedProgram, configuration: str) -> bytes:
    """Compiles a program in a configuration, and returns the bytes of the .pte file."""
    return bytes(rushlight.compile(program, **_ARGUMENTS[configuration]()).buffer)
