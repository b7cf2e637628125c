"""Checks of the references in programs."""

from __future__ import annotations

import pytest

from rushlight.compat.native.checks import (
    collect_data_keys,
    validate_graph,
    validate_method,
    validate_program,
)
from rushlight.compat.native.schema import (
    AffineGroup,
    Argument,
    ArgumentValue,
    Dim,
    Graph,
    GraphArg,
    IntArg,
    IntListArg,
    Method,
    MutableBufferSpec,
    NamedArgument,
    NamedTensorRef,
    Node,
    OpKind,
    OptionalTensorListArg,
    Output,
    OutputValueKind,
    Program,
    QuantSpec,
    ScalarType,
    TensorArg,
    TensorListArg,
    TensorMeta,
    TensorValue,
)

META = TensorMeta(ScalarType.FLOAT, [Dim(1, 1)], [0])


def placeholder(name: str) -> Node:
    return Node(name, OpKind.PLACEHOLDER, outputs=[Output(name)])


def call(name: str, *values: ArgumentValue, outputs: list[Output] | None = None) -> Node:
    inputs = [NamedArgument(Argument(value)) for value in values]
    return Node(name, OpKind.CALL_FUNCTION, "f", inputs, outputs or [Output(name)])


def graph(*nodes: Node, outputs: tuple[str, ...] = (), without: str = "") -> Graph:
    names = [name for name in ("x", "y", "a", "b") if name != without]
    return Graph(list(nodes), ["x"], list(outputs), [TensorValue(name, META) for name in names])


X = placeholder("x")

LIST = [Output("", kind=OutputValueKind.TENSOR_LIST, names=["a", "b"])]

VALID = {
    "a call": graph(X, call("y", TensorArg("x")), outputs=("y",)),
    "a list": graph(X, call("l", TensorListArg(["x"]), outputs=LIST), outputs=("b", "a")),
    "None": graph(X, call("y", OptionalTensorListArg(["", "x"], [False, True]))),
    "a size": graph(X, call("n"), call("y", IntListArg([1, 0], ["", "n"]), IntArg(0, "n"))),
    "a body": graph(X, call("y", GraphArg("body", graph(X, call("y", TensorArg("x")))))),
}

INVALID = {
    "unknown value": (graph(X, call("y", TensorArg("z"))), "node 'y': unresolved value reference 'z'"),
    "empty name": (graph(X, call("y", TensorArg(""))), "node 'y': unresolved value reference ''"),
    "later value": (
        graph(X, call("y", TensorArg("a")), call("a")),
        "node 'y': unresolved value reference 'a'",
    ),
    "unknown size": (graph(X, call("y", IntArg(0, "n"))), "unresolved value reference 'n'"),
    "unknown in list": (graph(X, call("y", TensorListArg(["x", "z"]))), "unresolved value reference 'z'"),
    "unknown alias": (graph(X, call("y", outputs=[Output("y", "z")])), "aliased argument .* reference 'z'"),
    "unknown output": (graph(X, outputs=("z",)), "output: unresolved value reference 'z'"),
    "twice": (graph(X, call("x")), "node 'x': duplicate node name"),
    "value twice": (graph(X, call("y", outputs=[Output("x")])), "node 'y': duplicate value definition 'x'"),
    "in list twice": (
        graph(X, call("a"), call("l", outputs=LIST)),
        "node 'l': duplicate .* 'a'",
    ),
    "placeholder": (graph(placeholder("z")), "node 'z': the placeholder is not a declared input"),
    "no metadata of input": (graph(X, without="x"), "input 'x' missing tensor metadata"),
    "no metadata of output": (graph(X, call("c"), outputs=("c",)), "output 'c' missing tensor metadata"),
    "refs": (graph(X, call("y", IntListArg([1], ["x", "x"]))), "IntListArg refs length 2"),
    "has_value": (
        graph(X, call("y", OptionalTensorListArg(["x"], []))),
        "TensorListArg names length 1",
    ),
    "body": (
        graph(X, call("a"), call("y", GraphArg("body", graph(X, call("y", TensorArg("a")))))),
        "node 'y', body 'body': node 'y': unresolved value reference 'a'",
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_valid_graphs(name: str) -> None:
    validate_graph(VALID[name])


@pytest.mark.parametrize("name", INVALID)
def test_invalid_graphs(name: str) -> None:
    found, message = INVALID[name]
    with pytest.raises(ValueError, match=f"method 'f': .*{message}"):
        validate_program(Program([Method("f", found)]))


def test_bindings_of_methods() -> None:
    body = graph(X, placeholder("a"), placeholder("b"), call("y", TensorListArg(["a", "b"])))
    method = Method("f", body, [NamedTensorRef("a", "w", META)], None, [MutableBufferSpec("b", "cache")])
    validate_method(method)
    validate_method(method, {"w"})
    with pytest.raises(ValueError, match="constant 'a' has no tensor for the data key 'w'"):
        validate_method(method, {"cache"})
    method.graph.tensor_values = [TensorValue("x", META)]
    with pytest.raises(ValueError, match=r"mutable buffer 'b' \(cache\) missing tensor metadata"):
        validate_method(method)
    method.mutable_buffers = None
    with pytest.raises(ValueError, match="the placeholder is not a declared input or external binding"):
        validate_method(method)


def test_data_keys() -> None:
    def quantized(key: str, zero: str | None) -> TensorMeta:
        group = AffineGroup(f"{key}.scale", ScalarType.HALF, -8, 7, zero_point_data_key=zero)
        return TensorMeta(ScalarType.BYTE, [], quant=QuantSpec(group))

    inner = Graph([], tensor_values=[TensorValue("v", quantized("inner", ""))])
    outer = Graph(
        [call("y", GraphArg("body", inner))], tensor_values=[TensorValue("v", quantized("v", "v.zero"))]
    )
    method = Method("f", outer, [NamedTensorRef("a", "w", quantized("w", None))])
    keys = {"w", "w.scale", "v.scale", "v.zero", "inner.scale"}
    assert collect_data_keys(Program([method])) == keys
