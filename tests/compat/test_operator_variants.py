"""Variants of operators, which are found with their schemas."""

from __future__ import annotations

import pytest
import torch
from torch.library import Library
from torchgen.model import SchemaKind  # type: ignore[import-untyped]

from rushlight.compat.operator_variants import (
    gen_out_variant_schema,
    get_callable,
    get_overload_schema,
    output_to_aliased_input_map,
    to_variant,
)
from rushlight.ir.edge_ops import ops

aten = torch.ops.aten


@pytest.mark.parametrize(
    "functional,out",
    [
        (aten.add.Tensor, aten.add.out),
        (aten.view_copy.default, aten.view_copy.out),
        (aten.addmm.default, aten.addmm.out),
        (aten.topk.default, aten.topk.values),
    ],
)
def test_variants(functional: torch._ops.OpOverload, out: torch._ops.OpOverload) -> None:
    assert to_variant(functional, SchemaKind.out) is out
    assert to_variant(out, SchemaKind.functional) is functional
    assert to_variant(out, SchemaKind.out) is out
    assert to_variant(functional, SchemaKind.functional) is functional
    assert get_callable(f"{functional._schema.name[6:]}.{functional._overloadname}") is functional


def test_variants_that_do_not_exist() -> None:
    library = Library("rushlight_variants", "DEF")
    library.define("alone(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="alone.default has no out variant"):
        to_variant(torch.ops.rushlight_variants.alone.default, SchemaKind.out)
    with pytest.raises(ValueError, match="neither functional nor out"):
        to_variant(aten.add.Tensor, SchemaKind.inplace)


def test_schemas() -> None:
    schema = get_overload_schema(ops.edge.aten.add.Tensor)
    assert schema is not None and schema.kind() is SchemaKind.functional
    with pytest.raises(TypeError, match="is not an operator"):
        get_overload_schema(len)
    for op in (aten.topk.values, aten.add_.Scalar, aten.__iand__.Tensor, aten.relu.default):
        schema = get_overload_schema(op)
        assert schema is not None and str(schema.name) == op._schema.name + (
            f".{op._schema.overload_name}" if op._schema.overload_name else ""
        )
    assert gen_out_variant_schema(str(aten.mul.Scalar._schema)) == str(aten.mul.Scalar_out._schema)
    assert gen_out_variant_schema(str(aten.add_.Scalar._schema)) == str(aten.add.Scalar_out._schema)
    assert gen_out_variant_schema("custom::foo(Tensor a, Tensor b) -> (Tensor c, Tensor d)") == (
        "custom::foo.out(Tensor a, Tensor b, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"
    )


def test_results_that_are_arguments() -> None:
    assert output_to_aliased_input_map(aten.add_.Tensor._schema) == {0: 0}
    assert output_to_aliased_input_map(aten.add.Tensor._schema) == {}
    assert output_to_aliased_input_map(aten.topk.values._schema) == {0: 5, 1: 6}
