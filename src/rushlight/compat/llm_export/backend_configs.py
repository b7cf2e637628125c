"""The options of backends in the configuration of a language model's export.

`rushlight.compat.llm_export.config` contains the other options.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

_IOS_VERSIONS = (15, 16, 17, 18)


@dataclass
class XNNPackConfig:
    """The options of XNNPACK.

    Attributes:
        enabled: delegate to XNNPACK.
        extended_ops: delegate all supported operators, and not only dynamically quantized layers.
        enable_bf16: delegate bfloat16 operators too.
    """

    enabled: bool = False
    extended_ops: bool = False
    enable_bf16: bool = False


class CoreMLQuantize(str, Enum):
    """How Core ML quantizes weights to 4 bits: in blocks, or per channel."""

    b4w = "b4w"
    c4w = "c4w"


class CoreMLComputeUnit(str, Enum):
    """The processors that Core ML may use."""

    cpu_only = "cpu_only"
    cpu_and_gpu = "cpu_and_gpu"
    cpu_and_ne = "cpu_and_ne"
    all = "all"


@dataclass
class CoreMLConfig:
    """The options of Core ML.

    Attributes:
        enabled: delegate to Core ML.
        enable_state: keep caches as states of Core ML.
        preserve_sdpa: do not decompose attention.
        quantize: how weights are quantized; None keeps them.
        ios: the oldest version of iOS that runs the program: 15 to 18.
        compute_units: the processors.

    Raises:
        ValueError: `ios` is another version.
    """

    enabled: bool = False
    enable_state: bool = False
    preserve_sdpa: bool = False
    quantize: CoreMLQuantize | None = None
    ios: int = 15
    compute_units: CoreMLComputeUnit = CoreMLComputeUnit.cpu_only

    def __post_init__(self) -> None:
        if self.ios not in _IOS_VERSIONS:
            raise ValueError(f"CoreMLConfig: ios must be one of {_IOS_VERSIONS}, not {self.ios!r}")


@dataclass
class VulkanConfig:
    """The options of Vulkan.

    Attributes:
        enabled: delegate to Vulkan.
        force_fp16: compute float32 operators in float16.
    """

    enabled: bool = False
    force_fp16: bool = False


@dataclass
class QNNConfig:
    """The options of Qualcomm's processors.

    Attributes:
        enabled: delegate to Qualcomm's backend.
        use_sha: divide attention into single heads.
        soc_model: the name of the chip.
        use_qnn_sha: use the backend's own attention with single heads.
        optimized_rotation_path: a file with rotations of weights.
        num_sharding: the number of parts of the model; 0 does not divide it.
    """

    enabled: bool = False
    use_sha: bool = False
    soc_model: str = "SM8650"
    use_qnn_sha: bool = False
    optimized_rotation_path: str | None = None
    num_sharding: int = 0


@dataclass
class OpenvinoConfig:
    """The options of OpenVINO.

    Attributes:
        enabled: delegate to OpenVINO.
        device: the device, such as "CPU".
        nncf_compression_group_size: the number of weights that share a scale.
        openvino_awq: scale weights by the magnitude of activations before they are quantized.
        openvino_scale_estimation: estimate the scales of weights from data.
    """

    enabled: bool = False
    device: str = "CPU"
    nncf_compression_group_size: int = 32
    openvino_awq: bool = False
    openvino_scale_estimation: bool = False


@dataclass
class TorchAOKernelsConfig:
    """The layers that run with torchao's kernels.

    Attributes:
        use_torchao_kernels_linear: linear layers.
        use_torchao_kernels_tied_embedding: embeddings that share their weight with a linear layer.
    """

    use_torchao_kernels_linear: bool = False
    use_torchao_kernels_tied_embedding: bool = False


@dataclass
class TosaConfig:
    """The options of TOSA: `enabled`, and the version of the specification with its profile."""

    enabled: bool = False
    version: str = "TOSA-1.0+INT"


@dataclass
class EthosUConfig:
    """The options of Arm's Ethos-U.

    Attributes:
        enabled: delegate to Ethos-U.
        target: the name of the processor.
        memory_mode: the placement of memory, in Vela's words.
        system_config: the clock and memories, in Vela's words.
        extra_flags: further options of Vela.
    """

    enabled: bool = False
    target: str = "ethos-u85-128"
    memory_mode: str = "default"
    system_config: str = "default"
    extra_flags: list[str] = field(default_factory=list)


class VgfQuantizeScope(str, Enum):
    """What is quantized for VGF: everything, or linear layers."""

    full = "full"
    linear = "linear"


@dataclass
class VgfConfig:
    """The options of Arm's VGF.

    Attributes:
        enabled: delegate to VGF.
        compile_spec: the version of the TOSA specification with its profile.
        compiler_flags: further options of the compiler.
        quantize_scope: what is quantized.
    """

    enabled: bool = False
    compile_spec: str | None = "TOSA-1.0+INT"
    compiler_flags: list[str] = field(default_factory=list)
    quantize_scope: VgfQuantizeScope = VgfQuantizeScope.full


@dataclass
class MLXConfig:
    """The options of Apple's MLX: `enabled`."""

    enabled: bool = False


@dataclass
class BackendConfig:
    """The options of each backend. Several backends may be enabled."""

    xnnpack: XNNPackConfig = field(default_factory=XNNPackConfig)
    coreml: CoreMLConfig = field(default_factory=CoreMLConfig)
    vulkan: VulkanConfig = field(default_factory=VulkanConfig)
    qnn: QNNConfig = field(default_factory=QNNConfig)
    openvino: OpenvinoConfig = field(default_factory=OpenvinoConfig)
    torchao: TorchAOKernelsConfig = field(default_factory=TorchAOKernelsConfig)
    tosa: TosaConfig = field(default_factory=TosaConfig)
    ethosu: EthosUConfig = field(default_factory=EthosUConfig)
    vgf: VgfConfig = field(default_factory=VgfConfig)
    mlx: MLXConfig = field(default_factory=MLXConfig)
