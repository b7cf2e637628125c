"""Nodes between quantized tensors: steps that stay within int8."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.byte_drafts import (
    ByteProductDraft,
    ByteSum,
    GroupedWeight,
    NibbleProductDraft,
    ScaledProductDraft,
)
from rushlight.backends.cpu.byte_functions import ByteFunction
from rushlight.backends.cpu.drafts import Draft
from rushlight.backends.cpu.folding import Constants
from rushlight.backends.cpu.graph import StepKind, StorageKind
from rushlight.backends.cpu.lowering import RULES
from rushlight.backends.cpu.quantized import (
    INT8_VALUES,
    MOVES,
    QuantizedLowering,
    StoredWeight,
    order_of,
)
from rushlight.backends.cpu.rules_images import _by_axis, pair
from rushlight.backends.cpu.sizes import Size, product, same
from rushlight.backends.cpu.tensor import Tensor
from rushlight.ir.edge_ops import argument, aten_op, is_op
from rushlight.ir.quantization import (
    CHOOSE_QPARAMS,
    DYNAMIC_DEQUANTIZE,
    DYNAMIC_QUANTIZE,
    QuantParams,
    dequantize_params,
    dynamic_quantization,
    linear_operands,
    qd,
    quantize_params,
)

aten = torch.ops.aten

_POOLS = (aten.max_pool2d.default, aten.max_pool2d_with_indices.default)
_AVERAGES = (aten.avg_pool2d.default, aten.adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d.default)
_OVER_IMAGES = (aten.convolution.default, *_POOLS, *_AVERAGES)
_MOST_AVERAGED = 1 << 22


def lower_quantized(
    lowering: QuantizedLowering, node: Node, functions: dict[Node, ByteFunction], constants: Constants
) -> bool:
    """Lowers a node with quantized operands or a quantized result, if that is how it is best lowered.

    functions: by the quantization that each ends with; their nodes are not lowered by themselves.
    """
    if is_op(node, qd.quantize_per_tensor.default):
        _quantize(lowering, node, functions.get(node), constants)
        return True
    if is_op(node, qd.dequantize_per_tensor.default):
        _dequantize(lowering, node)
        return True
    if _lower_dynamic(lowering, node):
        return True
    source = node.args[0] if node.args else None
    if isinstance(source, Node) and node in lowering.clamped and source in lowering.quant_params:
        lowering.set_quantized(node, lowering.raw(source), lowering.quant_params[source])
        return True
    rule = _RULES.get(node.target if node.target is operator.getitem else aten_op(node.target))
    return rule is not None and rule(lowering, node)


def _quantize(
    lowering: QuantizedLowering, node: Node, function: ByteFunction | None, constants: Constants
) -> None:
    params = quantize_params(node)
    assert params is not None
    params = params.as_int8()
    source = node.args[0]
    if isinstance(source, Node) and source in lowering.quant_params or function is not None:
        origin = source if function is None else function.source
        assert isinstance(origin, Node)
        raw, old = lowering.raw(origin), lowering.quant_params[origin]
        if function is None and old.same_mapping(params):
            lowering.set(node, raw)
            return
        table = (
            params.quantize(old.dequantize(INT8_VALUES))
            if function is None
            else function.table(old, params, constants)
        )
        out = lowering.new(raw.sizes, order_of(lowering, raw), torch.int8)
        lowering.set(node, lowering.mapped(raw, table, out, node))
        return
    x = lowering.tensor(source)
    channels_last = x.rank == 4 and any(is_op(u, *_OVER_IMAGES) for user in node.users for u in user.users)
    order = (0, 2, 3, 1) if channels_last else order_of(lowering, x)
    out = lowering.new(x.sizes, order, torch.int8)
    ends = [params.zero_point, params.quant_min, params.quant_max]
    lowering.emit(Draft(StepKind.QUANTIZE, [x, out], ints=ends, floats=[params.scale]), node)
    lowering.set(node, out)


def _dequantize(lowering: QuantizedLowering, node: Node) -> None:
    params = dequantize_params(node)
    source = node.args[0]
    assert params is not None and isinstance(source, Node)
    lowering.set_quantized(node, lowering.signed(lowering.raw(source), node), params.as_int8())


# ---- Quantized while the plan runs ----


def _lower_dynamic(lowering: QuantizedLowering, node: Node) -> bool:
    if is_op(node, *CHOOSE_QPARAMS, *DYNAMIC_QUANTIZE):
        return True
    source = node.args[0] if node.args else None
    if node.target is operator.getitem:
        return is_op(source, *CHOOSE_QPARAMS)
    if is_op(node, *DYNAMIC_DEQUANTIZE):
        found = dynamic_quantization(node)
        assert found is not None
        lowering.set(node, lowering.tensor(found.source))
        lowering.dynamic[node] = found.params
        return True
    if isinstance(source, Node) and source in lowering.dynamic and is_op(node, *MOVES):
        RULES[aten_op(node.target)](lowering, node)
        lowering.dynamic[node] = lowering.dynamic[source]
        return True
    return False


# ---- Weights ----


def _bias(lowering: QuantizedLowering, node: Any, outputs: int) -> torch.Tensor | None:
    value = lowering.constant_value(node)
    return None if value is None else value.detach().float().expand(outputs).contiguous()


def _finish_product(
    lowering: QuantizedLowering,
    node: Node,
    source: Node,
    weight: StoredWeight,
    result: Callable[[torch.dtype], tuple[Tensor, Tensor]],
    left: Tensor,
    rows: tuple[Tensor, Tensor] | None,
    **options: Any,
) -> None:
    """Emits a product of `left`, an image. `result`: the node's tensor and the same as an image."""
    wanted = lowering.wanted(node) if rows is None else None
    params = lowering.quant_params[source] if rows is None else QuantParams(1.0, 0)
    out, image = result(torch.float32 if wanted is None else torch.int8)
    scales, zeros = (None, None) if rows is None else rows
    draft = ByteProductDraft(
        StepKind.BYTE_PRODUCT,
        [left, None, None, None, scales, zeros, None, image],
        weight=weight.values,
        scales=weight.scales * params.scale,
        zero=params.zero_point,
        result=None if wanted is None else wanted.params,
        **options,
    )
    lowering.emit(draft, node)
    if wanted is None:
        lowering.set(node, out)
        return
    lowering.set_quantized(node, out, wanted.params)
    lowering.clamped.update(wanted.clamps)


def _convolution(lowering: QuantizedLowering, node: Node) -> bool:
    source, weight_node, bias, stride, padding, dilation, _, _, groups = node.args
    weight = lowering.weight(weight_node)
    if source not in lowering.quant_params or weight is None:
        return False
    assert isinstance(source, Node) and isinstance(groups, int)
    raw = lowering.raw(source)
    values = weight.values.unsqueeze(2) if weight.values.dim() == 3 else weight.values
    is_depthwise = groups > 1 and values.shape[1] == 1 and values.shape[0] == groups
    if is_depthwise and lowering.wanted(node) is None:
        return False
    left = _dense_image(lowering, raw, node)
    if is_depthwise and left.storage.kind is not StorageKind.ARENA:
        copied = lowering.new(left.sizes, dtype=left.dtype)
        lowering.copy(left, copied, node)
        left = copied

    def result(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        sizes = lowering.sizes(node)
        out = lowering.new(sizes, (0, 2, 3, 1) if len(sizes) == 4 else (0, 2, 1), dtype)
        image = out if out.rank == 4 else out.with_one(2)
        return out, image.permute((0, 2, 3, 1))

    _finish_product(
        lowering,
        node,
        source,
        StoredWeight(values, weight.scales),
        result,
        left,
        None,
        bias=_bias(lowering, bias, values.shape[0]),
        stride=_by_axis(stride, raw.rank, 1),
        padding=_by_axis(padding, raw.rank, 0),
        dilation=_by_axis(dilation, raw.rank, 1),
        groups=groups,
    )
    return True


def _dense_image(lowering: QuantizedLowering, raw: Tensor, node: Node) -> Tensor:
    """[n, h, w, c] in row-major order of a batch of images or rows."""
    if raw.rank == 3:
        raw = raw.with_one(2)
    return lowering.contiguous(raw.permute((0, 2, 3, 1)), node)


def _linear(lowering: QuantizedLowering, node: Node) -> bool:
    operands = linear_operands(node)
    if operands is None:
        return False
    source, weight_node, bias = operands.input, operands.weight, operands.bias
    weight = lowering.weight(weight_node)
    if source not in lowering.dynamic and (source not in lowering.quant_params or weight is None):
        return _scaled_product(lowering, node, source, weight_node, bias)
    if weight is None:
        return _nibble_product(lowering, node, source, weight_node, bias)
    if weight.values.dim() != 2:
        return False
    raw = lowering.raw(source)
    scales = None
    if source in lowering.dynamic:
        left, *scales = lowering.quantized_rows(raw, lowering.dynamic[source], node)
    else:
        left = lowering.contiguous(raw, node)

    def result(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        out = lowering.new(lowering.sizes(node), dtype=dtype)
        return out, _as_image(out)

    values = weight.values[:, :, None, None]
    offset = _bias(lowering, bias, values.shape[0])
    pair_of_rows = None if scales is None else (scales[0], scales[1])
    stored = StoredWeight(values, weight.scales)
    _finish_product(lowering, node, source, stored, result, _as_image(left), pair_of_rows, bias=offset)
    return True


def _scaled_product(
    lowering: QuantizedLowering, node: Node, source: Node, weight_node: Any, bias: Any
) -> bool:
    weight = lowering.grouped(weight_node)
    if weight is None:
        return False
    left = lowering.contiguous(lowering.tensor(source), node)
    return _emit_grouped(
        lowering, node, ScaledProductDraft, StepKind.SCALED_PRODUCT, [left, None], weight, bias
    )


def _nibble_product(
    lowering: QuantizedLowering, node: Node, source: Node, weight_node: Any, bias: Any
) -> bool:
    weight = lowering.grouped(weight_node)
    assert weight is not None
    left, scales, zeros = lowering.quantized_rows(lowering.raw(source), lowering.dynamic[source], node)
    operands = [left, scales, zeros, None, None]
    return _emit_grouped(lowering, node, NibbleProductDraft, StepKind.NIBBLE_PRODUCT, operands, weight, bias)


def _emit_grouped(
    lowering: QuantizedLowering,
    node: Node,
    make: type[ScaledProductDraft],
    kind: StepKind,
    operands: list[Tensor | None],
    weight: GroupedWeight,
    bias: Any,
) -> bool:
    """Emits a product with a matrix of small numbers; operands: the input, and those behind the residual."""
    left, *others = operands
    out = lowering.new(lowering.sizes(node))
    assert left is not None
    draft = make(
        kind,
        [_as_image(left), None, None, None, *others, _as_image(out)],
        weight=weight.values[:, :, None, None],
        bias=_bias(lowering, bias, weight.values.shape[0]),
        grouped=weight,
    )
    lowering.emit(draft, node)
    lowering.set(node, out)
    return True


def _as_image(tensor: Tensor) -> Tensor:
    """[1, 1, rows, columns] of a row-major tensor [.., columns]."""
    image = tensor.reshape((1, 1, product(tensor.sizes[:-1]), tensor.sizes[-1]))
    assert image is not None
    return image


def _embedding(lowering: QuantizedLowering, node: Node) -> bool:
    table = lowering.grouped(node.args[0])
    if table is None:
        return False
    ids, sizes = lowering.tensor(node.args[1]), lowering.sizes(node)
    rows = product(ids.sizes)
    flat = lowering.reshaped(ids, (rows,), node)
    out = lowering.new(sizes)
    target = out.reshape((rows, sizes[-1]))
    assert target is not None
    values, scales = lowering.constant(table.stored()), lowering.constant(table.scales.float().flatten())
    ints = [table.bits, *table.values.shape, table.group]
    lowering.emit(Draft(StepKind.SCALED_GATHER, [values, flat, scales, target], ints=ints), node)
    lowering.set(node, out)
    return True


# ---- Without weights ----


def _sum(lowering: QuantizedLowering, node: Node) -> bool:
    a, b = node.args[:2]
    wanted = lowering.wanted(node)
    if a not in lowering.quant_params or b not in lowering.quant_params or wanted is None:
        return False
    if argument(node, 2, 1) != 1:
        return False
    assert isinstance(a, Node) and isinstance(b, Node)
    sizes = lowering.sizes(node)
    params = [lowering.quant_params[a], lowering.quant_params[b]]
    raws = [lowering.raw(a), lowering.raw(b)]
    if (
        is_op(node, aten.add.Tensor)
        and a is not b
        and (_add_to(lowering, node, a, b) or _add_to(lowering, node, b, a))
    ):
        return True
    out_params = wanted.params
    multiplies = is_op(node, aten.mul.Tensor)
    factors = [p.scale / out_params.scale for p in params]
    if multiplies:
        factors = [params[0].scale * params[1].scale / out_params.scale, 0.0]
    elif is_op(node, aten.sub.Tensor):
        factors[1] = -factors[1]
    full = next((r for r in raws if _has_sizes(r, sizes)), None)
    out = lowering.new(sizes, None if full is None else order_of(lowering, full), torch.int8)
    draft = Draft(
        StepKind.BYTE_BINARY,
        [raws[0].expand(sizes), raws[1].expand(sizes), out],
        ints=[
            int(multiplies),
            *(p.zero_point for p in params),
            out_params.zero_point,
            out_params.quant_min,
            out_params.quant_max,
        ],
        floats=factors,
    )
    return _done(lowering, node, draft, out)


def _add_to(lowering: QuantizedLowering, node: Node, source: Node, other: Node) -> bool:
    """Fuses source + other, both int8, into the product that computes `source`."""
    draft = lowering.byte_product_of(source, node)
    wanted = lowering.wanted(node)
    x, y = lowering.raw(source), lowering.raw(other)
    if draft is None or wanted is None or not x.lies_as(y) or not _has_sizes(x, lowering.sizes(node)):
        return False
    own, others = lowering.quant_params[source], lowering.quant_params[other]
    if draft.result is None or not own.same_mapping(draft.result):
        return False
    factors = (own.scale / wanted.params.scale, others.scale / wanted.params.scale)
    draft.sum = ByteSum(others.zero_point, factors, wanted.params)
    draft.operands[3] = replace(draft.out, storage=y.storage, offset=y.offset + draft.out.offset - x.offset)
    lowering.drop(draft)
    return _done(lowering, node, draft, x)


def _has_sizes(tensor: Tensor, sizes: tuple[Size, ...]) -> bool:
    return tensor.rank == len(sizes) and all(same(a, b) for a, b in zip(tensor.sizes, sizes, strict=True))


def _done(lowering: QuantizedLowering, node: Node, draft: Draft, out: Tensor) -> bool:
    wanted = lowering.wanted(node)
    assert wanted is not None
    lowering.emit(draft, node)
    lowering.set_quantized(node, out, wanted.params)
    lowering.clamped.update(wanted.clamps)
    return True


def _averages(lowering: QuantizedLowering, node: Node) -> tuple[Node, QuantParams, QuantParams] | None:
    """The operand of a node that averages int8 to int8, and how both are quantized."""
    source, wanted = node.args[0], lowering.wanted(node)
    if source not in lowering.quant_params or wanted is None:
        return None
    assert isinstance(source, Node)
    return source, lowering.quant_params[source], wanted.params


def _mean(lowering: QuantizedLowering, node: Node) -> bool:
    found = _averages(lowering, node)
    if found is None or node.kwargs.get("dtype") is not None:
        return False
    rank = lowering.raw(found[0]).rank
    given: Any = argument(node, 1)
    axes = sorted({axis % rank for axis in ([given] if isinstance(given, int) else given or range(rank))})
    return _mean_over(lowering, node, found, axes)


def _mean_over(
    lowering: QuantizedLowering, node: Node, found: tuple[Node, QuantParams, QuantParams], axes: list[int]
) -> bool:
    source, old, new = found
    raw = lowering.raw(source)
    count = product(raw.sizes[axis] for axis in axes)
    if lowering.symbols.upper(count) > _MOST_AVERAGED:
        return False
    kept = [axis for axis in range(raw.rank) if axis not in axes]
    inner = next((a for a in kept if same(raw.strides[a], 1) and not same(raw.sizes[a], 1)), None)
    outer = [axis for axis in kept if axis != inner]
    last = [] if inner is None else [inner]
    columns = product(raw.sizes[axis] for axis in last)
    rows = product(raw.sizes[axis] for axis in outer)
    left = lowering.contiguous(raw.permute([*outer, *axes, *last]), node).reshape((rows, count, columns))
    sizes = [1 if axis in axes else raw.sizes[axis] for axis in range(raw.rank)]
    out = lowering.new(sizes, [*outer, *axes, *last], torch.int8)
    flat = out.permute([*outer, *axes, *last]).reshape((rows, columns))
    result = out.reshape(lowering.sizes(node))
    assert left is not None and flat is not None and result is not None
    ends = [old.zero_point, new.zero_point, new.quant_min, new.quant_max]
    draft = Draft(StepKind.BYTE_MEAN, [left, flat], ints=ends, floats=[old.scale / new.scale])
    return _done(lowering, node, draft, result)


def _average_pool(lowering: QuantizedLowering, node: Node) -> bool:
    found = _averages(lowering, node)
    if found is None:
        return False
    source, old, new = found
    raw, sizes = lowering.raw(source), lowering.sizes(node)
    if is_op(node, aten.avg_pool2d.default):
        kernel = pair(node.args[1])
        window = [*kernel, *pair(argument(node, 2), kernel), *pair(argument(node, 3), 0), 1, 1]
        how = [0, int(argument(node, 6) or 0), int(bool(argument(node, 5, True)))]
    elif same(sizes[-1], 1) and same(sizes[-2], 1):
        return _mean_over(lowering, node, found, [raw.rank - 2, raw.rank - 1])
    else:
        height, width = raw.sizes[-2] // sizes[-2], raw.sizes[-1] // sizes[-1]
        window, how = [height, width, height, width, 0, 0, 1, 1], [0, 0, 0]
    out = lowering.new_image(sizes, torch.int8)
    draft = Draft(
        StepKind.BYTE_POOL,
        [_dense_image(lowering, raw, node), out.permute((0, 2, 3, 1))],
        ints=[*window, *how, old.zero_point, new.zero_point, new.quant_min, new.quant_max],
        floats=[old.scale / new.scale],
    )
    return _done(lowering, node, draft, out)


def _max_pool(lowering: QuantizedLowering, node: Node) -> bool:
    source = node.args[0]
    if source not in lowering.quant_params:
        return False
    assert isinstance(source, Node)
    params = lowering.quant_params[source]
    kernel = pair(node.args[1])
    stride = pair(argument(node, 2), kernel)
    window = [*kernel, *stride, *pair(argument(node, 3), 0), *pair(argument(node, 4), 1)]
    has_items = is_op(node, aten.max_pool2d_with_indices.default)
    getter = next((user for user in node.users if user.args[1] == 0), node) if has_items else node
    out = lowering.new_image(lowering.sizes(getter), torch.int8)
    image = _dense_image(lowering, lowering.raw(source), node)
    draft = Draft(
        StepKind.BYTE_POOL,
        [image, out.permute((0, 2, 3, 1))],
        ints=[*window, 1, 0, 0, params.zero_point, params.zero_point, -128, 127],
        floats=[1.0],
    )
    lowering.emit(draft, node)
    if has_items:
        lowering.set_items(node, [out])
        lowering.quant_params[node] = params
    else:
        lowering.set_quantized(node, out, params)
    return True


def _cat(lowering: QuantizedLowering, node: Node) -> bool:
    sources: Any = node.args[0]
    if any(source not in lowering.quant_params for source in sources):
        return False
    params = [lowering.quant_params[source] for source in sources]
    wanted = lowering.wanted(node)
    if wanted is None:
        if not all(each.same_mapping(params[0]) for each in params):
            return False
        out_params = params[0]
    else:
        out_params = wanted.params
    raws = [lowering.raw(source) for source in sources]
    sizes = lowering.sizes(node)
    if any(raw.rank != len(sizes) for raw in raws):
        return False
    axis = int(argument(node, 1, 0)) % len(sizes)
    largest = max(raws, key=lambda raw: lowering.symbols.upper(product(raw.sizes)))
    out = lowering.new(sizes, order_of(lowering, largest), torch.int8)
    at: Size = 0
    for raw, old in zip(raws, params, strict=True):
        part = out.narrow(axis, at, raw.sizes[axis])
        lowering.requantized(raw, old, out_params, part, node)
        at = at + raw.sizes[axis]
    lowering.set_quantized(node, out, out_params)
    if wanted is not None:
        lowering.clamped.update(wanted.clamps)
    return True


def _move(lowering: QuantizedLowering, node: Node) -> bool:
    source = node.args[0]
    if source not in lowering.quant_params:
        return False
    assert isinstance(source, Node)
    op = node.target if node.target is operator.getitem else aten_op(node.target)
    with lowering.bytes_kept():
        RULES[op](lowering, node)
    lowering.quant_params[node] = lowering.quant_params[source]
    return True


QUANTIZED = frozenset(
    {qd.quantize_per_tensor.default, qd.dequantize_per_tensor.default, *CHOOSE_QPARAMS}
    | {*DYNAMIC_QUANTIZE, *DYNAMIC_DEQUANTIZE}
)
"""Operators that lower_quantized lowers always."""

ByteRule = Callable[[QuantizedLowering, Node], bool]
_RULES: dict[Any, ByteRule] = {
    aten.convolution.default: _convolution,
    **dict.fromkeys((aten.linear.default, aten.addmm.default, aten.mm.default, aten.matmul.default), _linear),
    **dict.fromkeys((aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor), _sum),
    aten.embedding.default: _embedding,
    aten.mean.dim: _mean,
    **dict.fromkeys(_AVERAGES, _average_pool),
    **dict.fromkeys(_POOLS, _max_pool),
    aten.cat.default: _cat,
    **dict.fromkeys(MOVES, _move),
    **dict.fromkeys(
        (
            operator.getitem,
            aten.split_with_sizes_copy.default,
            aten.split_copy.Tensor,
            aten.unbind_copy.int,
        ),
        _move,
    ),
}
