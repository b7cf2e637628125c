"""Which buffers of several methods are one tensor of the model, and so one state when the program runs."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from rushlight.ir.constants import changed_targets

# By method, the target of a buffer to the name of its state.
SharedState = Mapping[str, Mapping[str, str]]


def shared_state(programs: Mapping[str, ExportedProgram]) -> SharedState:
    """The buffers that more than one method reads or writes, and at least one writes.

    Two buffers are one if they are the same part of one storage, whatever their names.
    """
    places: dict[object, list[tuple[str, str]]] = {}
    written: set[tuple[str, str]] = set()
    for method, program in programs.items():
        written.update((method, target) for target in changed_targets(program.graph_signature))
        for spec in program.graph_signature.input_specs:
            if spec.kind is not InputKind.BUFFER or spec.target is None:
                continue
            tensor = program.state_dict.get(spec.target, program.constants.get(spec.target))
            if isinstance(tensor, torch.Tensor) and tensor.numel() > 0:
                places.setdefault(_place(tensor), []).append((method, spec.target))
    result: dict[str, dict[str, str]] = {method: {} for method in programs}
    for members in places.values():
        if len({method for method, _ in members}) > 1 and not written.isdisjoint(members):
            name = ":".join(members[0])
            for method, target in members:
                result[method][target] = name
    return result


def _place(tensor: torch.Tensor) -> object:
    return tensor.untyped_storage()._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
