"""Signatures of operators: the C++ types of kernels."""

from __future__ import annotations

import pytest

from rushlight.select.signatures import parse_schema


@pytest.mark.parametrize(
    ("schema", "types", "returned"),
    [
        ("f(Tensor x) -> Tensor", ["const Tensor&"], "void"),
        (
            "a::f.out(Tensor? x, int[2] d=[0, 1], *, Tensor(a!) out) -> Tensor(a!)",
            ["const optional<Tensor>&", "ArrayRef<int64_t>", "Tensor&"],
            "Tensor&",
        ),
        (
            "a::f.out(Tensor[] x, Tensor?[] y, Scalar? s, SymInt[]? z=None, *, Tensor(a!) p, Tensor(b!) q)"
            " -> (Tensor(a!), Tensor(b!))",
            [
                "TensorList",
                "ArrayRef<optional<Tensor>>",
                "const optional<Scalar>&",
                "optional<ArrayRef<int64_t>>",
                "Tensor&",
                "Tensor&",
            ],
            "std::tuple<Tensor&, Tensor&>",
        ),
        (
            'a::f(float x=1.0, bool y=False, str mode="mean", ScalarType? dtype=None, float[] w=[]) -> ()',
            ["double", "bool", "string_view", "optional<ScalarType>", "ArrayRef<double>"],
            "void",
        ),
    ],
)
def test_types_of_parameters(schema: str, types: list[str], returned: str) -> None:
    parsed = parse_schema(schema)
    assert [argument.cpp_type for argument in parsed.arguments] == types
    assert parsed.cpp_return == returned
