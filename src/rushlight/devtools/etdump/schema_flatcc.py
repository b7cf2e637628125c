"""The tables of an ETDump as dataclasses, with the fields of `schema/etdump.fbs`.

Names and order of the fields are the same as in ExecuTorch's `devtools.etdump.schema_flatcc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from rushlight.format.program import ScalarType


@dataclass
class Tensor:
    """A tensor whose elements are in the debug buffer.

    Attributes:
        scalar_type: the dtype.
        sizes: the shape.
        strides: the strides in elements. Rushlight writes the elements in row-major order.
        offset: the offset of the elements in the debug buffer, in bytes.
    """

    scalar_type: ScalarType
    sizes: list[int]
    strides: list[int]
    offset: int


@dataclass
class TensorList:
    """A list of tensors."""

    tensors: list[Tensor]


@dataclass
class Null:
    """No value."""


@dataclass
class Int:
    """An integer."""

    int_val: int


@dataclass
class Bool:
    """A boolean."""

    bool_val: bool


@dataclass
class Double:
    """A float64 number."""

    double_val: float


@dataclass
class Float:
    """A float32 number."""

    float_val: float


@dataclass
class String:
    """A string."""

    string_val: str


class ValueType(IntEnum):
    """The type of a value."""

    Null = 0
    Int = 1
    Bool = 2
    Float = 3
    Double = 4
    Tensor = 5
    TensorList = 6
    String = 7
    NULL = 0
    INT = 1
    BOOL = 2
    FLOAT = 3
    DOUBLE = 4
    TENSOR = 5
    TENSOR_LIST = 6
    STRING = 7


@dataclass
class Value:
    """A recorded value.

    Attributes:
        val: the type of the value, which determines the field that contains the value.
        output: Bool(True) if the value is an output of the method.
    """

    val: ValueType
    tensor: Tensor | None = None
    tensor_list: TensorList | None = None
    int_value: Int | None = None
    float_value: Float | None = None
    double_value: Double | None = None
    bool_value: Bool | None = None
    output: Bool | None = None


@dataclass
class DebugEvent:
    """A value that an instruction or a step inside a delegate computed.

    Attributes:
        name: the name of the instruction's operator.
        chain_index: the chain of the instruction.
        instruction_id: the index of the instruction in its chain; -1 if there is none.
        delegate_debug_id_int: the number of a step inside a delegate; -1 if there is none.
        delegate_debug_id_str: the name of a step inside a delegate; None or empty if there is none.
        debug_entry: the value.
    """

    name: str | None
    chain_index: int
    instruction_id: int
    delegate_debug_id_int: int
    delegate_debug_id_str: str | None
    debug_entry: Value


class PROFILE_EVENT_ENUM(Enum):
    """Names of profile events."""

    RUN_MODEL = "Method::execute"
    OPERATOR_CALL = "OPERATOR_CALL"
    DELEGATE_CALL = "DELEGATE_CALL"
    LOAD_MODEL = "Program::load_method"


@dataclass
class ProfileEvent:
    """An event with a start and an end.

    Attributes:
        name: the name of the event.
        chain_index: the chain of the instruction; -1 if the event belongs to no instruction.
        instruction_id: the index of the instruction in its chain; -1 if there is none.
        delegate_debug_id_int: the number of a step inside a delegate; -1 if there is none.
        delegate_debug_id_str: the name of a step inside a delegate; None or empty if there is none.
        delegate_debug_metadata: additional bytes that the backend recorded.
        start_time: the start in ticks of the runtime's clock. A tick is a nanosecond in dumps of Rushlight.
        end_time: the end in ticks.
    """

    name: str | None
    chain_index: int
    instruction_id: int
    delegate_debug_id_int: int
    delegate_debug_id_str: str | None
    delegate_debug_metadata: bytes | None
    start_time: int
    end_time: int


@dataclass
class AllocationEvent:
    """An allocation.

    Attributes:
        allocator_id: the index of the allocator in `RunData.allocators`, plus 1.
        allocation_size: the size in bytes.
    """

    allocator_id: int
    allocation_size: int


@dataclass
class Allocator:
    """An allocator."""

    name: str


@dataclass
class Event:
    """An event. Exactly one of the fields is not None."""

    profile_event: ProfileEvent | None
    allocation_event: AllocationEvent | None
    debug_event: DebugEvent | None


@dataclass
class RunData:
    """The events of loading a program, or of one execution.

    Attributes:
        name: the name of the block of events.
        bundled_input_index: the test case of a bundled program that provided the inputs; -1 if there is none.
        allocators: the allocators whose allocations are recorded.
        events: the events in the order in which they ended.
        method: the name of the method; None or empty if it is not known, as in ETDumps of ExecuTorch.
    """

    name: str
    bundled_input_index: int
    allocators: list[Allocator] | None
    events: list[Event] | None
    method: str | None = None


@dataclass
class ETDumpFlatCC:
    """The root table of an ETDump.

    Attributes:
        version: the version of the format, which is 0.
        run_data: the blocks of events in the order in which they began.
        dropped_events: the number of events that did not fit into the buffer; 0 in ETDumps of ExecuTorch.
        program_fingerprint: the `rushlight.format.pte.program_fingerprint` of the program; 0 if it is
            unknown, as in ETDumps of ExecuTorch.
    """

    version: int
    run_data: list[RunData]
    dropped_events: int = 0
    program_fingerprint: int = 0
