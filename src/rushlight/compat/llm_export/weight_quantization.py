"""Quantizes the weights of a model as a recipe says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import torch
from torch import nn
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.quantization.quant_primitives import (
    MappingType,
    _choose_qparams_and_quantize_scale_only_hqq,
    choose_qparams_affine,
    quantize_affine,
)
from torchao.quantization.quantize_.workflows.int4.int4_tensor import Int4Tensor

from rushlight.compat.llm_export.gguf import ExportableGGUFTensor
from rushlight.compat.llm_export.int4 import ExportableInt4Tensor
from rushlight.compat.llm_export.recipe import QuantConfig, QuantRecipe
from rushlight.compat.llm_export.weight_conversion import Convert, maybe_cast, to_default

_Parts: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
_DTYPE = torch.bfloat16


def _quantized(weight: torch.Tensor, config: QuantConfig) -> _Parts:
    """Returns the signed integers (int8 [n, k]), scales (bfloat16) and zero points (int8), [n, k / group]."""
    low, high = -(1 << (config.bits - 1)), (1 << (config.bits - 1)) - 1
    values, groups = weight.float(), (weight.shape[0], weight.shape[-1] // config.group_size)
    if config.method == "hqq":
        integers, scale = _choose_qparams_and_quantize_scale_only_hqq(
            values, [1, config.group_size], low, high
        )
        return (
            integers.to(torch.int8),
            scale.to(_DTYPE).reshape(groups),
            torch.zeros(groups, dtype=torch.int8, device=weight.device),
        )
    block = (1, config.group_size)
    scale, zero = choose_qparams_affine(
        values,
        MappingType.SYMMETRIC if config.symmetric else MappingType.ASYMMETRIC,
        block,
        torch.int8,
        low,
        high,
        scale_dtype=_DTYPE,
        zero_point_dtype=torch.int8,
    )
    integers = quantize_affine(values, block, scale, zero, torch.int8, low, high)
    return integers, scale.reshape(groups), zero.reshape(groups)


def quantize_weight(weight: torch.Tensor, config: QuantConfig) -> torch.Tensor:
    """Quantizes a matrix. It computes in float32.

    Args:
        weight: the matrix [n, k], float.
        config: how it is quantized.

    Returns:
        torchao's `Int4Tensor` for 4 bits, and `IntxUnpackedToInt8Tensor` for more bits, of dtype bfloat16.

    Raises:
        ValueError: the configuration is not supported, or the group size does not divide k.
    """
    if config.bits not in (4, 5, 6, 8):
        raise ValueError(f"bits is {config.bits}; it must be 4, 5, 6 or 8")
    if config.method not in ("min_max", "hqq"):
        raise ValueError(f"method is {config.method!r}; it must be 'min_max' or 'hqq'")
    if config.method == "hqq" and not config.symmetric:
        raise ValueError("the method 'hqq' needs symmetric=True; 'min_max' can be asymmetric")
    if weight.dim() != 2 or weight.shape[1] % config.group_size:
        raise ValueError(
            f"a weight of shape {list(weight.shape)} cannot be quantized in groups of {config.group_size}: "
            "it must be a matrix, and the group size must divide the length of its rows"
        )
    integers, scale, zero = _quantized(weight, config)
    tensor: torch.Tensor = IntxUnpackedToInt8Tensor(
        integers,
        scale,
        zero,
        getattr(torch, f"int{config.bits}"),
        (1, config.group_size),
        _DTYPE,
        None,
    )
    if config.bits > 4:
        return tensor
    packed = ExportableInt4Tensor.from_intx_unpacked_to_int8_tensor(tensor)
    result: torch.Tensor = Int4Tensor(
        packed.qdata, packed.scale, packed.zero_point, [1, config.group_size], torch.Size(weight.shape)
    )
    return result


def dequantize_weight(weight: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Returns the values of a quantized weight.

    Args:
        weight: a result of `quantize_weight`, an `ExportableInt4Tensor` or an `ExportableGGUFTensor`.
        dtype: the dtype of the values.

    Raises:
        TypeError: the weight is of another class.
    """
    if isinstance(weight, Int4Tensor):
        weight = ExportableInt4Tensor.from_int4_tensor(weight)
    if isinstance(weight, (ExportableGGUFTensor, ExportableInt4Tensor)):
        return weight.dequantize(dtype)
    if isinstance(weight, IntxUnpackedToInt8Tensor):
        values: torch.Tensor = weight.to(dtype).dequantize()
        return values
    raise TypeError(f"a weight of the class {type(weight).__name__} cannot be dequantized")


def quantize_stream(
    pairs: Iterable[tuple[str, torch.Tensor]], recipe: QuantRecipe, dtype: torch.dtype = _DTYPE
) -> Iterator[tuple[str, torch.Tensor]]:
    """Quantizes weights one by one, so that not all weights must be in memory.

    Args:
        pairs: the qualified names and the weights.
        recipe: how each weight is quantized.
        dtype: the dtype of float weights and of quantized weights with more than 4 bits.

    Yields:
        The qualified name, and torchao's tensor or the weight itself.
    """
    for fqn, weight in pairs:
        config = recipe.get_config(fqn)
        yield fqn, maybe_cast(weight if config is None else quantize_weight(weight, config), dtype)


def quantize_model(
    model: nn.Module,
    recipe: QuantRecipe,
    *,
    convert: Convert = to_default,
    dtype: torch.dtype = _DTYPE,
    verbose: bool = False,
) -> dict[str, torch.Tensor]:
    """Quantizes the parameters of a model. The model is not changed.

    Args:
        model: the model.
        recipe: how each parameter is quantized.
        convert: converts each quantized parameter.
        dtype: the dtype of float parameters and of quantized parameters.
        verbose: whether to print the name of each parameter.

    Returns:
        The parameters and the persistent buffers, by qualified name.
    """
    parameters = ((name, parameter.data) for name, parameter in model.named_parameters())
    state: dict[str, torch.Tensor] = {}
    for name, value in quantize_stream(parameters, recipe, dtype):
        state[name] = maybe_cast(convert(name, value), dtype)
        if verbose:
            print(f"{name}: {type(state[name]).__name__}")
    for name, value in model.state_dict().items():
        state.setdefault(name, value)
    return state
