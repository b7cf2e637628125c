"""Folds a batch norm into the weight and bias of the preceding convolution."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.constants import NewConstants, constant_inputs
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import Evaluator
from rushlight.ir.program import rename_output
from rushlight.passes.base import ProgramPass, eliminate_dead_code

_CONVOLUTION = torch.ops.aten.convolution.default
_BATCH_NORM = torch.ops.aten._native_batch_norm_legit_no_training.default


class FoldBatchNormPass(ProgramPass):
    """y = gamma * (conv(x, w) + b - mean) / sqrt(var + eps) + beta is a convolution with scaled weights.

    Before: c = aten.convolution(x, w, None, ...)
            y = aten._native_batch_norm_legit_no_training(c, ...)[0]
    Expected: y = aten.convolution(x, _folded_weight7, _folded_bias8, ...)
    """

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        constants = constant_inputs(program)
        evaluator: Evaluator | None = None
        added: NewConstants | None = None
        changed = False
        for node in list(program.graph.nodes):
            if aten_op(node.target) is not _BATCH_NORM:
                continue
            match = _match(node, constants)
            if match is None:
                continue
            evaluator = evaluator or Evaluator.of(program.graph_module)
            added = added or NewConstants(program)
            _fold(program, added, node, *match, constants, evaluator)
            changed = True
        if changed:
            eliminate_dead_code(program.graph)
        return changed


def _match(norm: Node, constants: dict[str, torch.Tensor]) -> tuple[Node, Node] | None:
    """Returns (convolution, getitem node of the first result of the norm); None if folding is impossible."""
    conv = norm.args[0]
    if not isinstance(conv, Node) or aten_op(conv.target) is not _CONVOLUTION or len(conv.users) != 1:
        return None
    items = list(norm.users)
    if len(items) != 1 or items[0].target is not operator.getitem or items[0].args[1] != 0:
        return None
    stored = [conv.args[1], *norm.args[1:5]]
    if conv.args[2] is not None:
        stored.append(conv.args[2])
    for source in stored:
        if source is not None and (not isinstance(source, Node) or source.name not in constants):
            return None
    weight = meta.get_tensor(conv.args[1]) if isinstance(conv.args[1], Node) else None
    if weight is None or not weight.dtype.is_floating_point:
        return None
    return conv, items[0]


def _fold(
    program: MethodProgram,
    added: NewConstants,
    norm: Node,
    conv: Node,
    item: Node,
    constants: dict[str, torch.Tensor],
    evaluator: Evaluator,
) -> None:
    """Folds a batch norm into the weight and bias of a convolution.

    Args:
        program: the program, which is changed.
        added: adds the new weight and bias to the program.
        norm: the batch norm.
        conv: the convolution whose result the batch norm reads.
        item: the node that selects the result of the batch norm. The convolution replaces it.
        constants: the constant tensors by placeholder name. The new tensors are added.
        evaluator: makes the fake tensors of the new placeholders.
    """

    def value(node: object) -> torch.Tensor | None:
        return constants[node.name].detach() if isinstance(node, Node) else None

    weight = value(conv.args[1])
    assert weight is not None
    mean, variance = value(norm.args[3]), value(norm.args[4])
    assert mean is not None and variance is not None
    gamma, beta, bias = value(norm.args[1]), value(norm.args[2]), value(conv.args[2])
    epsilon: Any = norm.args[6]
    transposed, groups = bool(conv.args[6]), int(conv.args[8])  # type: ignore[arg-type]
    scale = torch.rsqrt(variance + epsilon)
    if gamma is not None:
        scale = scale * gamma
    new_bias = (bias - mean if bias is not None else -mean) * scale
    if beta is not None:
        new_bias = new_bias + beta
    new_weight = _scaled(weight, scale, transposed, groups)
    parts = []
    for name, tensor in (("_folded_weight", new_weight), ("_folded_bias", new_bias.to(weight.dtype))):
        node = added.add(name, tensor, evaluator.like(tensor), conv)
        constants[node.name] = tensor
        parts.append(node)
    conv.args = (conv.args[0], parts[0], parts[1], *conv.args[3:])
    meta.join_debug_handles(conv, norm)
    item.replace_all_uses_with(conv)
    rename_output(program, item, conv)


def _scaled(weight: torch.Tensor, scale: torch.Tensor, transposed: bool, groups: int) -> torch.Tensor:
    """Scales each output channel of `weight`.

    The output channels are dim 0 of a normal weight [out, in / groups, ...]. In a transposed weight [in, out
    / groups, ...] they are dim 1, within each group.
    """
    scale = scale.to(weight.dtype)
    spatial = [1] * (weight.dim() - 2)
    if not transposed:
        return weight * scale.reshape(-1, 1, *spatial)
    grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    return (grouped * scale.reshape(groups, 1, -1, *spatial)).reshape(weight.shape)
