"""Finds buffers of several methods that are the same tensor of the model. They share state at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from rushlight.ir.constants import changed_targets, written_in_place

# For each method: the name of the shared state of each buffer, by the target (qualified name) of the buffer.
SharedState = Mapping[str, Mapping[str, str]]


def shared_state(programs: Mapping[str, ExportedProgram], by_name: bool = False) -> SharedState:
    """Returns the buffers that several methods use and at least one method writes.

    Two buffers are the same if they are the same part of the same storage.

    Args:
        programs: the programs by method name.
        by_name: whether buffers of equal names are also the same.
    """
    places: dict[object, list[tuple[str, str]]] = {}
    written: set[tuple[str, str]] = set()
    for method, program in programs.items():
        changed = changed_targets(program.graph_signature)
        in_place = written_in_place(program.graph)
        for spec in program.graph_signature.input_specs:
            if spec.kind is not InputKind.BUFFER or spec.target is None:
                continue
            buffer = (method, spec.target)
            if spec.target in changed or spec.arg.name in in_place:
                written.add(buffer)
            tensor = program.state_dict.get(spec.target, program.constants.get(spec.target))
            if isinstance(tensor, torch.Tensor) and tensor.numel() > 0:
                places.setdefault(_place(tensor), []).append(buffer)
            if by_name:
                places.setdefault(spec.target, []).append(buffer)
    result: dict[str, dict[str, str]] = {method: {} for method in programs}
    for members in _joined(places.values()):
        if len({method for method, _ in members}) > 1 and not written.isdisjoint(members):
            name = ":".join(members[0])
            for method, target in members:
                result[method][target] = name
    return result


def _joined(groups: Iterable[list[tuple[str, str]]]) -> list[list[tuple[str, str]]]:
    """Joins the groups that have a common member."""
    group_of: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for group in groups:
        found = [group_of.get(member, [member]) for member in group]
        joined = list(dict.fromkeys(member for members in found for member in members))
        group_of.update(dict.fromkeys(joined, joined))
    return list({id(group): group for group in group_of.values()}.values())


def _place(tensor: torch.Tensor) -> object:
    return tensor.untyped_storage()._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
