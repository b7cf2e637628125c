"""Operators on images of shape [N, H, W, C], and the pass that decomposes them.

The import of this module defines the torch library `channels_last`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node
from typing_extensions import override

from rushlight.compat.xnnpack_helpers import PERM_NCHW_TO_NHWC, PERM_NHWC_TO_NCHW
from rushlight.ir.edge_ops import EdgeOpOverload, ops
from rushlight.passes.export_pass import Argument, ExportPass, NodeMetadata, ProxyValue

aten = torch.ops.aten

_POOL = "Tensor input, int[2] kernel_size, int[2] stride=[], int[2] padding=0"
_SCHEMAS: dict[str, tuple[str, Callable[..., Any]]] = {
    "convolution": (
        "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
        "bool transposed, int[] output_padding, int groups) -> Tensor",
        aten.convolution.default,
    ),
    "avg_pool2d": (
        f"({_POOL}, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
        aten.avg_pool2d.default,
    ),
    "adaptive_avg_pool2d": (
        "(Tensor input, int[2] output_size) -> Tensor",
        aten._adaptive_avg_pool2d.default,
    ),
    "upsample_bilinear2d": (
        "(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor",
        aten.upsample_bilinear2d.vec,
    ),
    "upsample_nearest2d": (
        "(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor",
        aten.upsample_nearest2d.vec,
    ),
    "max_pool2d_with_indices": (
        f"({_POOL}, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
        aten.max_pool2d_with_indices.default,
    ),
    "max_pool2d": (
        f"({_POOL}, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
        aten.max_pool2d.default,
    ),
    "grid_sampler_2d": (
        "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
        aten.grid_sampler_2d.default,
    ),
}
"""For each operator, its schema without the name, and the torch operator on images of shape [N, C, H, W]."""

_library = torch.library.Library("channels_last", "DEF")


def _for_channels_last(op: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that runs an operator for [N, C, H, W] on an image of shape [N, H, W, C]."""

    def run(image: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        result = op(image.permute(PERM_NHWC_TO_NCHW), *args, **kwargs)
        if isinstance(result, tuple):
            return tuple(map(_with_channels_last, result))
        return _with_channels_last(result)

    return run


def _with_channels_last(image: torch.Tensor) -> torch.Tensor:
    return image.permute(PERM_NCHW_TO_NHWC).contiguous()


def _permute_copy(tensor: torch.Tensor, dims: list[int]) -> torch.Tensor:
    return tensor.permute(dims).clone(memory_format=torch.contiguous_format)


def _define(name: str, schema: str, function: Callable[..., Any]) -> None:
    _library.define(name + schema)
    _library.impl(name, function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"channels_last::{name}", function, lib=_library)


for _name, (_schema, _op) in _SCHEMAS.items():
    _define(_name, _schema, _for_channels_last(_op))
_define("permute_copy", "(Tensor input, int[] dims) -> Tensor", _permute_copy)

ATEN_PERMUTE_COPY = ops.edge.aten.permute_copy.default
LAYOUT_PERMUTE_COPY = ops.edge.channels_last.permute_copy.default
PERMUTE_COPY_TARGETS = frozenset({ATEN_PERMUTE_COPY, LAYOUT_PERMUTE_COPY})

_POOLS = {
    ops.edge.channels_last.max_pool2d.default,
    ops.edge.channels_last.max_pool2d_with_indices.default,
}


def _edge_op(op: Any) -> EdgeOpOverload:
    packet = getattr(ops.edge.aten, op._schema.name.split("::")[1])
    found: EdgeOpOverload = getattr(packet, op._overloadname)
    return found


_EXPANSIONS = {
    getattr(ops.edge.channels_last, name).default: _edge_op(op)
    for name, (_, op) in _SCHEMAS.items()
    if not name.startswith("max_pool2d")
}


def is_permute_copy(node: Node) -> bool:
    """Returns whether a node calls `permute_copy` of the library `aten` or `channels_last`."""
    return node.op == "call_function" and node.target in PERMUTE_COPY_TARGETS


class DecomposeChannelsLastPass(ExportPass):
    """Replaces operators of the library `channels_last` by torch operators between permutes.

    Before: y = channels_last.avg_pool2d(x, [2, 2])
    Expected: y = permute_copy(avg_pool2d(permute_copy(x, [0, 3, 1, 2]), [2, 2]), [0, 2, 3, 1])
    """

    @override
    def call_operator(
        self, op: Any, args: tuple[Argument, ...], kwargs: dict[str, Argument], meta: NodeMetadata
    ) -> ProxyValue:
        if op is LAYOUT_PERMUTE_COPY:
            return super().call_operator(ATEN_PERMUTE_COPY, args, kwargs, meta)
        if op not in _POOLS and op not in _EXPANSIONS:
            return super().call_operator(op, args, kwargs, meta)
        image = self._permuted(args[0], PERM_NHWC_TO_NCHW, meta)
        if op in _EXPANSIONS:
            result = super().call_operator(_EXPANSIONS[op], (image, *args[1:]), kwargs, meta)
            return self._permuted(result, PERM_NCHW_TO_NHWC, meta)
        pool = ops.edge.aten.max_pool2d_with_indices.default
        both = super().call_operator(pool, (image, *args[1:]), kwargs, meta)
        results = [
            self._permuted(self.call_getitem(both, index, meta), PERM_NCHW_TO_NHWC, meta)
            for index in range(2 if op is ops.edge.channels_last.max_pool2d_with_indices.default else 1)
        ]
        return results[0] if len(results) == 1 else tuple(results)  # type: ignore[return-value]

    @override
    def call_getitem(self, value: Any, key: int, meta: NodeMetadata) -> ProxyValue:
        """Returns one result. A decomposed operator has a separate node for each result."""
        if isinstance(value, tuple):
            result: ProxyValue = value[key]
            return result
        return super().call_getitem(value, key, meta)

    def _permuted(self, tensor: Any, dims: list[int], meta: NodeMetadata) -> ProxyValue:
        return super().call_operator(ATEN_PERMUTE_COPY, (tensor, dims), {}, meta)
