"""The tables of a `.pte` program as dataclasses, field by field as in `schema/program.fbs`.

The meaning of each field is told there. Names and constructor signatures are those of
`executorch.exir.schema`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias


class ScalarType(IntEnum):
    """Element types; the numbers are those of c10::ScalarType."""

    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX32 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    QUINT4x2 = 16
    QUINT2x4 = 17
    BITS16 = 22
    FLOAT8E5M2 = 23
    FLOAT8E4M3FN = 24
    FLOAT8E5M2FNUZ = 25
    FLOAT8E4M3FNUZ = 26
    UINT16 = 27
    UINT32 = 28
    UINT64 = 29


class TensorShapeDynamism(IntEnum):
    """Whether a tensor's sizes are exact, upper bounds, or only a rank."""

    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    """Whether a constant lies in the program file or in a data file beside it."""

    SEGMENT = 0
    EXTERNAL = 1


class DeviceType(IntEnum):
    """Device on which a tensor or planned buffer lives."""

    CPU = 0
    CUDA = 1


class DataLocation(IntEnum):
    """Whether delegate data lies among the tables or in a segment."""

    INLINE = 0
    SEGMENT = 1


@dataclass
class AllocationDetails:
    """Place of a tensor in a planned arena. The low and high halves of the offset have 32 bits each."""

    memory_id: int
    memory_offset_low: int
    memory_offset_high: int

    @property
    def memory_offset(self) -> int:
        """Bytes from the start of the arena."""
        return self.memory_offset_high << 32 | self.memory_offset_low


@dataclass
class ExtraTensorInfo:
    """What few tensors have: a name for external data, an initial value's place, a device."""

    mutable_data_segments_idx: int = 0
    fully_qualified_name: str | None = None
    location: TensorDataLocation = TensorDataLocation.SEGMENT
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass
class Tensor:
    """A tensor value. `schema/program.fbs` tells which fields make it a constant, planned or given."""

    scalar_type: ScalarType
    storage_offset: int
    sizes: list[int]
    dim_order: list[int]
    requires_grad: bool
    layout: int
    data_buffer_idx: int
    allocation_info: AllocationDetails | None
    shape_dynamism: TensorShapeDynamism
    extra_tensor_info: ExtraTensorInfo | None = None


@dataclass
class Null:
    """None."""


@dataclass
class Int:
    """An integer of 64 bits."""

    int_val: int


@dataclass
class Bool:
    """A truth value."""

    bool_val: bool


@dataclass
class Double:
    """A float of 64 bits. The strings "inf" and "-inf" are taken for the infinities."""

    double_val: float

    def __post_init__(self) -> None:
        given: object = self.double_val
        if isinstance(given, str):
            self.double_val = float(given)


@dataclass
class String:
    """Text."""

    string_val: str


@dataclass
class ContainerMetadata:
    """Pytree specs of a method's inputs and outputs, as JSON text."""

    encoded_inp_str: str
    encoded_out_str: str


@dataclass
class IntList:
    """Value indices of integers."""

    items: list[int]


@dataclass
class DoubleList:
    """Floats of 64 bits."""

    items: list[float]


@dataclass
class BoolList:
    """Truth values."""

    items: list[bool]


@dataclass
class TensorList:
    """Value indices of tensors."""

    items: list[int]


@dataclass
class OptionalTensorList:
    """Value indices of tensors, -1 for none."""

    items: list[int]


KernelTypes: TypeAlias = (
    Null
    | Int
    | Bool
    | Double
    | Tensor
    | String
    | IntList
    | DoubleList
    | BoolList
    | TensorList
    | OptionalTensorList
)


@dataclass
class EValue:
    """A value of a method."""

    val: KernelTypes


@dataclass
class Buffer:
    """Constant data among the tables."""

    storage: bytes


@dataclass
class BackendDelegateInlineData:
    """Delegate data among the tables."""

    data: bytes


@dataclass
class KernelCall:
    """A call of an operator; arguments and results are value indices."""

    op_index: int
    args: list[int]


@dataclass
class DelegateCall:
    """A call of a delegate; inputs and outputs are value indices."""

    delegate_index: int
    args: list[int]


@dataclass
class MoveCall:
    """Assigns one value to another."""

    move_from: int
    move_to: int


@dataclass
class JumpFalseCall:
    """Continues at another instruction if a boolean value is false."""

    cond_value_index: int
    destination_instruction: int


@dataclass
class FreeCall:
    """Frees the memory of an unbounded tensor."""

    value_index: int


InstructionArguments: TypeAlias = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall


@dataclass
class Instruction:
    """One step of a chain."""

    instr_args: InstructionArguments


@dataclass
class Frame:
    """A line of the user's Python."""

    filename: str
    lineno: int
    name: str
    context: str


@dataclass
class FrameList:
    """A stack of frames, outermost first."""

    items: list[Frame]


@dataclass
class BackendDelegateDataReference:
    """Index of a delegate's data among the inline data or the segments, by location."""

    location: DataLocation
    index: int


@dataclass
class CompileSpec:
    """A setting handed to a backend."""

    key: str
    value: bytes


@dataclass
class BackendDelegate:
    """A part of a method that a backend runs."""

    id: str
    processed: BackendDelegateDataReference
    compile_specs: list[CompileSpec]


@dataclass
class Chain:
    """Instructions that run in order. `stacktrace`, if there, has one entry per instruction."""

    inputs: list[int]
    outputs: list[int]
    instructions: list[Instruction]
    stacktrace: list[FrameList] | None


@dataclass
class Operator:
    """A kernel's name, such as "aten::add" and "out"."""

    name: str
    overload: str


@dataclass
class NonConstBufferDevice:
    """Device of a planned buffer; buffers that are not mentioned are on the CPU."""

    buffer_idx: int = 0
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass
class ExecutionPlan:
    """One method. `non_const_buffer_sizes` are bytes by memory id, entry 0 unused."""

    name: str
    container_meta_type: ContainerMetadata
    values: list[EValue]
    inputs: list[int]
    outputs: list[int]
    chains: list[Chain]
    operators: list[Operator]
    delegates: list[BackendDelegate]
    non_const_buffer_sizes: list[int]
    non_const_buffer_device: list[NonConstBufferDevice] | None = None


@dataclass
class DataSegment:
    """Bytes after the tables; `offset` counts from the segment base in the file header."""

    offset: int
    size: int


@dataclass
class SubsegmentOffsets:
    """Byte offsets into one segment."""

    segment_index: int
    offsets: list[int]


@dataclass
class NamedData:
    """A segment known by name."""

    key: str
    segment_index: int


@dataclass
class Program:
    """The root of a `.pte` file."""

    version: int
    execution_plan: list[ExecutionPlan]
    constant_buffer: list[Buffer]
    backend_delegate_data: list[BackendDelegateInlineData]
    segments: list[DataSegment]
    constant_segment: SubsegmentOffsets
    mutable_data_segments: list[SubsegmentOffsets] | None = None
    named_data: list[NamedData] | None = None
