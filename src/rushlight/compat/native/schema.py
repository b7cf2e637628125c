"""The tables of `schema/native_graph.fbs` as dataclasses. The schema explains the fields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias


class ScalarType(IntEnum):
    """The element type of a tensor. Program files have other numbers for UINT16, UINT32 and UINT64."""

    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    BOOL = 11
    BFLOAT16 = 15
    UINT16 = 16
    UINT32 = 17
    UINT64 = 18


class OpKind(IntEnum):
    """The kind of an FX node."""

    CALL_FUNCTION = 0
    PLACEHOLDER = 1
    OUTPUT = 2


class InputKind(IntEnum):
    """What a placeholder stands for."""

    USER_INPUT = 0
    PARAMETER = 1
    BUFFER = 2
    CONSTANT_TENSOR = 3


class OutputKind(IntEnum):
    """What happens with an output of a method."""

    USER_OUTPUT = 0
    BUFFER_MUTATION = 1
    USER_INPUT_MUTATION = 2


class OutputValueKind(IntEnum):
    """The type of a result of a node."""

    TENSOR = 0
    TENSOR_LIST = 1
    INT = 2
    BOOL = 3
    FLOAT = 4


@dataclass
class AffineGroup:
    """Integers with a scale, and maybe a zero point, for each group of the last dimension."""

    scale_data_key: str
    scale_dtype: ScalarType
    quant_min: int
    quant_max: int
    group_size: int = 0
    zero_point_data_key: str | None = None
    zero_point_dtype: ScalarType = ScalarType.INT


@dataclass
class PackedQuant:
    """A packed format that has a name."""

    codec: str


QuantScheme: TypeAlias = AffineGroup | PackedQuant


@dataclass
class QuantSpec:
    """How the numbers of a quantized tensor are stored."""

    scheme: QuantScheme


@dataclass
class Dim:
    """The bounds of a size. A negative maximum means that there is none."""

    min: int
    max: int = -1


@dataclass
class TensorMeta:
    """The dtype, sizes, dim order and quantization of a tensor."""

    dtype: ScalarType
    sizes: list[Dim]
    dim_order: list[int] | None = None
    quant: QuantSpec | None = None


@dataclass
class TensorValue:
    """A value of a graph that is a tensor."""

    name: str
    meta: TensorMeta


@dataclass
class TensorArg:
    """A value that is a tensor, by name."""

    name: str


@dataclass
class NoneArg:
    """None."""


@dataclass
class IntArg:
    """An integer. If `ref` is not empty, it names the value that contains the integer."""

    value: int
    ref: str | None = None


@dataclass
class FloatArg:
    """A float. If `ref` is not empty, it names the value that contains the float."""

    value: float
    ref: str | None = None


@dataclass
class BoolArg:
    """A bool. If `ref` is not empty, it names the value that contains the bool."""

    value: bool
    ref: str | None = None


@dataclass
class StringArg:
    """A text."""

    value: str


@dataclass
class ScalarTypeArg:
    """A dtype."""

    value: ScalarType


@dataclass
class IntListArg:
    """Integers. Where `refs` is not empty, it names the value that contains the integer."""

    values: list[int]
    refs: list[str] | None = None


@dataclass
class FloatListArg:
    """Floats."""

    values: list[float]


@dataclass
class BoolListArg:
    """Bools."""

    values: list[bool]


@dataclass
class TensorListArg:
    """Values that are tensors, by name."""

    names: list[str]


@dataclass
class OptionalTensorListArg:
    """Values that are tensors, by name, or None where `has_value` is false."""

    names: list[str]
    has_value: list[bool]


@dataclass
class Argument:
    """An argument, or an element of the results of a graph."""

    value: ArgumentValue


@dataclass
class NamedArgument:
    """An argument of a node, with the name of the parameter of the operator."""

    arg: Argument
    name: str | None = None
    mutated: bool = False


@dataclass
class KeyValue:
    """Metadata of a node."""

    key: str
    value: str


@dataclass
class Output:
    """A result of a node. A list of tensors has an empty name, and the names of its tensors in `names`."""

    name: str
    alias_of: str | None = None
    kind: OutputValueKind = OutputValueKind.TENSOR
    names: list[str] | None = None


@dataclass
class Node:
    """An FX node. The nodes that select results of a node are part of that node."""

    name: str
    op_kind: OpKind
    target: str | None = None
    inputs: list[NamedArgument] | None = None
    outputs: list[Output] | None = None
    metadata: list[KeyValue] | None = None


@dataclass
class NamedTensorRef:
    """A placeholder whose tensor is stored outside of the graph."""

    name: str
    data_key: str
    meta: TensorMeta
    kind: InputKind = InputKind.CONSTANT_TENSOR
    mutated: bool = False


@dataclass
class OutputSpec:
    """What happens with an output of a method. `target` is the changed buffer or input."""

    name: str
    kind: OutputKind = OutputKind.USER_OUTPUT
    target: str | None = None


@dataclass
class MutableBufferSpec:
    """A placeholder of a buffer without stored data. The buffer is zero when the program is loaded."""

    name: str
    fqn: str


@dataclass
class Graph:
    """The nodes of a method or of the body of a control flow operator, in execution order."""

    nodes: list[Node]
    inputs: list[str] | None = None
    outputs: list[str] | None = None
    tensor_values: list[TensorValue] | None = None


@dataclass
class GraphArg:
    """The body of a control flow operator."""

    name: str
    graph: Graph


ArgumentValue: TypeAlias = (
    TensorArg
    | NoneArg
    | IntArg
    | FloatArg
    | BoolArg
    | StringArg
    | ScalarTypeArg
    | IntListArg
    | FloatListArg
    | BoolListArg
    | TensorListArg
    | OptionalTensorListArg
    | GraphArg
)


@dataclass
class Method:
    """A graph with a name, and the tensors that its placeholders stand for."""

    name: str
    graph: Graph
    constants: list[NamedTensorRef] | None = None
    output_specs: list[OutputSpec] | None = None
    mutable_buffers: list[MutableBufferSpec] | None = None


@dataclass
class Program:
    """The methods of a package."""

    methods: list[Method]
    version: str | None = None
