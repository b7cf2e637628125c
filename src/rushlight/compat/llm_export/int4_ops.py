"""The operator `torchao::dequantize_int4_tensor`, which exported models with 4-bit weights call."""

from __future__ import annotations

import torch
from torch.library import Library

from rushlight.frontend.affine import unpacked_int4

_LIBRARY = Library("torchao", "FRAGMENT")
_SCHEMA = (
    "dequantize_int4_tensor(Tensor qdata, Tensor scale, Tensor zero_point, SymInt group_size, "
    "ScalarType output_dtype=bfloat16) -> Tensor"
)


def dequantize_int4_tensor(
    qdata: torch.Tensor,
    scale: torch.Tensor,
    zero_point: torch.Tensor,
    group_size: int,
    output_dtype: torch.dtype = torch.bfloat16,
) -> torch.Tensor:
    """Returns scale * (integer - zero point) for each integer of a packed matrix. It computes in float32.

    Args:
        qdata: uint8 [n, k / 2], two values from 0 to 15 in each byte.
        scale: the scale of each group, [k / group_size, n].
        zero_point: the zero point of each group, [k / group_size, n].
        group_size: the number of consecutive values of a row with the same scale.
        output_dtype: the dtype of the result.

    Returns:
        The values, [n, k].
    """
    integers = unpacked_int4(qdata).float()
    scales, zeros = (part.t().float().repeat_interleave(group_size, dim=1) for part in (scale, zero_point))
    return ((integers - zeros) * scales).to(output_dtype)


def _meta(
    qdata: torch.Tensor,
    scale: torch.Tensor,
    zero_point: torch.Tensor,
    group_size: int,
    output_dtype: torch.dtype = torch.bfloat16,
) -> torch.Tensor:
    return qdata.new_empty((qdata.shape[0], 2 * qdata.shape[1]), dtype=output_dtype)


if not hasattr(torch.ops.torchao, "dequantize_int4_tensor"):
    _LIBRARY.define(_SCHEMA)
    _LIBRARY.impl("dequantize_int4_tensor", dequantize_int4_tensor, "CompositeExplicitAutograd")
    _LIBRARY.impl("dequantize_int4_tensor", _meta, "Meta")
