"""Converts the arguments of ExecuTorch's `export_llama` command to a configuration."""

from __future__ import annotations

import argparse
from enum import Enum
from operator import attrgetter
from typing import Any

from rushlight.compat.llm_export import backend_configs as backends
from rushlight.compat.llm_export import options
from rushlight.compat.llm_export.options import LoraConfig, Options

# Arguments that set the field with the same name, by part of the configuration.
_SAME_NAMES = {
    "base": ("params", "checkpoint", "tokenizer_path", "metadata", "use_lora"),
    "model": (
        "dtype_override",
        "enable_dynamic_shape",
        "use_shared_embedding",
        "use_sdpa_with_kv_cache",
        "expand_rope_table",
        "use_attention_sink",
        "output_prune_map",
        "input_prune_map",
        "use_kv_cache",
        "quantize_kv_cache",
        "static_quantize_kv_cache",
        "static_quantize_kv_cache_scale",
        "local_global_attention",
        "use_moe_quantized_op",
    ),
    "export": (
        "max_seq_length",
        "max_context_length",
        "output_dir",
        "output_name",
        "so_library",
        "export_only",
        "foundation_weights_file",
        "lora_weights_file",
    ),
    "quantization": (
        "embedding_quantize",
        "pt2e_quantize",
        "group_size",
        "use_spin_quant",
        "use_qat",
        "calibration_tasks",
        "calibration_limit",
        "calibration_seq_length",
        "calibration_data",
    ),
    "debug": ("profile_memory", "profile_path", "generate_etrecord", "generate_full_logits", "verbose"),
    "backend.qnn": ("soc_model", "optimized_rotation_path", "num_sharding"),
    "backend.openvino": ("openvino_awq", "openvino_scale_estimation"),
}

# Other arguments, and the fields that they set.
_OTHER_NAMES = {
    "model": "base.model_class",
    "quantization_mode": "quantization.qmode",
    "xnnpack": "backend.xnnpack.enabled",
    "xnnpack_extended_ops": "backend.xnnpack.extended_ops",
    "xnnpack_enable_bf16": "backend.xnnpack.enable_bf16",
    "coreml": "backend.coreml.enabled",
    "coreml_enable_state": "backend.coreml.enable_state",
    "coreml_preserve_sdpa": "backend.coreml.preserve_sdpa",
    "coreml_quantize": "backend.coreml.quantize",
    "coreml_ios": "backend.coreml.ios",
    "coreml_compute_units": "backend.coreml.compute_units",
    "vulkan": "backend.vulkan.enabled",
    "vulkan_force_fp16": "backend.vulkan.force_fp16",
    "qnn": "backend.qnn.enabled",
    "use_qnn_sha": "backend.qnn.use_sha",
    "mlx": "backend.mlx.enabled",
    "openvino": "backend.openvino.enabled",
    "openvino_device": "backend.openvino.device",
    "vgf": "backend.vgf.enabled",
    "vgf_compile_spec": "backend.vgf.compile_spec",
}

_FIELDS = {name: f"{part}.{name}" for part, names in _SAME_NAMES.items() for name in names} | _OTHER_NAMES

# The classes of fields with fixed values. An empty value leaves the default.
_ENUMS: dict[str, type[Enum]] = {
    "base.model_class": options.ModelType,
    "model.dtype_override": options.DtypeOverride,
    "quantization.pt2e_quantize": options.Pt2eQuantize,
    "quantization.use_spin_quant": options.SpinQuant,
    "backend.coreml.quantize": backends.CoreMLQuantize,
    "backend.coreml.compute_units": backends.CoreMLComputeUnit,
}


def read_arguments(config: Options, args: argparse.Namespace) -> None:
    """Sets the fields of a configuration that arguments give.

    Raises:
        ValueError: an argument has an unknown value, or an adapter has no configuration.
    """
    for name, path in _FIELDS.items():
        if not hasattr(args, name):
            continue
        value = getattr(args, name)
        if path in _ENUMS:
            if not value:
                continue
            value = _member(_ENUMS[path], value, name)
        _set(config, path, value)
    _read_adapter(config, args)
    _read_prequantization(config, args)
    if config.backend.mlx.enabled:
        config.model.use_kv_cache = True  # MLX runs models with a cache only.
    if getattr(args, "group_size", None):
        config.backend.openvino.nncf_compression_group_size = args.group_size
    scope = getattr(args, "vgf_quantize_scope", None)
    if scope:
        config.backend.vgf.quantize_scope = _member(backends.VgfQuantizeScope, scope, "vgf_quantize_scope")
        config.quantization.quantize_scope = _member(options.QuantizeScope, scope, "vgf_quantize_scope")
    for name in ("use_torchao_kernels_linear", "use_torchao_kernels_tied_embedding"):
        chosen = getattr(args, "use_torchao_kernels", False) or getattr(args, name, False)
        setattr(config.backend.torchao, name, bool(chosen))


def _read_adapter(config: Options, args: argparse.Namespace) -> None:
    checkpoint = getattr(args, "adapter_checkpoint", None)
    if not checkpoint:
        return
    description = getattr(args, "adapter_config", None)
    if not description:
        raise ValueError(f"adapter_checkpoint={checkpoint!r} needs adapter_config, a JSON file")
    config.base.lora_config = LoraConfig(checkpoint, description)


def _read_prequantization(config: Options, args: argparse.Namespace) -> None:
    if not getattr(args, "preq_mode", None):
        return
    config.base.preq_mode = _member(options.PreqMode, args.preq_mode, "preq_mode")
    for name in ("preq_group_size", "preq_embedding_quantize"):
        if hasattr(args, name):
            setattr(config.base, name, getattr(args, name))


def _set(config: Options, path: str, value: object) -> None:
    part, _, name = path.rpartition(".")
    setattr(attrgetter(part)(config), name, value)


def _member(kind: type[Enum], value: object, name: str) -> Any:
    """Returns the member of an enum with a value.

    Raises:
        ValueError: there is no such member.
    """
    try:
        return kind(value)
    except ValueError:
        values = ", ".join(str(member.value) for member in kind)
        raise ValueError(f"{name}={value!r} is not valid; the values are {values}") from None
