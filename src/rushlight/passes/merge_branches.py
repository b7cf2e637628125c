"""Merges convolutions of the same input into one convolution if their results are added."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.constants import NewConstants, constant_inputs
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import Evaluator
from rushlight.ir.program import rename_output
from rushlight.passes.base import ProgramPass, eliminate_dead_code, insert_call
from rushlight.passes.program_pass import ExportedProgramPassResult

_ADD = torch.ops.aten.add.Tensor
_CONVOLUTION = torch.ops.aten.convolution.default
_BATCH_NORM = torch.ops.aten._native_batch_norm_legit_no_training.default


class MergeBranchesPass(ProgramPass):
    """conv(x, v) + conv(x, w) = conv(x, v + w); the smaller kernel is padded with zeros.

    A batch norm after a convolution becomes part of the convolution. A batch norm of `x` itself is treated as
    a 1 x 1 convolution. RepVGG and MobileOne, for example, are trained with such branches.

    Source: Ding et al., RepVGG: Making VGG-style ConvNets Great Again, 2021 (structural re-parameterization).

    Before: a = aten.convolution(x, weight of 3 x 3, ...); b = aten.convolution(x, weight of 1 x 1, ...)
            y = aten.add(a, b)
    Expected: y = aten.convolution(x, _merged_weight7, _merged_bias8, ...)
    """

    @override
    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Returns a rewritten copy, or the program itself if nothing can be merged."""
        constants = constant_inputs(exported_program)
        if not any(_groups(_terms(root)[0], constants) for root in _roots(exported_program)):
            return ExportedProgramPassResult(exported_program, False)
        return super().call(exported_program)

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        constants = constant_inputs(program)
        evaluator: Evaluator | None = None
        added: NewConstants | None = None
        for root in list(_roots(program)):
            terms, adds = _terms(root)
            groups = _groups(terms, constants)
            if not groups:
                continue
            evaluator = evaluator or Evaluator.of(program.graph_module)
            added = added or NewConstants(program)
            _replace(program, root, terms, adds, groups, constants, evaluator, added)
        if added is not None:
            eliminate_dead_code(program.graph)
        return added is not None


@dataclass(frozen=True)
class _Branch:
    """A convolution, a batch norm, or a batch norm of a convolution."""

    term: Node
    """The node that is added."""
    source: Node
    conv: Node | None
    """The convolution; None for a batch norm of the input, which scales each pixel."""
    norm: Node | None
    kernel: tuple[int, ...]

    def numbers(self, index: int) -> tuple[int, ...]:
        """Returns stride, padding or dilation, the argument `index`, with one number for each spatial dim."""
        assert self.conv is not None
        given: Any = self.conv.args[index]
        return tuple(given) if len(given) == len(self.kernel) else tuple(given) * len(self.kernel)


def _roots(program: ExportedProgram) -> list[Node]:
    """Returns the sums that are not summands of other sums."""
    return [
        node
        for node in program.graph.nodes
        if _is_sum(node) and not (len(node.users) == 1 and _is_sum(next(iter(node.users))))
    ]


def _is_sum(node: Node) -> bool:
    return (
        node.op == "call_function"
        and aten_op(node.target) is _ADD
        and bool(node.kwargs.get("alpha", 1) == 1)
        and all(isinstance(term, Node) and _has_same_shape(term, node) for term in node.args)
    )


def _has_same_shape(term: Node, node: Node) -> bool:
    a, b = meta.get_tensor(term), meta.get_tensor(node)
    if a is None or b is None or a.dtype != b.dtype or a.dim() != b.dim() or not a.is_floating_point():
        return False
    return all(bool(statically_known_true(x == y)) for x, y in zip(a.shape, b.shape, strict=True))


def _terms(root: Node) -> tuple[list[Node], list[Node]]:
    """Returns the summands of a nested sum in order, and its addition nodes."""
    terms: list[Node] = []
    adds: list[Node] = []
    pending = [root]
    while pending:
        node = pending.pop()
        if node is root or (_is_sum(node) and len(node.users) == 1):
            adds.append(node)
            pending.extend(reversed(node.all_input_nodes if len(node.all_input_nodes) == 2 else ()))
            if len(node.all_input_nodes) < 2:  # x + x
                return [], []
        else:
            terms.append(node)
    return terms, adds


def _groups(terms: Sequence[Node], constants: dict[str, torch.Tensor]) -> list[list[_Branch]]:
    """Returns groups of branches that can be merged. The first branch of a group has the largest kernel."""
    branches = [found for term in terms if (found := _branch(term, constants)) is not None]
    branches.sort(key=lambda b: (b.conv is None, -torch.Size(b.kernel).numel()))
    groups: list[list[_Branch]] = []
    for branch in branches:
        group = next((g for g in groups if _fits(branch, g[0], constants)), None)
        if group is not None:
            group.append(branch)
        elif branch.conv is not None:
            groups.append([branch])
    return [group for group in groups if len(group) > 1]


def _branch(term: Node, constants: dict[str, torch.Tensor]) -> _Branch | None:
    if len(term.users) != 1:
        return None
    norm: Node | None = None
    source: Any = term
    if term.target is operator.getitem:
        producer: Any = term.args[0]
        norm = producer
        assert isinstance(norm, Node)
        if term.args[1] != 0 or aten_op(norm.target) is not _BATCH_NORM or len(norm.users) != 1:
            return None
        if not all(value is None or _is_constant(value, constants) for value in norm.args[1:5]):
            return None
        source = norm.args[0]
        if len(source.users) != 1 or aten_op(source.target) is not _CONVOLUTION:
            return _Branch(term, source, None, norm, ())
    if aten_op(source.target) is not _CONVOLUTION:
        return None
    weight = source.args[1]
    bias_is_known = source.args[2] is None or _is_constant(source.args[2], constants)
    if source.args[6] or not _is_constant(weight, constants) or not bias_is_known:
        return None
    kernel = tuple(constants[weight.name].shape[2:])
    return _Branch(term, source.args[0], source, norm, kernel)


def _is_constant(value: object, constants: dict[str, torch.Tensor]) -> bool:
    return isinstance(value, Node) and value.name in constants and constants[value.name].is_floating_point()


def _fits(branch: _Branch, largest: _Branch, constants: dict[str, torch.Tensor]) -> bool:
    """Returns whether `branch` can be merged into the convolution of `largest`."""
    if branch.source is not largest.source:
        return False
    assert largest.conv is not None
    if branch.conv is None:
        # The input has the shape of the sum; with a stride of 1, positions and channels therefore match.
        return set(largest.numbers(3)) == {1} and _offsets(None, largest) is not None
    weight, other = (_weight(conv, constants) for conv in (branch.conv, largest.conv))
    return (
        weight.shape[:2] == other.shape[:2]
        and weight.dtype == other.dtype
        and branch.conv.args[8] == largest.conv.args[8]
        and branch.numbers(3) == largest.numbers(3)
        and _offsets(branch, largest) is not None
    )


def _weight(conv: Node, constants: dict[str, torch.Tensor]) -> torch.Tensor:
    stored = conv.args[1]
    assert isinstance(stored, Node)
    return constants[stored.name]


def _offsets(branch: _Branch | None, largest: _Branch) -> tuple[int, ...] | None:
    """Returns the offset of the kernel of `branch` within the kernel of `largest`, for each spatial dim.

    A branch of None is a 1 x 1 kernel without padding. The result is None if the kernel does not fit.
    """
    ones = (1,) * len(largest.kernel)
    kernel, padding, dilation = ones, (0,) * len(ones), ones
    if branch is not None:
        kernel, padding, dilation = branch.kernel, branch.numbers(4), branch.numbers(5)
    offsets = []
    for k, p, d, most, pad, step in zip(
        kernel, padding, dilation, largest.kernel, largest.numbers(4), largest.numbers(5), strict=True
    ):
        offset, rest = divmod(pad - p, step)
        if rest != 0 or not 0 <= offset <= most - k or (k > 1 and d != step):
            return None
        offsets.append(offset)
    return tuple(offsets)


def _replace(
    program: MethodProgram,
    root: Node,
    terms: Sequence[Node],
    adds: Sequence[Node],
    groups: Sequence[Sequence[_Branch]],
    constants: dict[str, torch.Tensor],
    evaluator: Evaluator,
    added: NewConstants,
) -> None:
    """Replaces the first summand of each group by the merged convolution, and adds the other summands."""
    merged: dict[Node, Node] = {}
    for group in groups:
        conv = _merge(root, group, constants, evaluator, added)
        for branch in group:
            merged[branch.term] = conv
    left: list[Node] = []
    for term in terms:
        summand = merged.get(term, term)
        if term not in merged or summand not in left:  # another summand may occur several times
            left.append(summand)
    total = left[0]
    for term in left[1:]:
        total = insert_call(evaluator, root, root.target, (total, term))  # type: ignore[arg-type]
    for add in adds:
        meta.join_debug_handles(total, add)
    root.replace_all_uses_with(total)
    rename_output(program, root, total)


def _merge(
    root: Node,
    group: Sequence[_Branch],
    constants: dict[str, torch.Tensor],
    evaluator: Evaluator,
    added: NewConstants,
) -> Node:
    largest = group[0]
    conv = largest.conv
    assert conv is not None
    stored = _weight(conv, constants)
    weight = torch.zeros(stored.shape, dtype=torch.float64)
    bias = torch.zeros(weight.shape[0], dtype=torch.float64)
    for branch in group:
        part, shift = _values(branch, weight.shape, constants)
        offsets = _offsets(branch if branch.conv is not None else None, largest)
        assert offsets is not None
        place = weight
        for dim, (offset, size) in enumerate(zip(offsets, part.shape[2:], strict=True), 2):
            place = place.narrow(dim, offset, size)
        place += part
        bias += shift
    parts = []
    for name, value in (("_merged_weight", weight), ("_merged_bias", bias)):
        tensor = value.to(stored.dtype)
        node = added.add(name, tensor, evaluator.like(tensor), conv)
        constants[node.name] = tensor
        parts.append(node)
    result = insert_call(evaluator, root, conv.target, (largest.source, *parts, *conv.args[3:]))  # type: ignore[arg-type]
    for branch in group:
        for part_of in (branch.conv, branch.norm):
            if part_of is not None:
                meta.join_debug_handles(result, part_of)
    return result


def _values(
    branch: _Branch, shape: torch.Size, constants: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the weight and bias of a branch in float64.

    Args:
        branch: the branch.
        shape: the shape of the merged weight, [output channels, input channels of a group, ...].
        constants: the constant tensors by placeholder name.
    """

    def value(node: object) -> torch.Tensor | None:
        return constants[node.name].detach().double() if isinstance(node, Node) else None

    outputs, inputs = shape[:2]
    if branch.conv is None:
        # Output channel o reads input channel o, which has the index o % inputs in its group.
        weight = torch.zeros(outputs, inputs, *(1,) * (len(shape) - 2), dtype=torch.float64)
        every = torch.arange(outputs)
        weight[every, every % inputs] = 1
        bias = None
    else:
        stored = value(branch.conv.args[1])
        assert stored is not None
        weight, bias = stored, value(branch.conv.args[2])
    shift = torch.zeros(outputs, dtype=torch.float64) if bias is None else bias
    if branch.norm is not None:
        gamma, beta, mean, variance = (value(node) for node in branch.norm.args[1:5])
        assert mean is not None and variance is not None
        scale = torch.rsqrt(variance + float(branch.norm.args[6]))  # type: ignore[arg-type]
        if gamma is not None:
            scale = scale * gamma
        weight = weight * scale.view(-1, *(1,) * (weight.dim() - 1))
        shift = (shift - mean) * scale
        if beta is not None:
            shift = shift + beta
    return weight, shift
