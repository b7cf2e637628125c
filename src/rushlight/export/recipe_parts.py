"""What a recipe is made of: the options of quantizing and of lowering as plain data."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, EnumMeta
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torchao.core.config import AOBaseConfig
from torchao.quantization.pt2e.quantizer import Quantizer

from rushlight.compile.config import EdgeCompileConfig
from rushlight.compile.edge import EdgeProgramManager
from rushlight.delegate.partitioner import Partitioner

GraphPass = Callable[[GraphModule], GraphModule]


class _RecipeTypeMeta(EnumMeta, ABCMeta):
    pass


class RecipeType(Enum, metaclass=_RecipeTypeMeta):
    """The names of a backend's recipes: backends make an enumeration of their own from it."""

    @classmethod
    @abstractmethod
    def get_backend_name(cls) -> str:
        """The name under which the backend's provider is registered, such as "xnnpack"."""


class Mode(str, Enum):
    """Whether an export is for finding faults or for use."""

    DEBUG = "debug"
    RELEASE = "release"


@dataclass
class AOQuantizationConfig:
    """One call of torchao's `quantize_`, on the modules that `filter_fn(module, name)` chooses (None: its
    default)."""

    ao_base_config: AOBaseConfig
    filter_fn: Callable[[torch.nn.Module, str], bool] | None = None


@dataclass
class QuantizationRecipe:
    """How to quantize: torchao's source transforms, then prepare, calibrate or train, and convert.

    calibration_inputs_fn gives tuples of inputs; None calibrates on the example inputs. With `is_qat`,
    `train_fn` trains the prepared module instead. `dynamic_batch_size` lets dim 0 of every input vary while
    calibrating and training. The four lists of passes take and give the graph module at their point.
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
        """The quantizers, None if there are none."""
        return self.quantizers


@dataclass
class LoweringRecipe:
    """How to lower: partitioners in order, for all methods or by method name; passes for an edge program
    (`(method, program) -> passes`); passes for the manager of them all (`(manager) -> passes`)."""

    partitioners: list[Partitioner] | dict[str, list[Partitioner]] | None = None
    edge_transform_passes: list[Callable[[str, ExportedProgram], Any]] | None = None
    edge_manager_transform_passes: list[Callable[[EdgeProgramManager], Any]] | None = None
    edge_compile_config: EdgeCompileConfig | None = None
