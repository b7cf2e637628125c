"""Replaces decomposed attention and bilinear upsampling by the original operators."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.utils.matcher_utils import InternalMatch
from typing_extensions import override

from rushlight.compat.transforms.program_graph import ProgramGraphPass
from rushlight.compat.xnnpack_helpers import check_or_raise
from rushlight.compat.xnnpack_passes.patterns import (
    bilinear_2d_graphs,
    has_equal_axes,
    inputs_of,
    matches,
    sdpa_graphs,
)
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op, ops
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import eliminate_dead_code, insert_call

aten = torch.ops.aten


class ConvertToSDPAPass(ProgramGraphPass):
    """Replaces decomposed attention with a mask of two dimensions by one operator.

    Before: y = bmm(softmax(bmm(q * s, permute_copy(k) * s) + mask), v), with views and checks of the mask
    Expected: y = scaled_dot_product_attention(q, k, v, mask, scale=s * s)
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for pattern in sdpa_graphs():
            for match in matches(pattern, module):
                scale = _scale(match)
                inputs = inputs_of(pattern, match)
                if scale is None or len(meta.get_shape(inputs[-1])) != 2 or not has_equal_axes(match):
                    continue
                op = ops.edge.aten.scaled_dot_product_attention.default
                (result,) = match.returning_nodes
                new = insert_call(Evaluator.of(module), result, op, tuple(inputs), scale=scale)
                result.replace_all_uses_with(new)
                eliminate_dead_code(module.graph)
                changed = True
        return changed


def _scale(match: InternalMatch) -> float | None:
    """Returns the scale of the scores, or None.

    In the decomposition, both operands are multiplied by the square root of the scale, in their dtype.
    """
    roots: list[Any] = []
    for node in match.nodes_map.values():
        if is_op(node, aten.mul.Scalar):
            dtype = meta.get_dtype(node) or torch.float32
            roots.append(torch.tensor(node.args[1], dtype=dtype).item())
    return float(roots[0] * roots[1]) if len(roots) == 2 else None


class ConvertToUpsampleBilinear2d(ProgramGraphPass):
    """Replaces decomposed bilinear upsampling by one operator with the size of the result.

    Upsampling with a scale factor that differs from the ratio of the sizes is not replaced.

    Before: y = sums and products of four index operators on x
    Expected: y = upsample_bilinear2d.vec(x, [8, 8], align_corners, None)

    Raises:
        RuntimeError: the height or the width of a result is dynamic.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for pattern, align_corners in bilinear_2d_graphs().items():
            for match in matches(pattern, module):
                (result,) = match.returning_nodes
                *constants, source = inputs_of(pattern, match)
                size = list(meta.get_shape(result)[-2:])
                check_or_raise(
                    all(isinstance(length, int) for length in size),
                    f"XNNPACK Upsample Bilinear2d does not support dynamic shape: {result.name} is {size}",
                )
                before = list(meta.get_shape(source)[-2:])
                ratios = [_ratio(a, b, align_corners) for a, b in zip(before, size, strict=True)]
                if not all(self._has_expected_value(node, ratios) for node in constants):
                    continue
                op = ops.edge.aten.upsample_bilinear2d.vec
                args = (source, size, align_corners, None)
                result.replace_all_uses_with(insert_call(Evaluator.of(module), result, op, args))
                eliminate_dead_code(module.graph)
                changed = True
        return changed

    def _has_expected_value(self, constant: Node, ratios: list[float]) -> bool:
        """Whether a stored number has the value that the decomposition requires."""
        value = self.stored(constant)
        if value is None or value.numel() != 1:
            return False
        if any(is_op(user, aten.mul.Tensor) for user in constant.users):
            return any(abs(value.item() - ratio) < 1e-6 for ratio in ratios)
        return value.item() == (0.5 if value.is_floating_point() else 1)


def _ratio(before: Any, after: Any, align_corners: bool) -> float:
    """Returns the distance of two adjacent result pixels in the input, in pixels."""
    if not align_corners:
        return float(before / after)
    return float((before - 1) / (after - 1)) if after > 1 else 0.0
