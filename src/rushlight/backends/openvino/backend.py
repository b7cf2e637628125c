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
    """Payloads in OpenVINO's intermediate representation, which it compiles when a method is loaded: one file
    runs with every release and instruction set that reads it. See payload.py."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compiles one part to OpenVINO's intermediate representation.

        Args:
            edge_program: the part.
            compile_specs: the device and properties of OpenVINO.

        Returns:
            The payload.
        """
        model = convert(edge_program.graph, constant_inputs(edge_program))
        return PreprocessResult(write_payload(*serialize(model)))
