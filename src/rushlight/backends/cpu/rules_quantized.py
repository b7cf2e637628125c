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
    Meaning,
    NibbleProductDraft,
    ScaledProductDraft,
)
from rushlight.backends.cpu.byte_functions import ByteFunction
from rushlight.backends.cpu.drafts import Draft
from rushlight.backends.cpu.folding import Constants
from rushlight.backends.cpu.graph import StepKind, StorageKind
from rushlight.backends.cpu.lowering import RULES, argument
from rushlight.backends.cpu.quantized import (
    AFFINE,
    BY_TOKEN,
    MOVES,
    NUMBERS,
    SYMMETRIC,
    Dynamic,
    QuantizedLowering,
    StoredWeight,
    order_of,
    product_parts,
)
from rushlight.backends.cpu.rules_images import _by_axis, pair
from rushlight.backends.cpu.sizes import Size, product, same
from rushlight.backends.cpu.tensor import Tensor
from rushlight.ir.edge_ops import aten_op
from rushlight.passes.quantized_nodes import dequantized, is_op, qd, quantized

aten = torch.ops.aten

_POOLS = (aten.max_pool2d.default, aten.max_pool2d_with_indices.default)
_AVERAGES = (aten.avg_pool2d.default, aten.adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d.default)
_OVER_IMAGES = (aten.convolution.default, *_POOLS, *_AVERAGES)
_MOST_AVERAGED = 1 << 22

CHOICES: dict[Any, int] = {
    qd.choose_qparams.tensor: AFFINE,
    qd.choose_qparams_symmetric.tensor: SYMMETRIC,
    qd.choose_qparams_per_token_asymmetric.default: BY_TOKEN,
}
DYNAMIC_QUANTIZE = (qd.quantize_per_tensor.tensor, qd.quantize_per_token.default)
DYNAMIC_DEQUANTIZE = (qd.dequantize_per_tensor.tensor, qd.dequantize_per_token.default)


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
    if isinstance(source, Node) and node in lowering.clamped and source in lowering.meanings:
        lowering.mean(node, lowering.raw(source), lowering.meanings[source])
        return True
    rule = _RULES.get(node.target if node.target is operator.getitem else aten_op(node.target))
    return rule is not None and rule(lowering, node)


def _quantize(
    lowering: QuantizedLowering, node: Node, function: ByteFunction | None, constants: Constants
) -> None:
    params = quantized(node)
    assert params is not None
    meaning = Meaning.of(params)
    source = node.args[0]
    if isinstance(source, Node) and source in lowering.meanings or function is not None:
        origin = source if function is None else function.source
        assert isinstance(origin, Node)
        raw, old = lowering.raw(origin), lowering.meanings[origin]
        if function is None and old.is_as(meaning):
            lowering.set(node, raw)
            return
        table = (
            meaning.numbers(old.reals(NUMBERS))
            if function is None
            else function.table(old, meaning, constants)
        )
        out = lowering.new(raw.sizes, order_of(lowering, raw), torch.int8)
        lowering.set(node, lowering.mapped(raw, table, out, node))
        return
    x = lowering.tensor(source)
    channels_last = x.rank == 4 and any(is_op(u, *_OVER_IMAGES) for user in node.users for u in user.users)
    order = (0, 2, 3, 1) if channels_last else order_of(lowering, x)
    out = lowering.new(x.sizes, order, torch.int8)
    ends = [meaning.zero, meaning.low, meaning.high]
    lowering.emit(Draft(StepKind.QUANTIZE, [x, out], ints=ends, floats=[meaning.scale]), node)
    lowering.set(node, out)


def _dequantize(lowering: QuantizedLowering, node: Node) -> None:
    params = dequantized(node)
    source = node.args[0]
    assert params is not None and isinstance(source, Node)
    lowering.mean(node, lowering.signed(lowering.raw(source), node), Meaning.of(params))


# ---- Quantized while the plan runs ----


def _lower_dynamic(lowering: QuantizedLowering, node: Node) -> bool:
    if is_op(node, *CHOICES, *DYNAMIC_QUANTIZE):
        return True
    source = node.args[0] if node.args else None
    if node.target is operator.getitem:
        return is_op(source, *CHOICES)
    if is_op(node, *DYNAMIC_DEQUANTIZE):
        assert isinstance(source, Node)
        origin: Any = source.args[0]
        choice: Any = source.args[1]
        lowering.set(node, lowering.tensor(origin))
        lowering.dynamic[node] = _dynamic_of(choice.args[0], source)
        return True
    if isinstance(source, Node) and source in lowering.dynamic and is_op(node, *MOVES):
        RULES[aten_op(node.target)](lowering, node)
        lowering.dynamic[node] = lowering.dynamic[source]
        return True
    return False


def _dynamic_of(choose: Node, quantize: Node) -> Dynamic:
    choice = CHOICES[aten_op(choose.target)]
    eps: Any = choose.args[3] if choice != BY_TOKEN else 0.0
    low, high = quantize.args[3], quantize.args[4]
    return Dynamic(choice, int(low), int(high), float(eps))  # type: ignore[arg-type]


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
    meaning = lowering.meanings[source] if rows is None else Meaning(1.0, 0)
    out, image = result(torch.float32 if wanted is None else torch.int8)
    scales, zeros = (None, None) if rows is None else rows
    draft = ByteProductDraft(
        StepKind.BYTE_PRODUCT,
        [left, None, None, None, scales, zeros, None, image],
        weight=weight.numbers,
        scales=weight.scales * meaning.scale,
        zero=meaning.zero,
        result=None if wanted is None else wanted.meaning,
        **options,
    )
    lowering.emit(draft, node)
    if wanted is None:
        lowering.set(node, out)
        return
    lowering.mean(node, out, wanted.meaning)
    lowering.clamped.update(wanted.clamps)


def _convolution(lowering: QuantizedLowering, node: Node) -> bool:
    source, weight_node, bias, stride, padding, dilation, _, _, groups = node.args
    weight = lowering.weight(weight_node)
    if source not in lowering.meanings or weight is None:
        return False
    assert isinstance(source, Node) and isinstance(groups, int)
    raw = lowering.raw(source)
    numbers = weight.numbers.unsqueeze(2) if weight.numbers.dim() == 3 else weight.numbers
    is_depthwise = groups > 1 and numbers.shape[1] == 1 and numbers.shape[0] == groups
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
        StoredWeight(numbers, weight.scales),
        result,
        left,
        None,
        bias=_bias(lowering, bias, numbers.shape[0]),
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
    parts = product_parts(node)
    if parts is None:
        return False
    source, weight_node, bias = parts
    weight = lowering.weight(weight_node)
    if source not in lowering.dynamic and (source not in lowering.meanings or weight is None):
        return _scaled_product(lowering, node, source, weight_node, bias)
    if weight is None:
        return _nibble_product(lowering, node, source, weight_node, bias)
    if weight.numbers.dim() != 2:
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

    numbers = weight.numbers[:, :, None, None]
    offset = _bias(lowering, bias, numbers.shape[0])
    pair_of_rows = None if scales is None else (scales[0], scales[1])
    stored = StoredWeight(numbers, weight.scales)
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
        weight=weight.numbers[:, :, None, None],
        bias=_bias(lowering, bias, weight.numbers.shape[0]),
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
    numbers, scales = lowering.constant(table.stored()), lowering.constant(table.scales.float().flatten())
    ints = [table.bits, *table.numbers.shape, table.group]
    lowering.emit(Draft(StepKind.SCALED_GATHER, [numbers, flat, scales, target], ints=ints), node)
    lowering.set(node, out)
    return True


# ---- Without weights ----


def _sum(lowering: QuantizedLowering, node: Node) -> bool:
    a, b = node.args[:2]
    wanted = lowering.wanted(node)
    if a not in lowering.meanings or b not in lowering.meanings or wanted is None:
        return False
    if argument(node, 2, 1) != 1:
        return False
    assert isinstance(a, Node) and isinstance(b, Node)
    sizes = lowering.sizes(node)
    meanings = [lowering.meanings[a], lowering.meanings[b]]
    raws = [lowering.raw(a), lowering.raw(b)]
    if (
        is_op(node, aten.add.Tensor)
        and a is not b
        and (_add_to(lowering, node, a, b) or _add_to(lowering, node, b, a))
    ):
        return True
    out_meaning = wanted.meaning
    multiplies = is_op(node, aten.mul.Tensor)
    factors = [m.scale / out_meaning.scale for m in meanings]
    if multiplies:
        factors = [meanings[0].scale * meanings[1].scale / out_meaning.scale, 0.0]
    elif is_op(node, aten.sub.Tensor):
        factors[1] = -factors[1]
    full = next((r for r in raws if _has_sizes(r, sizes)), None)
    out = lowering.new(sizes, None if full is None else order_of(lowering, full), torch.int8)
    draft = Draft(
        StepKind.BYTE_BINARY,
        [raws[0].expand(sizes), raws[1].expand(sizes), out],
        ints=[
            int(multiplies),
            *(m.zero for m in meanings),
            out_meaning.zero,
            out_meaning.low,
            out_meaning.high,
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
    own, others = lowering.meanings[source], lowering.meanings[other]
    if draft.result is None or not own.is_as(draft.result):
        return False
    factors = (own.scale / wanted.meaning.scale, others.scale / wanted.meaning.scale)
    draft.sum = ByteSum(others.zero, factors, wanted.meaning)
    draft.operands[3] = replace(draft.out, storage=y.storage, offset=y.offset + draft.out.offset - x.offset)
    lowering.drop(draft)
    return _done(lowering, node, draft, x)


def _has_sizes(tensor: Tensor, sizes: tuple[Size, ...]) -> bool:
    return tensor.rank == len(sizes) and all(same(a, b) for a, b in zip(tensor.sizes, sizes, strict=True))


def _done(lowering: QuantizedLowering, node: Node, draft: Draft, out: Tensor) -> bool:
    wanted = lowering.wanted(node)
    assert wanted is not None
    lowering.emit(draft, node)
    lowering.mean(node, out, wanted.meaning)
    lowering.clamped.update(wanted.clamps)
    return True


def _averages(lowering: QuantizedLowering, node: Node) -> tuple[Node, Meaning, Meaning] | None:
    """The operand of a node that averages int8 to int8, and what both mean."""
    source, wanted = node.args[0], lowering.wanted(node)
    if source not in lowering.meanings or wanted is None:
        return None
    assert isinstance(source, Node)
    return source, lowering.meanings[source], wanted.meaning


def _mean(lowering: QuantizedLowering, node: Node) -> bool:
    found = _averages(lowering, node)
    if found is None or node.kwargs.get("dtype") is not None:
        return False
    rank = lowering.raw(found[0]).rank
    given: Any = argument(node, 1)
    axes = sorted({axis % rank for axis in ([given] if isinstance(given, int) else given or range(rank))})
    return _mean_over(lowering, node, found, axes)


def _mean_over(
    lowering: QuantizedLowering, node: Node, found: tuple[Node, Meaning, Meaning], axes: list[int]
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
    ends = [old.zero, new.zero, new.low, new.high]
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
        ints=[*window, *how, old.zero, new.zero, new.low, new.high],
        floats=[old.scale / new.scale],
    )
    return _done(lowering, node, draft, out)


def _max_pool(lowering: QuantizedLowering, node: Node) -> bool:
    source = node.args[0]
    if source not in lowering.meanings:
        return False
    assert isinstance(source, Node)
    meaning = lowering.meanings[source]
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
        ints=[*window, 1, 0, 0, meaning.zero, meaning.zero, -128, 127],
        floats=[1.0],
    )
    lowering.emit(draft, node)
    if has_items:
        lowering.set_items(node, [out])
        lowering.meanings[node] = meaning
    else:
        lowering.mean(node, out, meaning)
    return True


def _cat(lowering: QuantizedLowering, node: Node) -> bool:
    sources: Any = node.args[0]
    if any(source not in lowering.meanings for source in sources):
        return False
    meanings = [lowering.meanings[source] for source in sources]
    wanted = lowering.wanted(node)
    if wanted is None:
        if not all(meaning.is_as(meanings[0]) for meaning in meanings):
            return False
        out_meaning = meanings[0]
    else:
        out_meaning = wanted.meaning
    raws = [lowering.raw(source) for source in sources]
    sizes = lowering.sizes(node)
    if any(raw.rank != len(sizes) for raw in raws):
        return False
    axis = int(argument(node, 1, 0)) % len(sizes)
    largest = max(raws, key=lambda raw: lowering.symbols.upper(product(raw.sizes)))
    out = lowering.new(sizes, order_of(lowering, largest), torch.int8)
    at: Size = 0
    for raw, meaning in zip(raws, meanings, strict=True):
        part = out.narrow(axis, at, raw.sizes[axis])
        lowering.requantized(raw, meaning, out_meaning, part, node)
        at = at + raw.sizes[axis]
    lowering.mean(node, out, out_meaning)
    if wanted is not None:
        lowering.clamped.update(wanted.clamps)
    return True


def _move(lowering: QuantizedLowering, node: Node) -> bool:
    source = node.args[0]
    if source not in lowering.meanings:
        return False
    assert isinstance(source, Node)
    op = node.target if node.target is operator.getitem else aten_op(node.target)
    with lowering.bytes_kept():
        RULES[op](lowering, node)
    lowering.meanings[node] = lowering.meanings[source]
    return True


QUANTIZED = frozenset(
    {qd.quantize_per_tensor.default, qd.dequantize_per_tensor.default, *CHOICES}
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
