"""Lowers resizing of images and rows."""

from __future__ import annotations

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.images import image_of, output_of
from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.row import Row, rows
from rushlight.backends.cpu.lower.volumes import resize_volume
from rushlight.backends.cpu.plan.tables import Interpolation, Resize2d
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument, aten_op

aten = torch.ops.aten

NEAREST = (
    aten.upsample_nearest1d.vec,
    aten.upsample_nearest2d.vec,
    aten.upsample_nearest1d.default,
    aten.upsample_nearest2d.default,
    aten.upsample_nearest3d.default,
)
EXACT = (aten._upsample_nearest_exact1d.default, aten._upsample_nearest_exact2d.default)
"""Nearest interpolation between the centers of pixels."""
BILINEAR = (
    aten.upsample_bilinear2d.vec,
    aten.upsample_bilinear2d.default,
    aten.upsample_linear1d.default,
    aten.upsample_trilinear3d.default,
)
BICUBIC = (aten.upsample_bicubic2d.vec, aten.upsample_bicubic2d.default)

KINDS: dict[object, tuple[Interpolation, Interpolation]] = {
    **dict.fromkeys((*NEAREST, *EXACT), (Interpolation.NEAREST, Interpolation.NEAREST)),
    **dict.fromkeys(BILINEAR, (Interpolation.BILINEAR, Interpolation.BILINEAR_ALIGN_CORNERS)),
    **dict.fromkeys(BICUBIC, (Interpolation.BICUBIC, Interpolation.BICUBIC_ALIGN_CORNERS)),
}
"""The interpolation of each operator: without and with aligned corners."""


def _factors(node: Node, axes: int) -> list[float | None]:
    """Returns the scale factors that the user passed for each axis; None for an axis without one."""
    first = 2 if aten_op(node.target) in (*NEAREST, *EXACT) else 3
    if aten_op(node.target) in (NEAREST[0], NEAREST[1], BILINEAR[0], BICUBIC[0]):
        given = argument(node, first)
        return [None] * axes if given is None else [float(factor) for factor in given]
    numbers = [argument(node, first + axis) for axis in range(axes)]
    return [None if number is None else float(number) for number in numbers]


def resize(lowering: Lowering, node: Node) -> None:
    """Lowers nearest, linear and bicubic upsampling of rows [n, c, w], images [n, c, h, w] or volumes."""
    x = lowering.tensor(node.args[0])
    corners = aten_op(node.target) not in (*NEAREST, *EXACT) and bool(argument(node, 2))
    factors = _factors(node, x.rank - 2)
    scales = [
        _scale(int(before), int(after), _factor_in_use(node, int(before), int(after), factor), corners)
        for before, after, factor in zip(x.sizes[2:], lowering.sizes(node)[2:], factors, strict=True)
    ]
    interpolation = KINDS[aten_op(node.target)][corners]
    if x.rank == 5:
        resize_volume(lowering, node, interpolation, scales)
        return
    out, image = output_of(lowering, node)
    scale_h, scale_w = [1.0] * (2 - len(scales)) + scales
    step = Resize2d(
        input=image_of(lowering, x, node),
        output=image,
        interpolation=interpolation,
        scale_h=scale_h,
        scale_w=scale_w,
    )
    lowering.emit(step, node)
    lowering.set_tensor(node, out)


def _factor_in_use(node: Node, before: int, after: int, factor: float | None) -> float | None:
    """Returns the user's factor, or None where eager PyTorch uses the sizes instead.

    PyTorch ignores the factor if the sizes are equal, and in nearest interpolation also if the output has
    twice the size.
    """
    op = aten_op(node.target)
    ratios = (1,) if op in BILINEAR else (1, 2) if op in (NEAREST[1], NEAREST[3]) else ()
    return None if any(after == ratio * before for ratio in ratios) else factor


def _scale(before: int, after: int, factor: float | None, corners: bool) -> float:
    """Returns the distance of two outputs in input pixels, as computed by ATen's area_pixel_compute_scale."""
    if corners:
        return (before - 1) / (after - 1) if after > 1 else 0.0
    return 1.0 / factor if factor is not None and factor > 0 else before / after


# Checks: each returns the reason why a node is refused, or None.


def check_resize(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the image is empty or has a dynamic size."""
    source, result = meta.get_tensor(node.args[0]), meta.get_tensor(node)  # type: ignore[arg-type]
    assert source is not None and result is not None
    if not all(isinstance(size, int) for size in (*source.shape[2:], *result.shape[2:])):
        return "its image has a dynamic size"
    sizes = list(zip(source.shape[2:], result.shape[2:], strict=True))
    if aten_op(node.target) in EXACT and any(
        after % max(before, 1) or factor not in (None, after / before)
        for (before, after), factor in zip(sizes, _factors(node, len(sizes)), strict=True)
    ):
        return "its output is not a multiple of its input"
    return "its image is empty" if 0 in source.shape[1:] else None


ROWS: dict[object, Row] = {
    **rows((*NEAREST, *EXACT, *BILINEAR, *BICUBIC), Row(check_resize, resize)),
}
