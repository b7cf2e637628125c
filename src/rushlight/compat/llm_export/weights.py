"""Quantization of the weights of language models with torchao, before the export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import (
    Int4WeightOnlyConfig,
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    quantize_,
)

_INT4: torch.dtype = torch.int4  # type: ignore[attr-defined]
_BITS = {"4w": _INT4, "8w": torch.int8, "8da4w": _INT4, "8da8w": torch.int8}
_ALGORITHM = "hqq_scale_only"


def quantize_model_(
    module: nn.Module,
    qlinear_config: str | None = None,
    qlinear_group_size: int | None = None,
    qlinear_packing_format: str | None = None,
    qembedding_config: str | None = None,
    qembedding_group_size: int | None = None,
    tie_word_embeddings: bool = False,
    skip_incompatible_shapes: bool = False,
) -> None:
    """Quantizes the weights of linear and embedding layers in place.

    Args:
        module: the model.
        qlinear_config: the kind of linear layers: "4w" or "8w" (weights of 4 or 8 bits, and computation in
            float), or "8da4w" or "8da8w" (the activations have 8 bits, with a scale for each token). None
            means that they are not quantized.
        qlinear_group_size: the number of weights of a row with the same scale; 0 means the whole row. None
            means 32 for weights of 4 bits and 0 for weights of 8 bits.
        qlinear_packing_format: a packing format of torchao's `Int4WeightOnlyConfig`, for "4w" only.
        qembedding_config: the kind of embeddings, "4w" or "8w", or None.
        qembedding_group_size: as `qlinear_group_size`, for embeddings. It must be even.
        tie_word_embeddings: if both kinds are equal, `module.lm_head` gets the quantized weight of
            `module.model.embed_tokens`.
        skip_incompatible_shapes: do not quantize layers whose rows the group size does not divide.

    Raises:
        ValueError: there is no such kind, the group size of embeddings is odd, or the model does not have
            the layers whose weights are to be tied.
        RuntimeError: the group size does not divide the rows of a layer.
    """
    if qembedding_config:
        size = _group_size(qembedding_config, qembedding_group_size)
        if size % 2:
            raise ValueError(f"qembedding_group_size is {size}; it must be even")
        if qembedding_config not in ("4w", "8w"):
            raise ValueError(f"qembedding_config is {qembedding_config!r}; it must be 4w or 8w")
        config = _config(qembedding_config, size)
        quantize_(module, config, _selects(nn.Embedding, qembedding_config, size, skip_incompatible_shapes))
    if qlinear_config:
        size = _group_size(qlinear_config, qlinear_group_size)
        if qlinear_config not in _BITS:
            raise ValueError(f"qlinear_config is {qlinear_config!r}; it must be one of {', '.join(_BITS)}")
        config = _config(qlinear_config, size, qlinear_packing_format)
        quantize_(module, config, _selects(nn.Linear, qlinear_config, size, skip_incompatible_shapes))
    if tie_word_embeddings and qlinear_config and qlinear_config == qembedding_config:
        embedding = getattr(getattr(module, "model", None), "embed_tokens", None)
        head = getattr(module, "lm_head", None)
        if embedding is None or head is None:
            raise ValueError(
                "tie_word_embeddings=True needs the layers model.embed_tokens and lm_head; set "
                "tie_word_embeddings=False"
            )
        head.weight = embedding.weight


def _group_size(kind: str, group_size: int | None) -> int:
    if group_size is not None:
        return group_size
    return 0 if _BITS.get(kind) == torch.int8 else 32


def _config(kind: str, group_size: int, packing_format: str | None = None) -> Any:
    """Returns torchao's configuration for a kind of layers."""
    if packing_format and kind == "4w":
        return Int4WeightOnlyConfig(
            group_size=group_size,
            int4_packing_format=packing_format,
            int4_choose_qparams_algorithm="hqq",
        )
    granularity = PerGroup(group_size) if group_size else PerAxis(0)
    if kind.startswith("8da"):
        return Int8DynamicActivationIntxWeightConfig(
            weight_dtype=_BITS[kind],
            weight_granularity=granularity,
            intx_choose_qparams_algorithm=_ALGORITHM,
        )
    return IntxWeightOnlyConfig(
        weight_dtype=_BITS[kind], granularity=granularity, intx_choose_qparams_algorithm=_ALGORITHM
    )


def _selects(
    layer: type[nn.Module], kind: str, group_size: int, skip: bool
) -> Callable[[nn.Module, str], bool]:
    """Returns a function that tells torchao which modules to quantize."""

    def selected(module: nn.Module, name: str) -> bool:
        if not isinstance(module, layer):
            return False
        shape = tuple(module.get_parameter("weight").shape)
        if not group_size or shape[-1] % group_size == 0:
            return True
        if skip:
            return False
        raise RuntimeError(
            f"{name} has a weight of shape {list(shape)}, whose rows a group size of {group_size} does not "
            f"divide; choose another group size for {kind}, or pass skip_incompatible_shapes=True"
        )

    return selected
