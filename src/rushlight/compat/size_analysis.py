"""Computes the sizes of the tensors and delegates of an edge program, as ExecuTorch's size analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.delegate.lowered import LoweredBackendModule, get_lowered_submodules
from rushlight.ir import meta
from rushlight.ir.json_types import JsonObject

Deserializer = Callable[[bytes], JsonObject]


def generate_model_size_information(
    model: ExportedProgram,
    delegate_deserializers: Mapping[str, Deserializer] | None = None,
    flatbuffer: bytes | None = None,
) -> JsonObject:
    """Returns the sizes in bytes of the parameters, buffers, constants and delegates of a program.

    Args:
        model: an edge program.
        delegate_deserializers: functions by backend id that read more information from a payload.
        flatbuffer: the bytes of the program file. If it is None, the result has no size of the file.

    Returns:
        A JSON object: `tensor_data` and `delegate_blob_data`, sorted by decreasing size, and `overview` with
        the sums.
    """
    tensors = [_tensor(node, value) for node, value in _constants(model)]
    blobs = [
        _blob(node, module, delegate_deserializers or {})
        for _, module, node in get_lowered_submodules(model.graph_module)
    ]
    for rows in (tensors, blobs):
        rows.sort(key=lambda row: -int(row["num_bytes"]))
    tensor_bytes, blob_bytes = (sum(int(row["num_bytes"]) for row in rows) for rows in (tensors, blobs))
    overview = {"total_tensor_data_size": tensor_bytes, "total_delegate_blob_data_size": blob_bytes}
    if flatbuffer is not None:
        overview["serialization_metadata_size"] = len(flatbuffer) - tensor_bytes - blob_bytes
        overview["model_size"] = len(flatbuffer)
    return {"tensor_data": tensors, "delegate_blob_data": blobs, "overview": overview}


def _constants(model: ExportedProgram) -> list[tuple[Node, torch.Tensor]]:
    """Returns the placeholders of parameters, buffers and constants, and their values."""
    targets = {spec.arg.name: spec.target for spec in model.graph_signature.input_specs if spec.target}
    found = []
    for node in model.graph.nodes:
        name = targets.get(node.name) if node.op == "placeholder" else None
        value = model.state_dict.get(name, model.constants.get(name)) if name is not None else None
        if isinstance(value, torch.Tensor):
            found.append((node, value))
    return found


def _tensor(node: Node, value: torch.Tensor) -> JsonObject:
    stack = meta.module_stack_of(node)
    return {
        "name": node.name,
        "numel": value.numel(),
        "dtype": str(value.dtype).removeprefix("torch."),
        "element_size": value.element_size(),
        "shape": list(value.shape),
        "num_bytes": value.numel() * value.element_size(),
        "nn_module_stack": str(stack) if stack else None,
    }


def _blob(node: Node, module: LoweredBackendModule, deserializers: Mapping[str, Deserializer]) -> JsonObject:
    facts = {
        "name": node.name,
        "backend_id": module.backend_id,
        "num_bytes": len(module.processed_bytes),
    }
    read = deserializers.get(module.backend_id)
    return facts if read is None else facts | read(module.processed_bytes)
