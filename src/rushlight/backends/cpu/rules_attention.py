"""Attention: given as one operator, or written out."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.drafts import BINARY, UNARY, Draft, ElementwiseDraft
from rushlight.backends.cpu.graph import StepKind
from rushlight.backends.cpu.lowering import Lowering, rule
from rushlight.backends.cpu.sizes import Size, same
from rushlight.backends.cpu.tensor import Tensor
from rushlight.ir.edge_ops import argument, aten_op

aten = torch.ops.aten

FEW_QUERIES = 4  # kFewQueries of runtime/backends/cpu/steps/attention.cpp


def _tensor(lowering: Lowering, item: Any) -> Tensor:
    return item if isinstance(item, Tensor) else lowering.tensor(item)


def _joined(lowering: Lowering, node: Node) -> list[Tensor] | None:
    """Keys, values, and those behind them, where concatenations that nothing else reads join them.

    Their copies are dropped: a few queries read both pieces where they are.
    """
    query = lowering.tensor(node.args[0])
    sources: list[Tensor] = []
    for item in node.args[1:3]:
        if not isinstance(item, Node) or aten_op(item.target) is not aten.cat.default:
            return None
        parts: Any = item.args[0]
        axis = int(argument(item, 1, 0)) % query.rank
        if len(parts) != 2 or axis != query.rank - 2 or not lowering.aliases.is_read_by(item, node):
            return None
        sources += [lowering.tensor(part) for part in parts]
    queries = query.sizes[-2]
    if not isinstance(queries, int) or queries > FEW_QUERIES or any(t.rank != query.rank for t in sources):
        return None
    joined = [item for item in node.args[1:3] if isinstance(item, Node)]
    copies = [draft for item in joined for draft in lowering.aliases.writers_of(item)]
    if not all(draft.kind is StepKind.COPY and lowering.aliases.may_run_later(draft) for draft in copies):
        return None
    for draft in copies:
        lowering.drop(draft)
    return [sources[0], sources[2], sources[1], sources[3]]


def four(tensor: Tensor) -> Tensor:
    """The tensor with four dimensions: new ones come first."""
    while tensor.rank < 4:
        tensor = tensor.with_one(0)
    return tensor


def _emit(
    lowering: Lowering,
    node: Node,
    operands: list[Tensor | None],
    scale: float,
    is_causal: bool = False,
    replaced: list[Draft] | None = None,
) -> None:
    """One step for `node`. operands: query, key, value, mask, key and value behind, second mask."""
    sizes = lowering.sizes(node)
    out = lowering.new((1,) * (4 - len(sizes)) + sizes, (0, 2, 1, 3))
    draft = Draft(StepKind.ATTENTION, [*operands, out], ints=[int(is_causal)], floats=[scale])
    for old in replaced or []:
        lowering.drop(old)
        draft.nodes += old.nodes
    lowering.emit(draft, node)
    while out.rank > len(sizes):
        out = out.without(0)
    lowering.set(node, out)


@rule(aten.scaled_dot_product_attention.default)
def attention(lowering: Lowering, node: Node) -> None:
    pieces: list[Any] = [*(_joined(lowering, node) or (*node.args[1:3], None, None))]
    query, key, value, key_tail, value_tail = (
        None if n is None else four(lowering.with_inner(_tensor(lowering, n), -1, node))
        for n in (node.args[0], *pieces)
    )
    assert query is not None and key is not None and value is not None
    mask_node = argument(node, 3)
    mask = None if mask_node is None else lowering.tensor(mask_node)
    scale = argument(node, 6)
    if scale is None:
        scale = float(query.sizes[-1]) ** -0.5
    data = lowering.constant_value(mask_node)
    if data is not None and data.dtype is torch.bool and bool(data.all()):
        mask = None
    if mask is not None:
        keys = key.sizes[2] if key_tail is None else key.sizes[2] + key_tail.sizes[2]
        mask = four(mask).expand((*query.sizes[:3], keys))
    operands = [query, key, value, mask, key_tail, value_tail, None]
    _emit(lowering, node, operands, float(scale), bool(argument(node, 5, False)))


def written_out_attention(lowering: Lowering, node: Node) -> bool:
    """Fuses a product with what softmax gives of masked scores: softmax(scale * (q @ k) + masks) @ v."""
    softmax = lowering.sole_writer(node.args[0], node)
    shares = four(lowering.tensor(node.args[0]))
    if (
        softmax is None
        or softmax.kind is not StepKind.SOFTMAX
        or softmax.ints[0]
        or not shares.is_contiguous()
    ):
        return False
    source = softmax.operands[0]
    if source is None or not same(source.sizes[-1], shares.sizes[-1]):
        return False
    found = _scores(lowering, softmax, source, shares.sizes)
    if found is None:
        return False
    product, replaced, scale, masks = found
    query, key = product.operands[0], product.operands[1]
    assert query is not None and key is not None
    (query, key), factor, scalings = _unscaled(lowering, product, (query, key.permute((0, 1, 3, 2))))
    if any(lowering.aliases.is_written_between(t.storage, product) for t in (query, key, *masks)):
        return False
    value = lowering.tensor(node.args[1])
    value = four(value.expand((*lowering.sizes(node)[:-2], *value.sizes[-2:])))
    query, key, value = (lowering.with_inner(t, -1, node) for t in (query, key, value))
    first, second = (*masks, None, None)[:2]
    operands = [query, key, value, first, None, None, second]
    _emit(lowering, node, operands, scale * factor, replaced=[softmax, *replaced, product, *scalings])
    return True


def _scores(
    lowering: Lowering, reader: Draft, source: Tensor, sizes: tuple[Size, ...]
) -> tuple[Draft, list[Draft], float, list[Tensor]] | None:
    """The product that `source`, which has `sizes` as scores, comes from, the steps between, their scale, and
    at most two masks, which are added to scaled scores."""
    replaced: list[Draft] = []
    masks: list[Tensor] = []
    scale = 1.0
    while True:
        draft = lowering.aliases.source_of(source, reader)
        view = source.reshape(sizes)
        if draft is None or view is None or not view.is_contiguous() or not same(view.offset, 0):
            return None
        if draft.kind is StepKind.MATRIX_PRODUCT:
            return (draft, replaced, scale, masks) if draft.out.lies_as(view) else None
        if not isinstance(draft, ElementwiseDraft):
            return None
        operands = [t for t in draft.operands[:-1] if t is not None]
        candidates = [t for t in operands if lowering.aliases.source_of(t, draft)]
        steps = _read_chain(draft, candidates[0]) if len(candidates) == 1 else None
        if steps is None:
            return None
        for factor, mask in reversed(steps):
            # Scales come first, and so last here.
            if mask is None:
                scale *= factor
                continue
            expanded = mask.reshape(sizes)
            if scale != 1.0 or expanded is None or len(masks) == 2:
                return None
            masks.insert(0, expanded)
        replaced.append(draft)
        reader, source = draft, candidates[0]


def _read_chain(draft: ElementwiseDraft, scores: Tensor) -> list[tuple[float, Tensor | None]] | None:
    """What a chain does to one operand, a factor or a mask each; None if it does anything else."""
    steps: list[tuple[float, Tensor | None]] = []
    current = draft.operands.index(scores)
    for index, instruction in enumerate(draft.code):
        others = [source for source in instruction.sources if source != current]
        if len(others) != len(instruction.sources) - 1 or any(source < 0 for source in others):
            return None
        other = draft.operands[others[0]] if others else None
        if instruction.op == UNARY["affine"] and instruction.q == 0:
            steps.append((instruction.p, None))
        elif instruction.op == BINARY["add"] and other is not None:
            steps.append((1.0, other))
        elif other is not None and other.is_constant and (number := _single(other)) is not None:
            if instruction.op == BINARY["mul"]:
                steps.append((number, None))
            elif instruction.op == BINARY["div"] and instruction.sources[0] == current:
                steps.append((1.0 / number, None))
            else:
                return None
        else:
            return None
        current = -1 - index
    return steps


def _single(constant: Tensor) -> float | None:
    data = constant.storage.data
    return float(data) if data is not None and data.numel() == 1 and float(data) != 0 else None


def _unscaled(
    lowering: Lowering, product: Draft, operands: tuple[Tensor, Tensor]
) -> tuple[list[Tensor], float, list[Draft]]:
    """Operands of a product before chains that do no more than scale them; by how much; those chains."""
    tensors: list[Tensor] = []
    scale, chains = 1.0, list[Draft]()
    for tensor in operands:
        chain = lowering.aliases.source_of(tensor, product)
        tensors.append(tensor)
        if not isinstance(chain, ElementwiseDraft) or chain.out.rank > 4 or len(chain.operands) > 3:
            continue
        source = chain.operands[0]
        steps = None if source is None else _read_chain(chain, source)
        if source is None or steps is None or any(mask is not None for _, mask in steps):
            continue
        for order in ((0, 1, 2, 3), (0, 1, 3, 2)):
            if four(chain.out).permute(order).lies_as(tensor):
                tensors[-1] = four(source).permute(order)
                chains.append(chain)
                for factor, _ in steps:
                    scale *= factor
                break
    return tensors, scale, chains
