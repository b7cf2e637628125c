"""The operators that `rushlight.compile` preserves. One kernel replaces the kernels of the decomposition."""

from __future__ import annotations

import torch
from torch._ops import OpOverload

aten = torch.ops.aten

PRESERVED_OPS: tuple[OpOverload, ...] = (
    aten.upsample_linear1d.default,
    aten.upsample_trilinear3d.default,
    aten.upsample_bicubic2d.default,
    aten.upsample_nearest1d.default,
    aten.upsample_nearest3d.default,
    aten._upsample_nearest_exact1d.default,
    aten._upsample_nearest_exact2d.default,
    aten._upsample_nearest_exact3d.default,
    aten.reflection_pad1d.default,
    aten.reflection_pad2d.default,
    aten.reflection_pad3d.default,
    aten.replication_pad1d.default,
    aten.replication_pad2d.default,
    aten.replication_pad3d.default,
    aten.im2col.default,
    aten.col2im.default,
    aten.roll.default,
    aten.index_add.default,
    aten.index_copy.default,
)
"""Operators whose kernels support all dtypes of ATen.

The results of their kernels are equal to eager PyTorch in more cases than those of the decompositions.
"""
