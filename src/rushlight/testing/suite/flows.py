"""The flows of Rushlight's backends: portable kernels, CpuBackend and XnnpackBackend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torchao.quantization.pt2e.quantizer import QuantizationConfig

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.quantize.specs import dynamic_int8, get_symmetric_quantization_config, static_int8
from rushlight.testing import stages, xnnpack
from rushlight.testing.stages import Stage, StageType
from rushlight.testing.suite.flow import TestFlow
from rushlight.testing.tester import Tester


class CpuTester(Tester):
    """A tester with the stages of CpuBackend."""

    def __init__(self, module: Any, example_inputs: Any, dynamic_shapes: Any = None, **kwargs: Any) -> None:
        own: dict[StageType, Callable[..., Stage]] = {
            StageType.PARTITION: lambda: stages.Partition(CpuPartitioner()),
            StageType.TO_EDGE_TRANSFORM_AND_LOWER: partial(stages.ToEdgeTransformAndLower, CpuPartitioner),
        }
        classes = Tester.default_stage_classes() | own
        super().__init__(module, example_inputs, classes, dynamic_shapes, **kwargs)


def _cpu(name: str, config: Callable[[], QuantizationConfig] | None = None) -> TestFlow:
    def quantize() -> Stage:
        assert config is not None
        return stages.Quantize(CpuQuantizer(), config())

    factory = None if config is None else quantize
    return TestFlow(name, "cpu", CpuTester, config is not None, factory)


def _xnnpack(name: str, **settings: bool) -> TestFlow:
    def quantize() -> Stage:
        return xnnpack.Quantize(quantization_config=get_symmetric_quantization_config(**settings))

    return TestFlow(name, "xnnpack", xnnpack.Tester, bool(settings), quantize if settings else None)


PORTABLE_TEST_FLOW = TestFlow("portable", "portable", Tester, is_delegated=False)
CPU_TEST_FLOW = _cpu("cpu")
CPU_STATIC_INT8_TEST_FLOW = _cpu("cpu_static_int8", static_int8)
CPU_DYNAMIC_INT8_TEST_FLOW = _cpu("cpu_dynamic_int8", dynamic_int8)
XNNPACK_TEST_FLOW = _xnnpack("xnnpack")
XNNPACK_DYNAMIC_INT8_PER_CHANNEL_TEST_FLOW = _xnnpack(
    "xnnpack_dynamic_int8_per_channel", is_per_channel=True, is_dynamic=True
)
XNNPACK_STATIC_INT8_PER_CHANNEL_TEST_FLOW = _xnnpack("xnnpack_static_int8_per_channel", is_per_channel=True)
XNNPACK_STATIC_INT8_PER_TENSOR_TEST_FLOW = _xnnpack("xnnpack_static_int8_per_tensor", is_per_channel=False)

FLOWS = (
    PORTABLE_TEST_FLOW,
    CPU_TEST_FLOW,
    CPU_STATIC_INT8_TEST_FLOW,
    CPU_DYNAMIC_INT8_TEST_FLOW,
    XNNPACK_TEST_FLOW,
    XNNPACK_DYNAMIC_INT8_PER_CHANNEL_TEST_FLOW,
    XNNPACK_STATIC_INT8_PER_CHANNEL_TEST_FLOW,
    XNNPACK_STATIC_INT8_PER_TENSOR_TEST_FLOW,
)


def all_flows() -> dict[str, TestFlow]:
    """Returns the flows of Rushlight's backends, by name."""
    return {flow.name: flow for flow in FLOWS}
