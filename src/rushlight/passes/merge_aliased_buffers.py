"""Replaces stored tensors that share memory by views of one buffer, if the program writes to this memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec
from torch.fx import Node
from typing_extensions import override

from rushlight.ir.constants import NewConstants, changed_targets, stored_tensor, written_in_place
from rushlight.ir.errors import CompileError
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import ProgramPass, insert_call

aten = torch.ops.aten


@dataclass(frozen=True)
class _Stored:
    """A stored tensor that a graph reads or writes; `node` is its placeholder."""

    spec: InputSpec
    node: Node
    tensor: torch.Tensor
    is_written: bool

    @property
    def span(self) -> tuple[int, int]:
        """The first byte in the storage, and the end."""
        tensor = self.tensor
        last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
        first = int(tensor.storage_offset())
        return first * tensor.itemsize, (first + last + 1) * tensor.itemsize

    @property
    def place(self) -> object:
        return self.tensor.storage_offset(), tuple(self.tensor.shape), self.tensor.stride()


def merge_aliased_buffers(programs: Mapping[str, ExportedProgram]) -> dict[str, ExportedProgram]:
    """Runs MergeAliasedBuffersPass on all methods of a program, if it has something to do.

    Args:
        programs: programs of torch.export by method name. They are not changed.

    Returns:
        The programs by method name.

    Raises:
        CompileError: tensors of different dtypes share memory that a method writes.
    """
    bases = _bases([item for program in programs.values() for item in _stored(program)])
    if not bases:
        return dict(programs)
    merge = MergeAliasedBuffersPass(bases)
    return {name: merge(program).exported_program for name, program in programs.items()}


class MergeAliasedBuffersPass(ProgramPass):
    """Replaces stored tensors that are parts of `bases` by views of these buffers.

    Functionalization then writes the views back to the buffers, so that a write to one tensor also changes
    the others, as in eager PyTorch.

    Before: inputs a = base[:4], b = base[2:6]; add_(a, x); return b * 1
    Expected: input base; add_(base[0:4], x); return base[2:6] * 1

    Args:
        bases: contiguous tensors, one for each group of tensors that share memory.
    """

    def __init__(self, bases: Iterable[torch.Tensor]) -> None:
        self._bases = list(bases)

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        stored = _stored(program)
        changed = [_merge(program, base, _parts(stored, base)) for base in self._bases]
        return any(changed)


def _stored(program: ExportedProgram) -> list[_Stored]:
    """Returns the stored tensors that the graph uses. A functional program has none: it has no views left."""
    if changed_targets(program.graph_signature):
        return []
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    written = written_in_place(program.graph)
    found = []
    for spec in program.graph_signature.input_specs:
        tensor, node = stored_tensor(program, spec), nodes[spec.arg.name]
        is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
        if (
            tensor is not None
            and is_plain
            and tensor.layout == torch.strided
            and tensor.numel()
            and node.users
        ):
            found.append(_Stored(spec, node, tensor, node.name in written))
    return found


def _bases(stored: list[_Stored]) -> list[torch.Tensor]:
    """Returns a contiguous tensor over each group of tensors that share written memory."""
    storages: dict[int, list[_Stored]] = {}
    for item in stored:
        storages.setdefault(item.tensor.untyped_storage()._cdata, []).append(item)
    bases: list[torch.Tensor] = []
    for items in storages.values():
        groups: list[list[_Stored]] = []
        end = 0
        for item in sorted(items, key=lambda item: item.span):
            if not groups or item.span[0] >= end:
                groups.append([])
            groups[-1].append(item)
            end = max(end, item.span[1])
        bases += [_base(group) for group in groups if _needs_merge(group)]
    return bases


def _needs_merge(group: list[_Stored]) -> bool:
    if not any(item.is_written for item in group):
        return False
    in_one_graph = Counter(item.node.graph for item in group)
    return len({item.place for item in group}) > 1 or max(in_one_graph.values()) > 1


def _base(group: list[_Stored]) -> torch.Tensor:
    """Returns the tensor that contains all others, or else a vector over their memory."""
    if len({item.tensor.dtype for item in group}) > 1:
        texts = sorted({f"{item.spec.target} ({item.tensor.dtype})" for item in group})
        raise CompileError(
            "the program writes to memory that stored tensors of different dtypes share: "
            f"{', '.join(texts)}; store one of them, and compute the others from it in forward"
        )
    first, end = group[0].span[0], max(item.span[1] for item in group)
    for item in sorted(group, key=lambda item: (item.spec.kind is not InputKind.BUFFER, not item.is_written)):
        if item.span == (first, end) and item.tensor.is_contiguous():
            return item.tensor
    tensor = group[0].tensor.detach()
    size = tensor.itemsize
    return torch.as_strided(tensor, ((end - first) // size,), (1,), first // size)


def _parts(stored: list[_Stored], base: torch.Tensor) -> list[_Stored]:
    """Returns the tensors in the memory of a base. The base itself is the first one, if it is an input."""
    first = base.storage_offset() * base.itemsize
    end = first + base.nbytes
    parts = [
        item
        for item in stored
        if item.tensor.untyped_storage()._cdata == base.untyped_storage()._cdata
        and first <= item.span[0] < end
    ]
    return sorted(
        parts, key=lambda item: (not _is_same(item.tensor, base), item.spec.kind is not InputKind.BUFFER)
    )


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return (a.storage_offset(), a.shape, a.stride()) == (b.storage_offset(), b.shape, b.stride())


def _merge(program: MethodProgram, base: torch.Tensor, parts: list[_Stored]) -> bool:
    if not parts:
        return False
    evaluator = Evaluator.of(program.graph)
    if _is_same(parts[0].tensor, base):
        source, rest = parts[0].node, parts[1:]
    else:
        name = f"{parts[0].spec.target}_storage".replace(".", "_")
        value = evaluator.like(base)
        source, rest = NewConstants(program).add(name, base, value, parts[0].node, 0), parts
    first = next(node for node in program.graph.nodes if node.op != "placeholder")
    specs = program.graph_signature.input_specs
    for item in rest:
        item.node.replace_all_uses_with(_view(evaluator, first, source, base, item.tensor))
        program.graph.erase_node(item.node)
        specs[:] = [spec for spec in specs if spec.arg.name != item.node.name]
        for table in (program.state_dict, program.constants):
            table.pop(str(item.spec.target), None)
    return bool(rest)


def _view(evaluator: Evaluator, first: Node, source: Node, base: torch.Tensor, part: torch.Tensor) -> Node:
    """Inserts the views that compute `part` from its base, in front of the node `first`."""
    if _is_same(part, base):
        return source
    offset = part.storage_offset() - base.storage_offset()
    strides = part.stride()
    order = sorted(range(part.dim()), key=lambda dim: (-strides[dim], part.shape[dim] != 1))
    if not part.permute(order).is_contiguous():
        args = (source, list(part.shape), list(part.stride()), offset)
        return insert_call(evaluator, first, aten.as_strided.default, args)
    view = source
    if base.dim() != 1:
        view = insert_call(evaluator, first, aten.view.default, (view, [-1]))
    if part.numel() != base.numel():
        view = insert_call(evaluator, first, aten.slice.Tensor, (view, 0, offset, offset + part.numel()))
    if part.dim() != 1:
        sizes = [part.shape[dim] for dim in order]
        view = insert_call(evaluator, first, aten.view.default, (view, sizes))
    if order != sorted(order):
        inverse = sorted(range(len(order)), key=order.__getitem__)
        view = insert_call(evaluator, first, aten.permute.default, (view, inverse))
    return view
