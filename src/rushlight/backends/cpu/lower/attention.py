"""Lowers attention: a single operator, or the operators of its decomposition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import ChainBuilder, Lowering
from rushlight.backends.cpu.lower.nodes import rank_of
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.plan.node import Chain, PlanNode
from rushlight.backends.cpu.plan.sizes import Size, product, same
from rushlight.backends.cpu.plan.tables import (
    Attention,
    BinaryFunction,
    Copy,
    MatMul,
    Softmax,
    UnaryFunction,
    Where,
)
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument, aten_op

aten = torch.ops.aten

_MASKED = -1e30  # scores that are replaced by this number or less have no share
_MAX_MASKS = 2  # the masks of an attention step
FEW_QUERIES = 4  # kFewQueries of runtime/backends/cpu/steps/attention.cpp


def _tensor(lowering: Lowering, item: object) -> Tensor:
    return item if isinstance(item, Tensor) else lowering.tensor(item)


def _parts_of_cache(lowering: Lowering, node: Node) -> list[Tensor] | None:
    """Removes concatenations of keys and values that only `node` reads, and returns their inputs.

    An attention step with at most FEW_QUERIES queries can read keys and values in two parts.

    Returns:
        [keys, values, further keys, further values]; None if the step cannot read the inputs.
    """
    query = lowering.tensor(node.args[0])
    sources: list[Tensor] = []
    for item in node.args[1:3]:
        if not isinstance(item, Node) or aten_op(item.target) is not aten.cat.default:
            return None
        parts: Any = item.args[0]
        axis = int(argument(item, 1, 0)) % query.rank
        if len(parts) != 2 or axis != query.rank - 2 or not lowering.aliases.is_only_read_by(item, node):
            return None
        sources += [lowering.tensor(part) for part in parts]
    queries = query.sizes[-2]
    if not isinstance(queries, int) or queries > FEW_QUERIES or any(t.rank != query.rank for t in sources):
        return None
    if not same(sources[0].sizes[-2], sources[2].sizes[-2]):
        return None  # keys and values are divided at different places
    concatenations = [item for item in node.args[1:3] if isinstance(item, Node)]
    copies = [step for item in concatenations for step in lowering.aliases.writers_of(item)]
    if not all(step.of(Copy) and lowering.aliases.may_run_later(step) for step in copies):
        return None
    for step in copies:
        lowering.remove_step(step)
    return [sources[0], sources[2], sources[1], sources[3]]


def as_rank_4(tensor: Tensor) -> Tensor:
    """Returns the tensor with four dimensions; new dimensions come first."""
    while tensor.rank < 4:
        tensor = tensor.unsqueeze(0)
    return tensor


def _at_least_rank_3(tensor: Tensor) -> Tensor:
    """Returns the tensor with at least three dimensions; a new dimension comes first."""
    return tensor.unsqueeze(0) if tensor.rank == 2 else tensor


def _with_heads(tensor: Tensor, axis: int) -> Tensor | None:
    """Returns the tensor as a view [b, h, t, d].

    h is the leading dimension `axis`; b are all other leading dimensions. The result is None if no strides
    express this view.
    """
    others = [i for i in range(tensor.rank - 2) if i != axis]
    sizes, strides = ([values[i] for i in others] for values in (tensor.sizes, tensor.strides))
    batch = replace(tensor, sizes=tuple(sizes), strides=tuple(strides)).view((product(sizes),))
    if batch is None:
        return None
    inner = slice(tensor.rank - 2, None)
    return replace(
        tensor,
        sizes=(*batch.sizes, tensor.sizes[axis], *tensor.sizes[inner]),
        strides=(*batch.strides, tensor.strides[axis], *tensor.strides[inner]),
    )


def _heads_axis(tensors: Sequence[Tensor], are_grouped: bool) -> int:
    """Returns the leading dimension to use as heads: the one with which the fewest tensors need a copy.

    Args:
        tensors: tensors of one rank, at least 3, with the same leading dimensions.
        are_grouped: whether several query heads share a key head. The result is then the last leading
            dimension.
    """
    last = tensors[0].rank - 3
    if are_grouped or last < 2:
        return last
    return max(range(last, -1, -1), key=lambda axis: sum(_with_heads(t, axis) is not None for t in tensors))


def _new_output(lowering: Lowering, node: Node, axis: int = -3) -> Tensor:
    """Allocates the result of `node`, with at least three dimensions.

    For each index of the other leading dimensions, the memory is [t, h, e], where h is the leading dimension
    `axis`.
    """
    sizes = lowering.sizes(node)
    sizes = ((1,) * (3 - len(sizes))) + sizes
    rank = len(sizes)
    others = [i for i in range(rank - 2) if i != axis % rank]
    return lowering.new_tensor(sizes, (*others, rank - 2, axis % rank, rank - 1))


def _set_output(lowering: Lowering, node: Node, out: Tensor) -> None:
    lowering.set_tensor(node, out.squeeze(0) if out.rank > len(lowering.sizes(node)) else out)


def attention(lowering: Lowering, node: Node) -> None:
    """Lowers scaled_dot_product_attention.

    All leading dimensions except the heads are merged into one. A mask with only True values is removed. If
    keys and values are concatenations of two tensors and there are only a few queries, the step reads both
    tensors without a concatenation. A query whose keys are all masked has zeros as its result, not NaN.
    """
    parts: list[object] = [*(_parts_of_cache(lowering, node) or (*node.args[1:3], None, None))]
    query, key, value, key_tail, value_tail = (
        None if n is None else _at_least_rank_3(lowering.with_innermost(_tensor(lowering, n), -1, node))
        for n in (node.args[0], *parts)
    )
    assert query is not None and key is not None and value is not None
    mask = _mask_argument(lowering, node)
    if mask is not None:
        keys = key.sizes[-2] if key_tail is None else key.sizes[-2] + key_tail.sizes[-2]
        mask = mask.expand((*query.sizes[:-1], keys))
    operands = [query, key, value, mask, key_tail, value_tail]
    tensors = [t for t in operands if t is not None]
    axis = _heads_axis(tensors, are_grouped=not same(query.sizes[-3], key.sizes[-3]))
    scale = argument(node, 6)
    out = _new_output(lowering, node, axis)
    folded = _with_heads(out, axis)
    query, key, value, mask, key_tail, value_tail = (
        None if t is None else _with_heads(t, axis) or _with_heads(lowering.contiguous(t, node), axis)
        for t in operands
    )
    assert folded is not None and query is not None and key is not None and value is not None
    step = Attention(
        query=query,
        key=key,
        value=value,
        mask=mask,
        key_tail=key_tail,
        value_tail=value_tail,
        output=folded,
        scale=float(query.sizes[-1]) ** -0.5 if scale is None else float(scale),
        is_causal=bool(argument(node, 5, False)),
        may_be_empty=True,
    )
    lowering.emit(step, node)
    _set_output(lowering, node, out)


def _mask_argument(lowering: Lowering, node: Node) -> Tensor | None:
    """Returns the mask of scaled_dot_product_attention; None if there is none or if it masks nothing."""
    mask = argument(node, 3)
    data = lowering.constant_value(mask)
    masks_nothing = data is not None and data.dtype is torch.bool and bool(data.all())
    return None if mask is None or masks_nothing else lowering.tensor(mask)


def decomposed_attention(lowering: Lowering, node: Node) -> bool:
    """Fuses softmax(scale * (q @ k) + masks) @ v into one attention step.

    The scale is a number, or a tensor with one number for each head, which is multiplied with q.

    Args:
        lowering: the steps emitted so far.
        node: a matrix product, which may be the product with v.

    Returns:
        Whether the steps were fused.
    """
    sizes = lowering.sizes(node)
    found = _softmax_of_scores(lowering, node, sizes)
    if found is None:
        return False
    reader, scores = found
    operands = (scores.query, scores.key.permute((0, 1, 3, 2)))
    (query, key), scale, scalings = _unscaled(lowering, scores.product, operands)
    read = (query, key, *scores.head_scales, *scores.masks)
    if any(lowering.aliases.is_written_between(t.storage, scores.product) for t in read):
        return False
    value = lowering.tensor(node.args[1])
    value = as_rank_4(value.expand((*sizes[:-2], *value.sizes[-2:])))
    query, key, value = (lowering.with_innermost(t, -1, node) for t in (query, key, value))
    query = _scaled(lowering, node, query, scores.head_scales)
    first, second = (*scores.masks, None, None)[:2]
    out = _new_output(lowering, node)
    fused = Attention(
        query=query,
        key=key,
        value=value,
        mask=first,
        second_mask=second,
        output=as_rank_4(out),
        scale=scores.scale * scale,
    )
    parts = [reader, *scores.steps, scores.product, *scalings]
    for step in parts:
        lowering.remove_step(step)
    lowering.emit(fused, node, [item for step in parts for item in step.nodes])
    _set_output(lowering, node, out)
    return True


def _softmax_of_scores(
    lowering: Lowering, node: Node, sizes: tuple[Size, ...]
) -> tuple[PlanNode, _Scores] | None:
    """Finds the softmax whose result a matrix product multiplies, and its scores.

    Args:
        lowering: the steps emitted so far.
        node: the product.
        sizes: the sizes of its result.

    Returns:
        The step of the softmax, and the scores that it reads; None if one attention step cannot compute them.
    """
    reader = lowering.sole_writer(node.args[0], node)
    softmax = None if reader is None else reader.of(Softmax)
    shares = as_rank_4(lowering.tensor(node.args[0]))
    if reader is None or softmax is None or softmax.is_logarithm or not shares.is_contiguous():
        return None
    source: Tensor = softmax.input
    if not same(source.sizes[-1], shares.sizes[-1]):
        return None
    leading = ((1,) * (4 - len(sizes)) + sizes)[:3]
    if not all(same(a, b) for a, b in zip(leading, shares.sizes, strict=False)):
        return None  # the scores are broadcast to the values
    scores = _scores(lowering, reader, source, shares.sizes)
    return None if scores is None else (reader, scores)


def _scaled(lowering: Lowering, node: Node, query: Tensor, factors: Sequence[Tensor]) -> Tensor:
    """Returns the product of the query [b, h, t, d] and factors [b, h, 1, 1]."""
    if not factors:
        return query
    chain = ChainBuilder(lowering, node, query.sizes)
    current = chain.operand(query)
    for factor in factors:
        current = chain.add(BinaryFunction.MUL, current, chain.operand(factor))
    chain.finish()
    return lowering.tensor(node)


@dataclass
class _Scores:
    """The scores scale * head_scales * (query @ key) + masks of attention.

    The scores are found step by step, from the last step to the product. A scale that is found before a mask
    would also scale this mask. Such masks are not supported.

    Attributes:
        sizes: the sizes of the scores, [b, h, t, s].
        steps: the steps between the product and the reader of the scores, the last one first.
        scale: the product of all scales that are numbers.
        head_scales: the scales [b, h, 1, 1] with one number for each head.
        masks: at most two masks with the sizes of the scores, in the order in which they are added.
        product: the step that computes query @ key.
        query: the first operand of the product.
        key: the second operand of the product.
    """

    sizes: tuple[Size, ...]
    steps: list[PlanNode] = field(default_factory=list)
    scale: float = 1.0
    head_scales: list[Tensor] = field(default_factory=list)
    masks: list[Tensor] = field(default_factory=list)
    product: PlanNode = field(init=False)
    query: Tensor = field(init=False)
    key: Tensor = field(init=False)

    def add_mask(self, mask: Tensor) -> bool:
        """Adds a mask that is applied before the masks so far; returns whether this is supported."""
        expanded = mask.view(self.sizes)
        if expanded is None or self.scale != 1.0 or self.head_scales or len(self.masks) == _MAX_MASKS:
            return False
        self.masks.insert(0, expanded)
        return True

    def add_head_scale(self, factor: Tensor) -> bool:
        """Adds a tensor by which the scores are multiplied; returns whether it has a number for each head."""
        expanded = factor.view(self.sizes)
        if expanded is None or not all(same(stride, 0) for stride in expanded.strides[2:]):
            return False
        self.head_scales.append(_by_head(expanded))
        return True

    def add_chain(self, parts: Sequence[tuple[float | Tensor, Tensor | None]]) -> bool:
        """Adds the factors and masks of a chain, in the form of `_read_chain`.

        Returns:
            Whether all of them are supported.
        """
        for factor, mask in reversed(parts):
            if isinstance(factor, Tensor):
                if not self.add_head_scale(factor):
                    return False
            elif mask is None:
                self.scale *= factor
            elif not self.add_mask(mask):
                return False
        return True


def _scores(lowering: Lowering, reader: PlanNode, source: Tensor, sizes: tuple[Size, ...]) -> _Scores | None:
    """Finds the product q @ k from which masked and scaled scores are computed.

    Args:
        lowering: the steps emitted so far.
        reader: the step that reads the scores.
        source: the scores, as an operand of `reader`.
        sizes: the sizes of the scores.

    Returns:
        The scores; None if other steps compute them.
    """
    scores = _Scores(sizes)
    while True:
        step = lowering.aliases.sole_writer_for_step(source, reader)
        view = source.view(sizes)
        if step is None or view is None or not view.is_contiguous() or not same(view.offset, 0):
            return None
        product, where, chain = step.of(MatMul), step.of(Where), step.of(Chain)
        if product is not None:
            scores.product, scores.query, scores.key = step, product.a, product.b
            return scores if step.output.has_layout_of(view) else None
        if where is not None:
            found = _mask_of(lowering, where, step)
            if found is None or not scores.add_mask(found[0]):
                return None
            unmasked = found[1]
        elif chain is not None:
            candidates = [
                tensor for tensor in chain.inputs if lowering.aliases.sole_writer_for_step(tensor, step)
            ]
            parts = _read_chain(chain, candidates[0]) if len(candidates) == 1 else None
            if parts is None or not scores.add_chain(parts):
                return None
            unmasked = candidates[0]
        else:
            return None
        scores.steps.append(step)
        reader, source = step, unmasked


def _mask_of(lowering: Lowering, where: Where[Tensor], step: PlanNode) -> tuple[Tensor, Tensor] | None:
    """Returns the mask that is added to scores by a choice between scores and a very small number.

    The condition is constant, and no row is masked as a whole: the shares of masked keys are exactly 0.

    Returns:
        The mask, 0 and -infinity, and the scores; None if the step chooses between other tensors.
    """
    condition = where.condition
    for scores, other, keeps in ((where.a, where.b, True), (where.b, where.a, False)):
        data, number = condition.storage.data, other.storage.data
        if data is None or number is None or number.numel() != 1 or not float(number) <= _MASKED:
            continue
        if lowering.aliases.sole_writer_for_step(scores, step) is None:
            continue
        layout = (*condition.sizes, *condition.strides, condition.offset)
        if not all(isinstance(item, int) for item in layout):
            continue
        mask = torch.where(data == keeps, 0.0, -torch.inf)
        places: Any = (condition.sizes, condition.strides, condition.offset)
        if bool((mask.contiguous().as_strided(*places) == 0).any(-1).all()):
            return replace(condition, storage=constant(mask).storage), scores
    return None


def _by_head(factor: Tensor) -> Tensor:
    """Returns a tensor [b, h, t, s] with equal numbers for each head as [b, h, 1, 1]."""
    return replace(factor, sizes=(*factor.sizes[:2], 1, 1))


def _read_chain(chain: Chain, scores: Tensor) -> list[tuple[float | Tensor, Tensor | None]] | None:
    """Returns the factors and masks that a chain applies to one operand.

    The result is None if the chain computes anything else.
    """
    parts: list[tuple[float | Tensor, Tensor | None]] = []
    current = chain.inputs.index(scores)
    for index, instruction in enumerate(chain.code):
        others = [source for source in instruction.sources if source != current]
        if len(others) != len(instruction.sources) - 1 or any(source < 0 for source in others):
            return None
        other = chain.inputs[others[0]] if others else None
        function = instruction.function
        if function is UnaryFunction.AFFINE and instruction.q == 0:
            parts.append((instruction.p, None))
        elif function is BinaryFunction.ADD and other is not None:
            parts.append((1.0, other))
        elif other is not None and other.is_constant and (number := _single(other)) is not None:
            if function is BinaryFunction.MUL:
                parts.append((number, None))
            elif function is BinaryFunction.DIV and instruction.sources[0] == current:
                parts.append((1.0 / number, None))
            else:
                return None
        elif function is BinaryFunction.MUL and other is not None:
            parts.append((other, None))
        else:
            return None
        current = -1 - index
    return parts


def _single(constant: Tensor) -> float | None:
    data = constant.storage.data
    return float(data) if data is not None and data.numel() == 1 and float(data) != 0 else None


def _unscaled(
    lowering: Lowering, product: PlanNode, operands: tuple[Tensor, Tensor]
) -> tuple[list[Tensor], float, list[PlanNode]]:
    """Finds chains that only scale the operands of a product.

    Returns:
        The unscaled operands, the product of the scales, and the steps of these chains.
    """
    tensors: list[Tensor] = []
    scale, chains = 1.0, list[PlanNode]()
    for tensor in operands:
        step = lowering.aliases.sole_writer_for_step(tensor, product)
        chain = None if step is None else step.of(Chain)
        tensors.append(tensor)
        if step is None or chain is None or chain.output.rank > 4 or len(chain.inputs) > 2:
            continue
        source = chain.inputs[0]
        parts = _read_chain(chain, source)
        if parts is None:
            continue
        numbers = [factor for factor, mask in parts if mask is None and isinstance(factor, float)]
        if len(numbers) != len(parts):
            continue
        for order in ((0, 1, 2, 3), (0, 1, 3, 2)):
            if as_rank_4(chain.output).permute(order).has_layout_of(tensor):
                tensors[-1] = as_rank_4(source).permute(order)
                chains.append(step)
                scale *= math.prod(numbers)
                break
    return tensors, scale, chains


# Checks: each returns the reason why a node is refused, or None.


def check_attention(node: Node, constants: Constants) -> str | None:
    """Refuses attention with dropout or with shapes that the step does not support."""
    if argument(node, 4, 0.0) != 0.0:
        return "it has dropout"
    ranks = {rank_of(n) for n in (*node.args[:3], node)}
    if len(ranks) != 1:
        return "its operands have different numbers of dimensions"
    query, key, value = (meta.get_tensor(n) for n in node.args[:3])  # type: ignore[arg-type]
    assert query is not None and key is not None and value is not None
    if not all(isinstance(size, int) for size in (query.shape[-1], value.shape[-1])):
        return "its heads have a dynamic width"
    if not all(_are_same(t.shape[:-3], query.shape[:-3]) for t in (key, value)):
        return "its operands are broadcast"
    heads, *shared = (t.shape[-3:-2] for t in (query, key, value))
    if not _are_same(*shared) or not (_are_same(heads, shared[0]) or _divides(shared[0], heads)):
        return "its number of query heads is not a multiple of its number of key and value heads"
    return None


def _are_same(a: Sequence[int | torch.SymInt], b: Sequence[int | torch.SymInt]) -> bool:
    return all(x is y or x == y for x, y in zip(a, b, strict=True))


def _divides(a: Sequence[int | torch.SymInt], b: Sequence[int | torch.SymInt]) -> bool:
    return all(
        isinstance(x, int) and isinstance(y, int) and x and y % x == 0 for x, y in zip(a, b, strict=True)
    )


ROWS: dict[object, Row] = {
    aten.scaled_dot_product_attention.default: Row(check_attention, attention),
}
