"""Conversions between float and quantized values are not the operators that a step is known for."""

from __future__ import annotations

from rushlight.devtools.inspector.operators import Operator, without_conversions


def test_conversions_are_left_out_beside_other_operators() -> None:
    names = (
        "quantized_decomposed.dequantize_per_tensor.default",
        "aten.convolution.default",
        "quantized_decomposed.quantize_per_tensor.default",
        "quantized_decomposed.choose_qparams.tensor",
        "torchao.dequantize_affine.default",
        "rushlight.quantized_linear.default",
    )
    operators = [Operator(f"node{place}", name, place) for place, name in enumerate(names)]
    assert [found.op for found in without_conversions(operators)] == [names[1], names[5]]
    assert list(without_conversions(operators[2:4])) == operators[2:4]
