"""The options of a language model's export.

The classes are data. The code that exports a model reads them and passes the values to `LLMEdgeManager`, the
partitioners and the quantizers. Each class refuses values that exclude each other.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from rushlight.compat.llm_export.backend_configs import BackendConfig


class ModelType(str, Enum):
    """The architecture of a model."""

    stories110m = "stories110m"
    llama2 = "llama2"
    llama3 = "llama3"
    llama3_1 = "llama3_1"
    llama3_2 = "llama3_2"
    llama3_2_vision = "llama3_2_vision"
    static_llama = "static_llama"
    qwen2_5_0_5b = "qwen2_5_0_5b"
    qwen2_5_1_5b = "qwen2_5_1_5b"
    qwen2_5_coder_32b = "qwen2_5_coder_32b"
    qwen3_0_6b = "qwen3_0_6b"
    qwen3_1_7b = "qwen3_1_7b"
    qwen3_4b = "qwen3_4b"
    qwen3_5_0_8b = "qwen3_5_0_8b"
    qwen3_5_2b = "qwen3_5_2b"
    qwen3_5_4b = "qwen3_5_4b"
    phi_4_mini = "phi_4_mini"
    smollm2 = "smollm2"
    lfm2_350m = "lfm2_350m"
    lfm2_700m = "lfm2_700m"
    lfm2_1_2b = "lfm2_1_2b"
    lfm2_5_350m = "lfm2_5_350m"
    lfm2_5_1_2b = "lfm2_5_1_2b"


class PreqMode(str, Enum):
    """How a checkpoint was quantized before the export. The second value also has an 8-bit output layer."""

    preq_8da4w = "8da4w"
    preq_8da4w_out_8da8w = "8da4w_output_8da8w"


@dataclass
class LoraConfig:
    """A low-rank adapter.

    Attributes:
        adapter_checkpoint: the file of the adapter's weights.
        adapter_config: a JSON file with the next three values.
        lora_rank: the rank.
        lora_alpha: the scale of the adapter, multiplied by the rank.
        target_modules: the names of the adapted layers.
        adapter_quant: the number format of the adapter: "int8", "fp16" or "fp32".
    """

    adapter_checkpoint: str
    adapter_config: str | None = None
    lora_rank: int = 0
    lora_alpha: int = 0
    target_modules: list[str] = field(default_factory=list)
    adapter_quant: str | None = None


@dataclass
class BaseConfig:
    """The model and its weights.

    Attributes:
        model_class: the architecture.
        params: a JSON file with the sizes of the model.
        checkpoint: the file of the weights.
        lora_config: an adapter, which is part of the program.
        tokenizer_path: the file of the tokenizer.
        metadata: constant methods of the program: a JSON object.
        use_lora: the rank of an adapter that was trained with quantization; 0 means no adapter.
        preq_mode: how the checkpoint was quantized.
        preq_group_size: the number of weights that share a scale in the checkpoint.
        preq_embedding_quantize: the bits and the group size of quantized embeddings in the checkpoint.
    """

    model_class: ModelType = ModelType.llama3
    params: str | None = None
    checkpoint: str | None = None
    lora_config: LoraConfig | None = None
    tokenizer_path: str | None = None
    metadata: str | None = None
    use_lora: int = 0
    preq_mode: PreqMode | None = None
    preq_group_size: int = 32
    preq_embedding_quantize: str = "8,0"


class DtypeOverride(str, Enum):
    """The dtype to which the model is converted."""

    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"


@dataclass
class ModelConfig:
    """Options that change the modules of the model.

    Attributes:
        dtype_override: the dtype of the model.
        enable_dynamic_shape: let the number of tokens be dynamic.
        use_shared_embedding: let the embedding and the output layer share a weight.
        use_sdpa_with_kv_cache: compute attention with the operator `llama::custom_sdpa`.
        expand_rope_table: repeat the table of position embeddings for each head dimension.
        use_attention_sink: the number of first tokens that stay in the cache, and the length of the window:
            two numbers with a comma between them.
        output_prune_map: a JSON file with the tokens that remain in the output layer.
        input_prune_map: a JSON file with the tokens that remain in the embedding.
        use_kv_cache: use a key-value cache.
        quantize_kv_cache: store the cache in int8 with a scale for each token.
        static_quantize_kv_cache: store the cache in int8 with fixed scales.
        static_quantize_kv_cache_scale: the fixed scale.
        local_global_attention: the window of each layer; 0 means all tokens. The list repeats.
        use_moe_quantized_op: compute mixtures of experts with `llama::quantized_moe_ffn`.

    Raises:
        ValueError: options exclude each other, or a value is not valid.
    """

    dtype_override: DtypeOverride = DtypeOverride.fp32
    enable_dynamic_shape: bool = True
    use_shared_embedding: bool = False
    use_sdpa_with_kv_cache: bool = False
    expand_rope_table: bool = False
    use_attention_sink: str | None = None
    output_prune_map: str | None = None
    input_prune_map: str | None = None
    use_kv_cache: bool = False
    quantize_kv_cache: bool = False
    static_quantize_kv_cache: bool = False
    static_quantize_kv_cache_scale: float = 1.0 / 127.0
    local_global_attention: list[int] | None = None
    use_moe_quantized_op: bool = False

    def __post_init__(self) -> None:
        sink = self.use_attention_sink
        if sink and sink.count(",") != 1:
            raise ValueError(
                f"ModelConfig: use_attention_sink must be '<first tokens>,<window>', such as '4,2044', not "
                f"{sink!r}"
            )
        if not self.use_kv_cache:
            for name in ("quantize_kv_cache", "static_quantize_kv_cache", "local_global_attention"):
                if getattr(self, name):
                    raise ValueError(f"ModelConfig: {name} needs use_kv_cache=True")
        scale = self.static_quantize_kv_cache_scale
        if not (math.isfinite(scale) and scale > 0):
            raise ValueError(
                f"ModelConfig: static_quantize_kv_cache_scale must be a positive number, not {scale}"
            )
        if self.static_quantize_kv_cache:
            for name in (
                "quantize_kv_cache",
                "enable_dynamic_shape",
                "local_global_attention",
                "use_attention_sink",
            ):
                if getattr(self, name):
                    raise ValueError(f"ModelConfig: static_quantize_kv_cache and {name} exclude each other")


@dataclass
class ExportConfig:
    """The program file and its limits.

    Attributes:
        max_seq_length: the largest number of tokens of a call.
        max_context_length: the largest number of tokens in the cache.
        output_dir: the folder of the program file.
        output_name: the name of the program file.
        so_library: a shared library with operators for torch.
        export_only: write the exported program (.pt2) and stop.
        foundation_weights_file: the name of a data file for the weights of the base model.
        lora_weights_file: the name of a data file for the weights of the adapter.

    Raises:
        ValueError: the context is shorter than a call.
    """

    max_seq_length: int = 128
    max_context_length: int = 128
    output_dir: str = "."
    output_name: str | None = None
    so_library: str | None = None
    export_only: bool = False
    foundation_weights_file: str | None = None
    lora_weights_file: str | None = None

    def __post_init__(self) -> None:
        if self.max_context_length < self.max_seq_length:
            raise ValueError(
                f"ExportConfig: max_context_length={self.max_context_length} is smaller than "
                f"max_seq_length={self.max_seq_length}"
            )


@dataclass
class DebugConfig:
    """Information about the export.

    Attributes:
        profile_memory: write a trace of the memory of activations.
        profile_path: the file of a profile of the export.
        generate_etrecord: write an ETRecord.
        generate_full_logits: return the logits of all tokens, and not only those of the last token.
        verbose: log the steps.
    """

    profile_memory: bool = False
    profile_path: str | None = None
    generate_etrecord: bool = False
    generate_full_logits: bool = False
    verbose: bool = False


@dataclass
class MethodConfig:
    """One method of a program with several methods.

    Attributes:
        method_name: the name of the method.
        lora_config: the adapter of the method.
        export_seq_len: the number of tokens of the example inputs.
    """

    method_name: str
    lora_config: LoraConfig | None = None
    export_seq_len: int | None = None


@dataclass
class MultimethodConfig:
    """The methods of a program with several methods.

    Attributes:
        methods: the methods.
        share_mutable_buffers: let buffers with the same qualified name share memory in all methods.
    """

    methods: list[MethodConfig] = field(default_factory=list)
    share_mutable_buffers: bool = False

    @property
    def enabled(self) -> bool:
        """Whether the program has several methods, that is, whether `methods` is not empty."""
        return bool(self.methods)


class Pt2eQuantize(str, Enum):
    """The quantizer of the captured graph."""

    xnnpack_dynamic = "xnnpack_dynamic"
    xnnpack_dynamic_qc4 = "xnnpack_dynamic_qc4"
    openvino_4wo = "openvino_4wo"
    openvino_8wo = "openvino_8wo"
    qnn_8a8w = "qnn_8a8w"
    qnn_16a16w = "qnn_16a16w"
    qnn_16a4w = "qnn_16a4w"
    coreml_c4w = "coreml_c4w"
    coreml_8a_c8w = "coreml_8a_c8w"
    coreml_8a_c4w = "coreml_8a_c4w"
    coreml_baseline_8a_c8w = "coreml_baseline_8a_c8w"
    coreml_baseline_8a_c4w = "coreml_baseline_8a_c4w"
    vulkan_8w = "vulkan_8w"
    tosa_8a8w = "tosa_8a8w"
    ethosu_8a8w = "ethosu_8a8w"
    ethosu_16a8w = "ethosu_16a8w"
    vgf_8a8w = "vgf_8a8w"
    vgf_16a8w = "vgf_16a8w"


class SpinQuant(str, Enum):
    """Where the rotations of SpinQuant are computed."""

    cuda = "cuda"
    native = "native"


class QuantizeScope(str, Enum):
    """What Arm's quantizers quantize: everything, or linear layers."""

    full = "full"
    linear = "linear"


@dataclass
class QuantizationConfig:
    """How the model is quantized.

    Attributes:
        qmode: how the weights of linear layers are quantized before the export.
        embedding_quantize: the bits and the group size of embeddings: two numbers with a comma between them.
        pt2e_quantize: the quantizer of the captured graph.
        group_size: the number of weights that share a scale.
        use_spin_quant: rotate weights with SpinQuant.
        use_qat: the checkpoint was trained with quantization.
        quantize_scope: what Arm's quantizers quantize.
        calibration_tasks: tasks of lm_eval for calibration.
        calibration_limit: the number of samples of each task.
        calibration_seq_length: the largest number of tokens for calibration.
        calibration_data: a text for calibration.
        use_hqq: choose scales with the HQQ algorithm.

    Raises:
        ValueError: there is no such `qmode`.
    """

    QMODE_OPTIONS: ClassVar[list[str]] = ["int8", "8da4w", "8da4w-gptq", "4w"]
    AO_QUANT_PATTERNS: ClassVar[list[str]] = [r"torchao:8da(\d+)w", r"torchao:fpa(\d+)w"]

    qmode: str | None = None
    embedding_quantize: str | None = None
    pt2e_quantize: Pt2eQuantize | None = None
    group_size: int | None = None
    use_spin_quant: SpinQuant | None = None
    use_qat: bool = False
    quantize_scope: QuantizeScope = QuantizeScope.full
    calibration_tasks: list[str] | None = None
    calibration_limit: int | None = None
    calibration_seq_length: int | None = None
    calibration_data: str = "Once upon a time"
    use_hqq: bool = True

    def __post_init__(self) -> None:
        if self.qmode and self.qmode not in self.QMODE_OPTIONS and not self.uses_torchao_kernels():
            raise ValueError(
                f"QuantizationConfig: there is no qmode {self.qmode!r}; the modes are "
                f"{', '.join(self.QMODE_OPTIONS)}, torchao:8da<bits>w and torchao:fpa<bits>w"
            )

    def uses_torchao_kernels(self) -> bool:
        """Returns whether `qmode` selects torchao's kernels."""
        return any(len(re.findall(pattern, self.qmode or "")) == 1 for pattern in self.AO_QUANT_PATTERNS)


@dataclass
class Options:
    """All options of an export.

    Raises:
        ValueError: options of different parts exclude each other.
    """

    base: BaseConfig = field(default_factory=BaseConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    export: ExportConfig = field(default_factory=ExportConfig)
    debug: DebugConfig = field(default_factory=DebugConfig)
    multimethod: MultimethodConfig = field(default_factory=MultimethodConfig)
    quantization: QuantizationConfig = field(default_factory=QuantizationConfig)
    backend: BackendConfig = field(default_factory=BackendConfig)

    def __post_init__(self) -> None:
        if not self.quantization.qmode:
            return
        if self.quantization.uses_torchao_kernels():
            if self.backend.xnnpack.enabled:
                raise ValueError(
                    f"LlmConfig: qmode={self.quantization.qmode!r} selects torchao's kernels, which "
                    "backend.xnnpack.enabled excludes"
                )
        elif self.model.use_shared_embedding:
            raise ValueError(
                "LlmConfig: model.use_shared_embedding needs torchao's kernels (qmode=torchao:...), not "
                f"qmode={self.quantization.qmode!r}"
            )
