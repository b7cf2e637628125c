"""The parts of a recipe: the options of quantization and lowering as plain data."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, EnumMeta
from typing import TYPE_CHECKING, Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torchao.core.config import AOBaseConfig
from torchao.quantization.pt2e.quantizer import Quantizer

from rushlight.compiler.config import EdgeCompileConfig
from rushlight.compiler.edge import EdgeProgramManager
from rushlight.delegate.partitioner import Partitioner
from rushlight.passes.base import AnyPass

if TYPE_CHECKING:
    from rushlight.compiler.edge import Passes

GraphPass = Callable[[GraphModule], GraphModule]


class _RecipeTypeMeta(EnumMeta, ABCMeta):
    pass


class RecipeType(Enum, metaclass=_RecipeTypeMeta):
    """The base class of the enumerations of recipe types. Each backend defines one enumeration."""

    @classmethod
    @abstractmethod
    def get_backend_name(cls) -> str:
        """Returns the name under which the provider of the backend is registered, such as "xnnpack"."""


class Mode(str, Enum):
    """Whether an export is for debugging or for release.

    A program for debugging contains the source lines of the model: `ExecutorchBackendConfig.emit_stacktrace`
    is set.
    """

    DEBUG = "debug"
    RELEASE = "release"


@dataclass
class AOQuantizationConfig:
    """One call of torchao's `quantize_`.

    Attributes:
        ao_base_config: torchao's configuration.
        filter_fn: `(module, name) -> bool` selects the modules to quantize; None means torchao's default.
    """

    ao_base_config: AOBaseConfig
    filter_fn: Callable[[torch.nn.Module, str], bool] | None = None


@dataclass
class QuantizationRecipe:
    """How to quantize: with torchao's `quantize_`, and then with the pt2e flow.

    The pt2e flow prepares the module, calibrates or trains it, and converts it.

    Attributes:
        quantizers: the quantizers of the pt2e flow; None means that the flow is skipped.
        ao_quantization_configs: at most one configuration for `quantize_`.
        is_qat: train the prepared module with `train_fn` instead of calibrating it.
        dynamic_batch_size: dim 0 of every input may vary during calibration and training.
        calibration_inputs_fn: returns tuples of inputs for the calibration; None means the example inputs.
        train_fn: trains the prepared graph module in place.
        pre_prepare_passes: functions `(graph module) -> graph module` that run before prepare.
        post_prepare_passes: functions of the same kind that run after prepare.
        pre_convert_passes: functions of the same kind that run before convert.
        post_convert_passes: functions of the same kind that run after convert.
    """

    quantizers: list[Quantizer] | None = None
    ao_quantization_configs: list[AOQuantizationConfig] | None = None
    is_qat: bool = False
    dynamic_batch_size: bool = False
    calibration_inputs_fn: Callable[[], Iterable[tuple[Any, ...]]] | None = None
    train_fn: Callable[[GraphModule], None] | None = None
    pre_prepare_passes: list[GraphPass] | None = None
    post_prepare_passes: list[GraphPass] | None = None
    pre_convert_passes: list[GraphPass] | None = None
    post_convert_passes: list[GraphPass] | None = None

    def get_quantizers(self) -> list[Quantizer] | None:
        """Returns the quantizers, or None if there are none."""
        return self.quantizers


@dataclass
class LoweringRecipe:
    """How to lower to backends.

    Attributes:
        partitioners: the partitioners in order, for all methods or by method name.
        edge_transform_passes: functions `(method name, program) -> passes` for each edge program.
        edge_manager_transform_passes: functions `(manager) -> passes` for all edge programs together.
        edge_compile_config: options of the conversion to the edge dialect.
    """

    partitioners: list[Partitioner] | dict[str, list[Partitioner]] | None = None
    edge_transform_passes: list[Callable[[str, ExportedProgram], Sequence[AnyPass]]] | None = None
    edge_manager_transform_passes: list[Callable[[EdgeProgramManager], Passes | None]] | None = None
    edge_compile_config: EdgeCompileConfig | None = None
