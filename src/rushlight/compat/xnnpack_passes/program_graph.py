"""The base class of passes over graphs that read the parameters of the program."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.compat.quantized_nodes import tag_as_implicit_q_dq
from rushlight.compat.transforms.constants import get_param_tensor, is_param_node
from rushlight.compat.transforms.rewriting import in_dialect_of
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, insert_call

qd = torch.ops.quantized_decomposed


class ProgramGraphPass(GraphPass):
    """A pass over graphs that reads the parameters of the program, and leaves the program as it is.

    Args:
        exported_program: the program that stores the parameters.
    """

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self._exported_program = exported_program

    @property
    def exported_program(self) -> ExportedProgram:
        """The program that stores the parameters."""
        return self._exported_program

    def stored(self, node: object) -> torch.Tensor | None:
        """Returns the tensor of a parameter, buffer, constant or attribute; None for other nodes."""
        if not isinstance(node, Node) or not is_param_node(self._exported_program, node):
            return None
        return get_param_tensor(self._exported_program, node)


def insert_implicit_pair(evaluator: Evaluator, before: Node, source: Node, params: tuple[Any, ...]) -> Node:
    """Quantizes and dequantizes a value in front of a node; returns the node that dequantizes.

    Args:
        evaluator: computes the values of the new nodes.
        before: the node behind the new ones, whose source line they get.
        source: the value.
        params: scale, zero point, least and greatest integer, dtype.
    """
    for op in (qd.quantize_per_tensor.default, qd.dequantize_per_tensor.default):
        source = insert_call(evaluator, before, in_dialect_of(before, op), (source, *params))
        tag_as_implicit_q_dq(source)
    return source
