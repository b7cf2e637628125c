"""The tables of a `.pte` program as dataclasses. Their fields are those of `schema/program.fbs`.

The schema describes each field. Names and constructor signatures are those of `executorch.exir.schema`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias


class ScalarType(IntEnum):
    """Element types. The numbers are those of c10::ScalarType."""

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
    """Whether the sizes of a tensor are exact, are upper bounds, or only define the rank."""

    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    """Whether a constant is in the program file or in a separate data file."""

    SEGMENT = 0
    EXTERNAL = 1


class DeviceType(IntEnum):
    """The device of a tensor or planned buffer."""

    CPU = 0
    CUDA = 1


class DataLocation(IntEnum):
    """Whether delegate data are in the tables or in a segment."""

    INLINE = 0
    SEGMENT = 1


@dataclass
class AllocationDetails:
    """The position of a tensor in a planned arena. The offset is stored as its low and high 32 bits."""

    memory_id: int
    memory_offset_low: int
    memory_offset_high: int

    @property
    def memory_offset(self) -> int:
        """The offset in bytes from the start of the arena."""
        return self.memory_offset_high << 32 | self.memory_offset_low


@dataclass
class ExtraTensorInfo:
    """Rare properties of a tensor: the name of external data, the position of an initial value, a device."""

    mutable_data_segments_idx: int = 0
    fully_qualified_name: str | None = None
    location: TensorDataLocation = TensorDataLocation.SEGMENT
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass
class Tensor:
    """A tensor value.

    `schema/program.fbs` describes which fields define a constant, a planned tensor or an input.
    """

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
    """A 64-bit integer."""

    int_val: int


@dataclass
class Bool:
    """A boolean."""

    bool_val: bool


@dataclass
class Double:
    """A 64-bit float. The strings "inf" and "-inf" mean the infinities."""

    double_val: float

    def __post_init__(self) -> None:
        value: object = self.double_val
        if isinstance(value, str):
            self.double_val = float(value)


@dataclass
class String:
    """A text."""

    string_val: str


@dataclass
class ContainerMetadata:
    """The structures (pytree specs) of a method's inputs and outputs, as JSON text."""

    encoded_inp_str: str
    encoded_out_str: str


@dataclass
class IntList:
    """A list of integers. The items are indices of values."""

    items: list[int]


@dataclass
class DoubleList:
    """A list of 64-bit floats."""

    items: list[float]


@dataclass
class BoolList:
    """A list of booleans."""

    items: list[bool]


@dataclass
class TensorList:
    """A list of tensors. The items are indices of values."""

    items: list[int]


@dataclass
class OptionalTensorList:
    """A list of tensors. The items are indices of values; -1 means None."""

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
    """Constant data in the tables."""

    storage: bytes


@dataclass
class BackendDelegateInlineData:
    """Delegate data in the tables."""

    data: bytes


@dataclass
class KernelCall:
    """A call of an operator. Its arguments and results are indices of values."""

    op_index: int
    args: list[int]


@dataclass
class DelegateCall:
    """A call of a delegate. Its inputs and outputs are indices of values."""

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
    """A line of the model's Python code."""

    filename: str
    lineno: int
    name: str
    context: str


@dataclass
class FrameList:
    """A call stack, with the outermost frame first."""

    items: list[Frame]


@dataclass
class BackendDelegateDataReference:
    """The index of a delegate's data in the inline data or in the segments."""

    location: DataLocation
    index: int


@dataclass
class CompileSpec:
    """An option for a backend."""

    key: str
    value: bytes


@dataclass
class BackendDelegate:
    """A partition of a method that a backend runs."""

    id: str
    processed: BackendDelegateDataReference
    compile_specs: list[CompileSpec]


@dataclass
class Chain:
    """Instructions that run in order. `stacktrace` is empty, or has an entry for each instruction."""

    inputs: list[int]
    outputs: list[int]
    instructions: list[Instruction]
    stacktrace: list[FrameList] | None


@dataclass
class Operator:
    """The name of a kernel, such as "aten::add", and its overload, such as "out"."""

    name: str
    overload: str

    @property
    def full_name(self) -> str:
        """The name with the overload, such as "aten::add.out"."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


@dataclass
class NonConstBufferDevice:
    """The device of a planned buffer. Buffers without an entry are on the CPU."""

    buffer_idx: int = 0
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass
class ExecutionPlan:
    """One method.

    `non_const_buffer_sizes` contains the size in bytes of the arena with each memory id. Entry 0 is not used.
    """

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
    """A range of bytes after the tables. `offset` is relative to the segment base in the file header."""

    offset: int
    size: int


@dataclass
class SubsegmentOffsets:
    """Offsets in bytes in one segment."""

    segment_index: int
    offsets: list[int]


@dataclass
class NamedData:
    """A segment with a name."""

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
