"""The quantizers of language models, selected by text as in the options of ExecuTorch's export tools."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torchao.quantization.pt2e.quantizer import Quantizer
from torchao.quantization.pt2e.quantizer.embedding_quantizer import EmbeddingQuantizer

from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.ir import (
    quantized_ops,  # noqa: F401  (defines quantized_decomposed)
)

_NAMES = {"embedding", "xnnpack_dynamic", "xnnpack_dynamic_qc4"}


@dataclass
class EmbeddingQuantOptions:
    """The quantization of embeddings: 8-bit weights with a scale for each row.

    Attributes:
        is_per_channel: whether each row has its own scale.
        group_size: must be -1, because rows are not divided into groups.
    """

    is_per_channel: bool = True
    group_size: int = -1

    def __post_init__(self) -> None:
        if self.group_size != -1:
            raise RuntimeError(
                f"group_size of EmbeddingQuantOptions must be -1, not {self.group_size}; to quantize "
                "embeddings in groups, pass qembedding_group_size to quantize_model_"
            )


@dataclass
class DynamicQuantLinearOptions:
    """The dynamic quantization of linear layers.

    Attributes:
        is_per_channel: whether each row of a weight has its own scale; it must be true.
        is_qc4: 4-bit weights instead of 8-bit weights.
    """

    is_per_channel: bool = True
    is_qc4: bool = False


@dataclass
class PT2EQuantOptions:
    """The layers to quantize. None means that the layers of a kind are not quantized."""

    quantize_embedding: EmbeddingQuantOptions | None = None
    quantize_linear: DynamicQuantLinearOptions | None = None


def get_pt2e_quantization_params(
    pt2e_quantize: str | None = None, quantization_mode: str | None = None
) -> PT2EQuantOptions | None:
    """Returns the options that a text selects.

    Args:
        pt2e_quantize: names with commas between them: `embedding`, and either `xnnpack_dynamic` or
            `xnnpack_dynamic_qc4`.
        quantization_mode: must be None if `pt2e_quantize` is given.

    Returns:
        The options; None if the text selects nothing.

    Raises:
        ValueError: both arguments are given, or there is no quantizer with a name.
        RuntimeError: the text has both names of dynamic quantization.
    """
    if pt2e_quantize is None:
        return None
    if quantization_mode:
        raise ValueError(
            f"pt2e_quantize={pt2e_quantize!r} and quantization_mode={quantization_mode!r} exclude each other"
        )
    names = {name.strip() for name in pt2e_quantize.split(",")}
    unknown = sorted(names - _NAMES - {""})
    if unknown:
        raise ValueError(
            f"pt2e_quantize={pt2e_quantize!r}: there is no quantizer {unknown[0]!r}; the names are "
            f"{', '.join(sorted(_NAMES))}"
        )
    dynamic = names - {"embedding", ""}
    if len(dynamic) == 2:
        raise RuntimeError(
            f"pt2e_quantize={pt2e_quantize!r} has both xnnpack_dynamic and xnnpack_dynamic_qc4; choose one "
            "of them"
        )
    if not dynamic and "embedding" not in names:
        return None
    return PT2EQuantOptions(
        EmbeddingQuantOptions() if "embedding" in names else None,
        DynamicQuantLinearOptions(is_qc4="xnnpack_dynamic_qc4" in dynamic) if dynamic else None,
    )


def get_pt2e_quantizers(
    quant_params: PT2EQuantOptions | None, so_library: str | None = None
) -> list[Quantizer]:
    """Returns the quantizers for options.

    Args:
        quant_params: the options; None means no quantizer.
        so_library: the path of a shared library that defines further operators for torch, which is loaded.

    Raises:
        ValueError: the weights of linear layers are not quantized per channel.
        OSError: the library cannot be loaded.
    """
    if so_library is not None:
        torch.ops.load_library(so_library)
    quantizers: list[Quantizer] = []
    if quant_params is None:
        return quantizers
    if quant_params.quantize_embedding is not None:
        quantizers.append(EmbeddingQuantizer())
    linear = quant_params.quantize_linear
    if linear is not None:
        if not linear.is_per_channel:
            raise ValueError("dynamic quantization of linear layers needs is_per_channel=True")
        low, high = (-8, 7) if linear.is_qc4 else (-127, 127)
        config = get_symmetric_quantization_config(
            is_per_channel=True, is_dynamic=True, weight_qmin=low, weight_qmax=high
        )
        quantizers.append(XNNPACKQuantizer().set_global(config))
    return quantizers
