"""The stages of XnnpackBackend. The names are those of ExecuTorch's `backends.xnnpack.test.tester`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._export.pass_base import PassType
from torch.export import ExportedProgram
from torchao.quantization.pt2e.quantizer import QuantizationConfig, Quantizer

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.compat.xnnpack_passes.manager import XNNPACKPassManager
from rushlight.compiler import EdgeCompileConfig
from rushlight.delegate.partitioner import Partitioner
from rushlight.export.xnnpack_configs import get_xnnpack_edge_compile_config
from rushlight.testing import stages
from rushlight.testing import tester as base
from rushlight.testing.stages import Export, Inputs, Serialize, StageType, ToExecutorch

__all__ = [
    "Export",
    "Partition",
    "Quantize",
    "RunPasses",
    "Serialize",
    "Tester",
    "ToEdge",
    "ToEdgeTransformAndLower",
    "ToExecutorch",
]


class Quantize(stages.Quantize):
    """Quantizes with XNNPACKQuantizer. The default is int8 with one scale for each tensor."""

    def __init__(
        self,
        quantizer: Quantizer | None = None,
        quantization_config: QuantizationConfig | None = None,
        calibrate: bool = True,
        calibration_samples: Sequence[Inputs] | None = None,
        is_qat: bool | None = False,
    ) -> None:
        super().__init__(
            quantizer=quantizer or XNNPACKQuantizer(),
            quantization_config=quantization_config or get_symmetric_quantization_config(is_qat=bool(is_qat)),
            calibrate=calibrate,
            calibration_samples=calibration_samples,
            is_qat=is_qat,
        )


class RunPasses(stages.RunPasses):
    """Runs passes over edge programs with XNNPACKPassManager."""

    def __init__(
        self,
        pass_list: Sequence[Callable[[], PassType]] | None = None,
        pass_functions: Sequence[Callable[[ExportedProgram], ExportedProgram]] | None = None,
    ) -> None:
        super().__init__(XNNPACKPassManager, pass_list, pass_functions)


class ToEdge(stages.ToEdge):
    """Converts with `get_xnnpack_edge_compile_config()` by default."""

    def __init__(self, edge_compile_config: EdgeCompileConfig | None = None) -> None:
        super().__init__(edge_compile_config or get_xnnpack_edge_compile_config())


class ToEdgeTransformAndLower(stages.ToEdgeTransformAndLower):
    """Lowers with XnnpackPartitioner and `get_xnnpack_edge_compile_config()` by default."""

    def __init__(
        self,
        partitioners: Sequence[Partitioner] | None = None,
        edge_compile_config: EdgeCompileConfig | None = None,
    ) -> None:
        super().__init__(
            XnnpackPartitioner, partitioners, edge_compile_config or get_xnnpack_edge_compile_config()
        )


class Partition(stages.Partition):
    """Lowers with XnnpackPartitioner by default."""

    def __init__(self, partitioner: Partitioner | None = None) -> None:
        super().__init__(partitioner or XnnpackPartitioner())


class Tester(base.Tester):
    """A tester with the stages of XnnpackBackend."""

    def __init__(
        self,
        module: torch.nn.Module,
        example_inputs: Inputs,
        dynamic_shapes: Any = None,
        **kwargs: Any,
    ) -> None:
        own = {
            StageType.EXPORT: Export,
            StageType.PARTITION: Partition,
            StageType.QUANTIZE: Quantize,
            StageType.RUN_PASSES: RunPasses,
            StageType.TO_EDGE: ToEdge,
            StageType.TO_EDGE_TRANSFORM_AND_LOWER: ToEdgeTransformAndLower,
            StageType.SERIALIZE: Serialize,
        }
        classes = base.Tester.default_stage_classes() | own
        super().__init__(module, example_inputs, classes, dynamic_shapes, **kwargs)
