"""Operators of the edge dialect: identity, names, dtypes and out variants."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

from rushlight.ir import edge_ops, memory_ops, out_variants, sym_ops
from rushlight.ir.edge_ops import bind_pattern_to_op, ops, to_backend_op, to_edge_op
from rushlight.ir.errors import MissingOutVariantError

add = ops.edge.aten.add.Tensor


def test_one_object_for_each_operator() -> None:
    assert add is ops.edge.aten.add.Tensor is to_edge_op(torch.ops.aten.add.Tensor)
    assert copy.deepcopy(add) is copy.copy(add) is pickle.loads(pickle.dumps(add)) is add
    assert add != torch.ops.aten.add.Tensor and edge_ops.aten_op(add) is torch.ops.aten.add.Tensor


def test_names() -> None:
    assert add.__name__ == "aten.add.Tensor" and add.name() == "aten::add.Tensor"
    assert str(add).startswith("<EdgeOpOverload: aten.add.Tensor>: schema = aten::add.Tensor(Tensor self")
    assert str(ops.edge.aten.add) == "aten.add"
    with pytest.raises(AttributeError, match="no overload named 'Nothing'"):
        _ = ops.edge.aten.add.Nothing
    with pytest.raises(AttributeError, match="aten::no_such_operator"):
        _ = ops.edge.aten.no_such_operator


def test_graph_text() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    alloc = graph.call_function(memory_ops.alloc, (((2, 2), torch.float32),))
    view = graph.call_function(memory_ops.view, (graph.call_function(add, (x, x)), [4]))
    graph.output((view, alloc))
    module = torch.fx.GraphModule({}, graph)
    assert "aten_add_tensor = executorch_exir_dialects_edge__ops_aten_add_Tensor(x, x)" in module.code
    assert "alloc = executorch_exir_memory_alloc(((2, 2), torch.float32))" in module.code
    assert "executorch_exir_memory_view(aten_add_tensor, [4])" in module.code
    result, memory = copy.deepcopy(module)(torch.ones(2, 2))
    assert result.tolist() == [2.0] * 4 and memory.shape == (2, 2)


def test_allocations() -> None:
    one, two = memory_ops.alloc([((2,), torch.int64), ((), torch.bool)])
    assert one.dtype is torch.int64 and two.shape == ()


def test_operators_run_in_eager_mode() -> None:
    assert add(torch.tensor(1), torch.tensor(2), alpha=3) == 7


def test_schemas_tell_dtypes() -> None:
    embedding = ops.edge.aten.embedding.default._schema
    weight, indices, padding = embedding.arguments[:3]
    assert torch.float16 in weight.allowed_types
    assert indices.allowed_types == {torch.int32, torch.int64}
    assert not hasattr(padding, "allowed_types") and padding.name == "padding_idx"
    assert embedding.returns[0].allowed_types and embedding.name == "aten::embedding"


@pytest.mark.parametrize(
    ("op", "out", "names", "is_list"),
    [
        (torch.ops.aten.add.Tensor, torch.ops.aten.add.out, ("out",), False),
        (torch.ops.aten.max.dim, torch.ops.aten.max.dim_max, ("max", "max_values"), False),
        (torch.ops.aten.split_copy.Tensor, torch.ops.aten.split_copy.Tensor_out, ("out",), True),
        (torch.ops.aten.full.default, torch.ops.aten.full.out, ("out",), False),
        (torch.ops.aten._to_copy.default, torch.ops.aten._to_copy.out, ("out",), False),
    ],
)
def test_out_variants(op: Any, out: Any, names: Any, is_list: Any) -> None:
    variant = out_variants.out_variant(op)
    assert (variant.op, variant.outs, variant.is_list) == (out, names, is_list)
    assert to_edge_op(op).to_out_variant() is out and out_variants.is_out_variant(out)


def test_operators_without_out_variant_are_named() -> None:
    with pytest.raises(MissingOutVariantError, match="aten.alias.default has no out variant"):
        ops.edge.aten.alias.default.to_out_variant()


def test_dim_order_operators() -> None:
    x = torch.randn(1, 2, 3, 4)
    clone = ops.edge.dim_order_ops._clone_dim_order.default
    assert clone(x, dim_order=[0, 2, 3, 1]).stride() == (24, 1, 8, 2)
    assert clone(x.to(memory_format=torch.channels_last)).stride() == (24, 1, 8, 2)
    assert ops.edge.dim_order_ops._to_dim_order_copy.default(x, dtype=torch.int32).dtype is torch.int32
    assert ops.edge.dim_order_ops._empty_dim_order.default([2, 3], dim_order=[0, 1]).shape == (2, 3)
    with pytest.raises(ValueError, match="neither contiguous nor channels last"):
        clone(x, dim_order=[3, 2, 1, 0])


def test_backend_operators() -> None:
    library = torch.library.Library("rushlight_ir_tests", "FRAGMENT")

    @bind_pattern_to_op(library, "add_relu(Tensor a, Tensor b) -> Tensor")
    def add_relu(a: Any, b: Any) -> Any:
        return torch.relu(a + b)

    op = ops.backend.rushlight_ir_tests.add_relu.default
    assert op(torch.tensor(-3.0), torch.tensor(1.0)) == 0
    assert op._equivalent_callable is add_relu
    assert to_backend_op(torch.ops.rushlight_ir_tests.add_relu.default) is op
    assert to_backend_op(torch.ops.aten.add.Tensor) is None
    with pytest.raises(RuntimeError, match="aten op library does not belong to backend ops"):
        _ = ops.backend.aten


def test_symbolic_arithmetic() -> None:
    import math
    import operator

    table = sym_ops.PYTHON_TO_PRIM
    assert table[operator.floordiv](7, 2) == 3 and table[math.ceil](1.5) == 2
    assert table[torch.sym_ite](True, 1, 2) == 1
    assert table[operator.mul] is ops.backend.executorch_prim.mul.Scalar
    assert sym_ops.is_sym_op(operator.add) and sym_ops.is_sym_op(torch.ops.aten.sym_size.int)
    assert not sym_ops.is_sym_op(torch.ops.aten.add.Tensor) and not sym_ops.is_sym_op([])
