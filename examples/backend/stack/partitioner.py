"""Which nodes go to the backend."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.delegate.grouping import form_parts
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from stack.backend import OPERATIONS, StackBackend


class StackPartitioner(Partitioner):
    """Takes add, sub and mul whose operands and result are float32 of one static shape."""

    def __init__(self) -> None:
        super().__init__()
        self.spec_of_parts = DelegationSpec(StackBackend.__name__, [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = {}
        for index, part in enumerate(form_parts(exported_program.graph, _is_supported)):
            tags[f"stack_{index}"] = self.spec_of_parts
            for node in part:
                node.meta["delegation_tag"] = f"stack_{index}"
        return PartitionResult(exported_program, tags)


def _is_supported(node: Node) -> bool:
    if node.op != "call_function" or str(getattr(node.target, "_op", "")) not in OPERATIONS:
        return False
    values = [node.meta["val"], *(argument.meta["val"] for argument in node.args)]
    return node.kwargs.get("alpha", 1) == 1 and all(
        isinstance(value, torch.Tensor)
        and value.dtype == torch.float32
        and value.shape == values[0].shape
        and all(isinstance(size, int) for size in value.shape)
        for value in values
    )
