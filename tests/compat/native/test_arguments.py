"""Arguments, operators and metadata of tensors in the terms of the schema."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim, export
from torch.fx import Graph, Node

from rushlight.compat.native import schema
from rushlight.compat.native.arguments import aliased_argument, argument_value, named_arguments
from rushlight.compat.native.schema import (
    BoolArg,
    BoolListArg,
    FloatArg,
    FloatListArg,
    GraphArg,
    IntArg,
    IntListArg,
    NoneArg,
    OptionalTensorListArg,
    ScalarType,
    ScalarTypeArg,
    StringArg,
    TensorArg,
    TensorListArg,
)
from rushlight.compat.native.values import dim_of, dim_order_of, serialize_operator, tensor_meta_of
from rushlight.ir import meta
from rushlight.ir.edge_ops import ops

aten = torch.ops.aten
BODY = schema.Graph([])


def value(name: str, val: object) -> Node:
    node = Graph().placeholder(name)
    meta.set_val(node, val)
    return node


T, N, B, F = (value(n, v) for n, v in (("t", torch.ones(1)), ("i", 3), ("b", True), ("f", 0.5)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, NoneArg()),
        (True, BoolArg(True)),
        (3, IntArg(3)),
        (1.5, FloatArg(1.5)),
        ("mean", StringArg("mean")),
        (torch.float16, ScalarTypeArg(ScalarType.HALF)),
        (torch.device("cpu"), StringArg("cpu")),
        (torch.strided, StringArg("torch.strided")),
        (torch.channels_last, StringArg("torch.channels_last")),
        (T, TensorArg("t")),
        (N, IntArg(0, "i")),
        (B, BoolArg(False, "b")),
        (F, FloatArg(0.0, "f")),
        (value("body", None), GraphArg("body", BODY)),
        ([1, 2], IntListArg([1, 2])),
        ((4, N), IntListArg([4, 0], ["", "i"])),
        ([1, 2.5], FloatListArg([1.0, 2.5])),
        ([True, False], BoolListArg([True, False])),
        ([T, T], TensorListArg(["t", "t"])),
        ([None, T], OptionalTensorListArg(["", "t"], [False, True])),
        ([None], OptionalTensorListArg([""], [False])),
    ],
)
def test_values(given: object, expected: object) -> None:
    assert argument_value(given, {"body": BODY}) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (object(), "no arguments of type object"),
        (1j, "no arguments of type complex"),
        (torch.complex64, r"no tensors of torch\.complex64"),
        ([1, "a"], "no lists of such elements"),
        ([B], "no lists of such elements"),
        ([value("body", None)], "a body must be an argument"),
        ([], "the type of an empty list is not known"),
    ],
)
def test_other_values_are_refused(given: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        argument_value(given, {"body": BODY})


def call(op: Any, *arguments: object, **named: object) -> Node:
    graph = Graph()
    placed = [graph.placeholder(f"in{i}") if a is T else a for i, a in enumerate(arguments)]
    return graph.call_function(op, tuple(placed), named)  # type: ignore[arg-type]


def test_calls_have_all_arguments() -> None:
    arguments = named_arguments(call(aten.add.Tensor, T, T))
    assert [(a.name, a.arg.value) for a in arguments] == [
        ("self", TensorArg("in0")),
        ("other", TensorArg("in1")),
        ("alpha", IntArg(1)),
    ]
    arguments = named_arguments(call(aten.sum.dim_IntList, T, [], dtype=torch.int32))
    assert [a.arg.value for a in arguments[1:]] == [
        IntListArg([]),
        BoolArg(False),
        ScalarTypeArg(ScalarType.INT),
    ]
    assert named_arguments(call(aten.cat.default, []))[0].arg.value == TensorListArg([])
    assert named_arguments(call(aten.index.Tensor, T, []))[1].arg.value == OptionalTensorListArg([], [])
    assert [a.name for a in named_arguments(call(max, 3, default=2))] == [None, "default"]


def test_errors_name_the_node_and_the_parameter() -> None:
    with pytest.raises(ValueError, match=r"node add_tensor \(torch\.ops\.aten\.add\.Tensor\), parameter o"):
        named_arguments(call(aten.add.Tensor, T, 1j))


def test_writes_and_aliases() -> None:
    written = call(aten.add_.Tensor, T, T)
    assert [a.mutated for a in named_arguments(written)] == [True, False, False]
    assert aliased_argument(written) == "in0"
    view = call(aten.view.default, T, [6])
    assert not any(a.mutated for a in named_arguments(view)) and aliased_argument(view) == "in0"
    assert aliased_argument(call(aten.add.Tensor, T, T)) is None and aliased_argument(call(max, T)) is None


def test_names_of_operators() -> None:
    assert serialize_operator(aten.unsqueeze.default) == "torch.ops.aten.unsqueeze.default"
    assert serialize_operator(ops.edge.aten.mul.Tensor) == "torch.ops.aten.mul.Tensor"
    assert serialize_operator(torch.ops.higher_order.cond) == "torch.ops.higher_order.cond"
    assert serialize_operator(max) == "builtins.max" and serialize_operator("f") == "f"


def test_dim_orders() -> None:
    x = torch.ones(2, 3, 4)
    assert dim_order_of(x) == [0, 1, 2] and dim_order_of(x.permute(0, 2, 1)) == [0, 2, 1]
    assert dim_order_of(torch.tensor(1.0)) == []
    image = torch.ones(2, 1, 3, 4).to(memory_format=torch.channels_last)
    assert dim_order_of(image) == [0, 2, 1, 3]
    for view in (x[:, :2], x[:, :, :1].expand(2, 3, 4)):
        with pytest.raises(ValueError, match="is not dim-order expressible"):
            dim_order_of(view)


def test_sizes_have_bounds() -> None:
    class Rows(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x + 1, y + 1

    shapes = ({0: Dim("rows", min=2, max=9)}, {0: Dim("other", min=3)})
    program = export(Rows(), (torch.ones(4, 3), torch.ones(5, 3)), dynamic_shapes=shapes)
    x, y = (meta.get_tensor(node) for node in program.graph.find_nodes(op="placeholder"))
    assert x is not None and y is not None
    found = tensor_meta_of(x)
    assert found == schema.TensorMeta(ScalarType.FLOAT, [schema.Dim(2, 9), schema.Dim(3, 3)], [0, 1])
    assert dim_of(y.shape[0]) == schema.Dim(3, -1)
