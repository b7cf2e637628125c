"""The configuration of a language model's export."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest

from rushlight.compat.llm_export import config as configs
from rushlight.compat.llm_export.config import LlmConfig, ModelConfig, QuantizationConfig


def test_defaults() -> None:
    config = LlmConfig()
    assert config.base.model_class is configs.ModelType.llama3
    assert config.model.enable_dynamic_shape and not config.model.use_kv_cache
    assert config.export.max_seq_length == config.export.max_context_length == 128
    assert not config.multimethod.enabled
    assert LlmConfig.from_args(Namespace()) == config


def test_every_field_that_an_argument_sets_exists() -> None:
    from operator import attrgetter

    from rushlight.compat.llm_export.arguments import _ENUMS, _FIELDS

    config = LlmConfig()
    for path in _FIELDS.values():
        attrgetter(path)(config)
    assert _ENUMS.keys() <= set(_FIELDS.values())


def test_arguments() -> None:
    config = LlmConfig.from_args(
        Namespace(
            model="qwen3_0_6b",
            checkpoint="weights.pth",
            dtype_override="bf16",
            use_kv_cache=True,
            quantize_kv_cache=True,
            max_seq_length=64,
            max_context_length=256,
            quantization_mode="8da4w",
            group_size=64,
            pt2e_quantize=None,
            xnnpack=True,
            xnnpack_extended_ops=True,
            coreml_compute_units="cpu_and_ne",
            adapter_checkpoint="adapter.pt",
            adapter_config="adapter.json",
            preq_mode="8da4w",
            preq_group_size=16,
            vgf_quantize_scope="linear",
            use_torchao_kernels=True,
        )
    )
    assert config.base.model_class is configs.ModelType.qwen3_0_6b
    assert config.base.lora_config == configs.LoraConfig("adapter.pt", "adapter.json")
    assert (config.base.preq_mode, config.base.preq_group_size) == (configs.PreqMode.preq_8da4w, 16)
    assert config.model.dtype_override is configs.DtypeOverride.bf16
    assert config.model.quantize_kv_cache
    assert (config.export.max_seq_length, config.export.max_context_length) == (64, 256)
    assert (config.quantization.qmode, config.quantization.group_size) == ("8da4w", 64)
    assert config.quantization.pt2e_quantize is None
    assert config.quantization.quantize_scope is configs.QuantizeScope.linear
    assert config.backend.xnnpack.enabled and config.backend.xnnpack.extended_ops
    assert config.backend.coreml.compute_units is configs.CoreMLComputeUnit.cpu_and_ne
    assert config.backend.openvino.nncf_compression_group_size == 64
    assert config.backend.torchao.use_torchao_kernels_linear
    assert config.backend.torchao.use_torchao_kernels_tied_embedding


def from_args(**arguments: Any) -> Callable[[], LlmConfig]:
    return lambda: LlmConfig.from_args(Namespace(**arguments))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ModelConfig(use_attention_sink="4"), "must be '<first tokens>,<window>'"),
        (lambda: ModelConfig(quantize_kv_cache=True), "quantize_kv_cache needs use_kv_cache=True"),
        (
            lambda: ModelConfig(local_global_attention=[8, 0]),
            "local_global_attention needs use_kv_cache=True",
        ),
        (lambda: ModelConfig(static_quantize_kv_cache_scale=0.0), "must be a positive number, not 0.0"),
        (
            lambda: ModelConfig(use_kv_cache=True, static_quantize_kv_cache=True),
            "static_quantize_kv_cache and enable_dynamic_shape exclude each other",
        ),
        (lambda: configs.ExportConfig(max_seq_length=200), "max_context_length=128 is smaller"),
        (lambda: QuantizationConfig(qmode="3w"), "there is no qmode '3w'"),
        (lambda: configs.CoreMLConfig(ios=14), "ios must be one of"),
        (from_args(model="gpt2"), "model='gpt2' is not valid; the values are stories110m"),
        (from_args(adapter_checkpoint="a.pt"), "needs adapter_config"),
        (from_args(coreml_ios=3), "ios must be one of"),
        (from_args(use_shared_embedding=True, quantization_mode="4w"), "needs torchao's kernels"),
        (from_args(xnnpack=True, quantization_mode="torchao:8da4w"), "backend.xnnpack.enabled excludes"),
    ],
)
def test_values_that_exclude_each_other(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_modes_of_torchao() -> None:
    assert QuantizationConfig(qmode="torchao:fpa4w").uses_torchao_kernels()
    assert not QuantizationConfig(qmode="8da4w").uses_torchao_kernels()
