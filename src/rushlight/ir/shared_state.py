"""Finds buffers of several methods that are the same tensor of the model. They share state at run time."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from rushlight.ir.constants import changed_targets

# For each method: the name of the shared state of each buffer, by the target (qualified name) of the buffer.
SharedState = Mapping[str, Mapping[str, str]]


def shared_state(programs: Mapping[str, ExportedProgram]) -> SharedState:
    """Returns the buffers that several methods use and at least one method writes.

    Two buffers are the same if they are the same part of the same storage. Their names are ignored.
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
