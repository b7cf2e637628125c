"""Removes clones, except clones between an input and an output."""

from __future__ import annotations

from rushlight.compat.transforms.clones import RemoveCloneOpsPass


class XNNPACKRemoveCloneOpsPass(RemoveCloneOpsPass):
    """Removes clones, except clones that copy an input of the graph to an output."""

    def __init__(self) -> None:
        super().__init__(preserve_input_output_copies=True)
