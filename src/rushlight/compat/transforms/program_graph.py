"""The base class of graph passes that read the parameters of a program."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.compat.transforms.constants import get_param_tensor, is_param_node
from rushlight.passes.base import GraphPass


class ProgramGraphPass(GraphPass):
    """A graph pass that reads the parameters of the program. The program is not changed.

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
