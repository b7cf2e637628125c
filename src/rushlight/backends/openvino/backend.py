"""The ahead-of-time part of OpenvinoBackend."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from rushlight.backends.openvino.convert import convert, serialize
from rushlight.backends.openvino.payload import write_payload
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.ir.constants import constant_inputs


@final
class OpenvinoBackend(BackendDetails):
    """Converts partitions to OpenVINO's intermediate representation (IR).

    OpenVINO compiles the IR when a method is loaded. Therefore one file runs on all instruction sets, and
    with all releases of OpenVINO that can read the IR. payload.py describes the payload.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Converts one partition to OpenVINO's intermediate representation.

        Args:
            edge_program: the partition.
            compile_specs: the device and properties of OpenVINO. Only the runtime uses them.

        Returns:
            The payload.

        Raises:
            CompileError: OpenVINO is not installed or cannot convert the partition.
        """
        model = convert(edge_program.graph, constant_inputs(edge_program))
        return PreprocessResult(write_payload(*serialize(model)))
