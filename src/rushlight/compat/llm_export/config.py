"""The configuration of a language model's export, as in ExecuTorch's `extension.llm.export.config`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields

from rushlight.compat.llm_export.arguments import read_arguments
from rushlight.compat.llm_export.backend_configs import (
    BackendConfig,
    CoreMLComputeUnit,
    CoreMLConfig,
    CoreMLQuantize,
    EthosUConfig,
    MLXConfig,
    OpenvinoConfig,
    QNNConfig,
    TorchAOKernelsConfig,
    TosaConfig,
    VgfConfig,
    VgfQuantizeScope,
    VulkanConfig,
    XNNPackConfig,
)
from rushlight.compat.llm_export.options import (
    BaseConfig,
    DebugConfig,
    DtypeOverride,
    ExportConfig,
    LoraConfig,
    MethodConfig,
    ModelConfig,
    ModelType,
    MultimethodConfig,
    Options,
    PreqMode,
    Pt2eQuantize,
    QuantizationConfig,
    QuantizeScope,
    SpinQuant,
)

__all__ = [
    "BackendConfig",
    "BaseConfig",
    "CoreMLComputeUnit",
    "CoreMLConfig",
    "CoreMLQuantize",
    "DebugConfig",
    "DtypeOverride",
    "EthosUConfig",
    "ExportConfig",
    "LlmConfig",
    "LoraConfig",
    "MLXConfig",
    "MethodConfig",
    "ModelConfig",
    "ModelType",
    "MultimethodConfig",
    "OpenvinoConfig",
    "PreqMode",
    "Pt2eQuantize",
    "QNNConfig",
    "QuantizationConfig",
    "QuantizeScope",
    "SpinQuant",
    "TorchAOKernelsConfig",
    "TosaConfig",
    "VgfConfig",
    "VgfQuantizeScope",
    "VulkanConfig",
    "XNNPackConfig",
]


@dataclass
class LlmConfig(Options):
    """All options of an export.

    Raises:
        ValueError: options of different parts exclude each other.
    """

    @classmethod
    def from_args(cls, args: argparse.Namespace) -> LlmConfig:
        """Returns the configuration for the arguments of a command.

        Args:
            args: an object with arguments of ExecuTorch's `export_llama` command as attributes. Missing
                attributes leave the default.

        Raises:
            ValueError: an argument has an unknown value, or arguments exclude each other.
        """
        config = cls()
        read_arguments(config, args)
        for part in (*(getattr(config, item.name) for item in fields(config)), config.backend.coreml, config):
            if hasattr(part, "__post_init__"):
                part.__post_init__()
        return config
