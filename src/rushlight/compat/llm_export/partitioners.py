"""The partitioners of language models."""

from __future__ import annotations

from rushlight.backends.openvino.partitioner import OpenvinoPartitioner
from rushlight.backends.xnnpack.partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from rushlight.delegate.backend import CompileSpec


def get_xnnpack_partitioner(
    dynamic_quant_only_partitioner: bool = True, enable_bf16: bool = False
) -> XnnpackPartitioner:
    """Returns a partitioner for XNNPACK.

    Args:
        dynamic_quant_only_partitioner: delegate dynamically quantized layers only.
        enable_bf16: delegate bfloat16 matrix products too.
    """
    if dynamic_quant_only_partitioner:
        return XnnpackDynamicallyQuantizedPartitioner(enable_bf16=enable_bf16)
    return XnnpackPartitioner(enable_bf16=enable_bf16)


def get_openvino_partitioner(device: str) -> OpenvinoPartitioner:
    """Returns a partitioner for OpenVINO on a device, such as "CPU"."""
    return OpenvinoPartitioner([CompileSpec("device", device.encode())])
