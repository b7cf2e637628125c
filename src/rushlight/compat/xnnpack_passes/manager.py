"""The pass manager of XNNPACK and its default passes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from torch.export import ExportedProgram

from rushlight.compat.graph_passes import ConstPropPass, DimOrderOpsRevertPass
from rushlight.compat.transforms.batch_norm import FuseBatchNormWithConvPass
from rushlight.compat.transforms.items import RemoveGetItemPass
from rushlight.compat.transforms.linear import AddmmToLinearPass
from rushlight.compat.xnnpack_passes.activations import FuseActivationPass
from rushlight.compat.xnnpack_passes.batch_norm import DecomposeBatchNormPass
from rushlight.compat.xnnpack_passes.clones import XNNPACKRemoveCloneOpsPass
from rushlight.compat.xnnpack_passes.compositions import ConvertToSDPAPass, ConvertToUpsampleBilinear2d
from rushlight.compat.xnnpack_passes.concatenations import DecomposeConcatenatePass
from rushlight.compat.xnnpack_passes.convolutions import Conv1dUnsqueezePass
from rushlight.compat.xnnpack_passes.copies import RemoveRedundantCopyPass
from rushlight.compat.xnnpack_passes.custom_metadata import PropagateCustomMetaPass
from rushlight.compat.xnnpack_passes.layouts import ChannelsLastTaggedReshapePass
from rushlight.compat.xnnpack_passes.padding import InsertPadQDQPass
from rushlight.compat.xnnpack_passes.prelu import PReLUReshapePass
from rushlight.passes.base import PassBase
from rushlight.passes.export_pass import ExportPass
from rushlight.passes.program_pass import ExportedProgramPassBase
from rushlight.passes.transform import transform_program

DEFAULT_PASSES: tuple[type[PassBase], ...] = (
    XNNPACKRemoveCloneOpsPass,
    DimOrderOpsRevertPass,
    ConvertToUpsampleBilinear2d,
    AddmmToLinearPass,
    PropagateCustomMetaPass,
    ConvertToSDPAPass,
    ConstPropPass,
    FuseBatchNormWithConvPass,
    DecomposeBatchNormPass,
    FuseActivationPass,
    DecomposeConcatenatePass,
    RemoveGetItemPass,
    InsertPadQDQPass,
    Conv1dUnsqueezePass,
    PReLUReshapePass,
    ChannelsLastTaggedReshapePass,
    RemoveRedundantCopyPass,
)
"""The passes that prepare an edge program for its conversion to an XNNPACK subgraph, in order."""


class XNNPACKPass(ExportPass):
    """The base class of passes that read the parameters of a program.

    Args:
        exported_program: the program.
    """

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self._exported_program = exported_program

    @property
    def exported_program(self) -> ExportedProgram:
        """The program."""
        return self._exported_program


class XNNPACKPassManager:
    """Runs passes on an edge program in order.

    Args:
        exported_program: the program.
        passes: the classes of the passes. A class with a parameter `exported_program` gets the result of the
            previous pass. None or an empty list means DEFAULT_PASSES.
    """

    def __init__(
        self, exported_program: ExportedProgram, passes: Sequence[Callable[..., Any]] | None = None
    ) -> None:
        self._exported_program = exported_program
        self.passes: list[Callable[..., Any]] = list(passes or DEFAULT_PASSES)

    @property
    def exported_program(self) -> ExportedProgram:
        """The program before the passes."""
        return self._exported_program

    def transform(self) -> ExportedProgram:
        """Returns the program after the passes.

        Raises:
            RuntimeError: an item is not a class of passes.
        """
        program = self._exported_program
        for make in self.passes:
            if not isinstance(make, type) or not issubclass(make, (PassBase, ExportedProgramPassBase)):
                raise RuntimeError(f"passes must contain classes of passes, not {make!r}")
            takes_program = "exported_program" in inspect.signature(make).parameters
            construct: Callable[..., Any] = make
            instance = construct(program) if takes_program else construct()
            program = transform_program(program, [instance])
        return program
