"""Programs as bytes."""

from __future__ import annotations

import random

import pytest

from rushlight.compat.native.schema import (
    AffineGroup,
    Argument,
    ArgumentValue,
    BoolArg,
    BoolListArg,
    Dim,
    FloatArg,
    FloatListArg,
    Graph,
    GraphArg,
    InputKind,
    IntArg,
    IntListArg,
    KeyValue,
    Method,
    MutableBufferSpec,
    NamedArgument,
    NamedTensorRef,
    Node,
    NoneArg,
    OpKind,
    OptionalTensorListArg,
    Output,
    OutputKind,
    OutputSpec,
    OutputValueKind,
    PackedQuant,
    Program,
    QuantSpec,
    ScalarType,
    ScalarTypeArg,
    StringArg,
    TensorArg,
    TensorListArg,
    TensorMeta,
    TensorValue,
)
from rushlight.compat.native.tables import (
    deserialize_graph,
    deserialize_program,
    encode_program,
    merge_programs,
)
from rushlight.format.errors import EncodeError, FormatError, MalformedError
from rushlight.format.wire import MAX_DEPTH

ARGUMENTS: list[ArgumentValue] = [
    TensorArg("x"),
    NoneArg(),
    IntArg(-(1 << 63)),
    IntArg(0, "size"),
    FloatArg(1.5),
    FloatArg(float("-inf")),
    BoolArg(True),
    BoolArg(False, "flag"),
    StringArg("torch.strided"),
    ScalarTypeArg(ScalarType.BFLOAT16),
    IntListArg([1, -1]),
    IntListArg([0, 3], ["size", ""]),
    FloatListArg([0.5]),
    BoolListArg([True, False]),
    TensorListArg(["x", "y"]),
    TensorListArg([]),
    OptionalTensorListArg(["x", ""], [True, False]),
    GraphArg("body", Graph([], ["a"], ["a"])),
]


def whole_program() -> Program:
    """Returns a program with every table and every field of the schema."""
    affine = AffineGroup("w.scale", ScalarType.HALF, -8, 7, 32, "w.zero", ScalarType.INT)
    metas = [
        TensorMeta(ScalarType.FLOAT, [Dim(2, 2), Dim(0)], [1, 0]),
        TensorMeta(ScalarType.BYTE, [], None, QuantSpec(affine)),
        TensorMeta(ScalarType.UINT64, [Dim(1, 5)], [0], QuantSpec(PackedQuant("mxfp4"))),
    ]
    inputs = [NamedArgument(Argument(value), f"p{i}", i == 0) for i, value in enumerate(ARGUMENTS)]
    outputs = [Output("y", "x"), Output("", kind=OutputValueKind.TENSOR_LIST, names=["a", "b"])]
    call = Node("y", OpKind.CALL_FUNCTION, "torch.ops.a.b.c", inputs, outputs, [KeyValue("k", "v")])
    values = [TensorValue(f"v{i}", meta) for i, meta in enumerate(metas)]
    graph = Graph([Node("x", OpKind.PLACEHOLDER), call, Node("output", OpKind.OUTPUT)], ["x"], ["y"], values)
    method = Method(
        "forward",
        graph,
        [NamedTensorRef("w", "layer.w", metas[1], InputKind.BUFFER, True)],
        [OutputSpec("y", OutputKind.BUFFER_MUTATION, "layer.w"), OutputSpec("y")],
        [MutableBufferSpec("cache", "layer.cache")],
    )
    return Program([method, Method("other", Graph([]))], "1")


def nested(levels: int) -> Program:
    graph = Graph([])
    for _ in range(levels):
        argument = NamedArgument(Argument(GraphArg("body", graph)))
        graph = Graph([Node("cond", OpKind.CALL_FUNCTION, "cond", [argument])])
    return Program([Method("forward", graph)])


def test_there_and_back() -> None:
    program = whole_program()
    data = encode_program(program)
    assert data[4:8] == b"NPTG" and data == encode_program(program)
    assert deserialize_program(data) == program
    assert deserialize_graph(data) == program.methods[0].graph


def test_the_depth_of_bodies_is_limited() -> None:
    """Each body is five tables inside the graph around it."""
    levels = (MAX_DEPTH - 3) // 5
    program = nested(levels)
    assert deserialize_program(encode_program(program)) == program
    with pytest.raises(EncodeError, match=f"more than {MAX_DEPTH} tables are inside each other"):
        encode_program(nested(levels + 1))
    with pytest.raises(EncodeError, match=f"more than {MAX_DEPTH} tables are inside each other"):
        encode_program(nested(200))


def test_deep_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rushlight.format.encode.MAX_DEPTH", 10_000)
    for levels in (13, 40):
        with pytest.raises(MalformedError, match=f"more than {MAX_DEPTH} tables are inside each other"):
            deserialize_program(encode_program(nested(levels)))


def test_values_that_do_not_fit_are_named() -> None:
    program = whole_program()
    program.methods[0].graph.nodes[1].inputs = [NamedArgument(Argument(IntArg(1 << 63)))]
    with pytest.raises(EncodeError, match=r"IntArg\.value"):
        encode_program(program)


def test_damaged_bytes_give_errors() -> None:
    data = encode_program(whole_program())
    generator = random.Random(0)
    refused = 0
    for _ in range(3000):
        changed = bytearray(data)
        for _ in range(generator.randint(1, 3)):
            changed[generator.randrange(len(data))] = generator.randrange(256)
        try:
            deserialize_program(bytes(changed))
        except MalformedError:
            refused += 1
    assert refused > 500
    for length in range(0, len(data) - 8, 7):
        with pytest.raises(MalformedError):
            deserialize_program(data[:length])


def test_merging() -> None:
    one = encode_program(Program([Method("forward", Graph([Node("x", OpKind.PLACEHOLDER)], ["x"]))]))
    merged = deserialize_program(merge_programs({"a": one, "b": one}))
    assert [method.name for method in merged.methods] == ["a", "b"] and merged.version == "1"
    with pytest.raises(FormatError, match="the program for 'a' has 2 methods, not one"):
        merge_programs({"a": encode_program(whole_program())})
    with pytest.raises(FormatError, match="the program has no methods"):
        deserialize_graph(encode_program(Program([])))
