"""Encodes programs as FlatBuffers tables without segments. The tables contain constants and payloads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rushlight.format.buffers import byte_view
from rushlight.format.codecs import flat_tensor_binding, program_binding
from rushlight.format.decode import decode
from rushlight.format.encode import encode
from rushlight.format.flat_tensor import FlatTensor
from rushlight.format.program import CompileSpec, ExecutionPlan, Program

_ALIGNMENT = 16  # The alignment in bytes of constants and payloads in the schema.


@dataclass
class FlatbufferResult:
    """Encoded tables.

    Attributes:
        data: the bytes of the tables.
        max_alignment: the largest alignment in bytes that their content needs.
    """

    data: bytes
    max_alignment: int


def program_to_flatbuffer(
    program: Program, *, constant_tensor_alignment: int | None = None, delegate_alignment: int | None = None
) -> FlatbufferResult:
    """Encodes a program.

    Args:
        program: the program.
        constant_tensor_alignment: the alignment of constants in bytes, a power of two; None means 16.
        delegate_alignment: the alignment of payloads in bytes, a power of two; None means 16.

    Raises:
        ValueError: an alignment is not a power of two.
        EncodeError: a value does not fit into its field.
    """
    alignment = _ALIGNMENT
    for name, value in (
        ("constant_tensor_alignment", constant_tensor_alignment),
        ("delegate_alignment", delegate_alignment),
    ):
        if value is not None and (value < 1 or value & (value - 1)):
            raise ValueError(f"{name} is {value}; it must be a power of two")
        alignment = max(alignment, value or 1)
    tables = encode(program_binding(), with_own_options(program), align=alignment)
    return FlatbufferResult(bytes(tables), alignment)


def with_own_options(program: Program) -> Program:
    """Converts the compile specs of delegates from the backends' class to that of the file format."""

    def plan(given: ExecutionPlan) -> ExecutionPlan:
        delegates = [
            replace(delegate, compile_specs=[CompileSpec(s.key, s.value) for s in delegate.compile_specs])
            for delegate in given.delegates
        ]
        return replace(given, delegates=delegates)

    return replace(program, execution_plan=[plan(given) for given in program.execution_plan])


def flatbuffer_to_program(program_data: bytes) -> Program:
    """Decodes the tables of a program.

    Raises:
        MalformedError: the bytes are not the tables of a program.
    """
    program: Program = decode(program_binding(), byte_view(program_data))
    return program


def deserialize_to_flat_tensor(flatbuffer: bytes) -> FlatTensor:
    """Decodes the tables of a data file (.ptd), without the data of its tensors.

    Raises:
        MalformedError: the bytes are not the tables of a data file.
    """
    tables: FlatTensor = decode(flat_tensor_binding(), byte_view(flatbuffer))
    return tables
