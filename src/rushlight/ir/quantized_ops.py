"""Operators on quantized tensors that torch does not define: fused operators and out variants.

A quantized tensor is an integer tensor with a scale and a zero point: real = (q - zero_point) * scale.

ExecuTorch uses the same operator names in `quantized_decomposed`. The operators of `rushlight` are:

quantized_convolution, quantized_linear
    input: int8 or uint8 [N, C, ...] or [..., I]. weight: int8, symmetric, with the shape of aten.convolution
    or aten.linear. weight_scales: float32 [O], or [1] for one scale. bias: float32 [O]. With int32 sums,
    real = sum((q - input_zero_point) * w) * (input_scale * weight_scale) + bias, and
    out = clamp(round(real / output_scale) + output_zero_point, output_min, output_max). Rounding is to
    nearest, ties to even. output_min and output_max include a fused ReLU, ReLU6 or clamp. Padding has the
    real value 0. Sums are exact. out has the dtype of input.
quantized_mul
    Like quantized_decomposed::add. a and b are int8 or uint8, and broadcast. out has the dtype of a.
quantized_lookup
    out[i] = table[input[i] - minimum of the dtype of input]. table: [256], of the dtype of out. The operator
    computes any elementwise function of an int8 or uint8 tensor.
quantized_mean, quantized_avg_pool2d
    The mean of the real numbers over dims, or average pooling as in aten.avg_pool2d. The result is quantized.
quantized_softmax
    exponentials: int32 [256]; entry d is round(exp(-d * input_scale) * 2^23). d is the maximum of the row
    along dim minus the element. In float32, real = exponentials[d] * (1 / sum of exponentials[d] along dim).
    The result is quantized. Sums are exact.
choose_qparams_per_token_symmetric
    Like quantized_decomposed::choose_qparams_symmetric.tensor for each vector along the last dim of a float32
    tensor. Scales are float32 and zero points int64, both [..., 1]. All zero points are 0 if dtype is int8.
dynamic_linear
    input: float32 [..., I]. weight: int8 [O, I], symmetric. weight_scales: float32 [O], [1], or [O, G] for
    groups of I / G elements of a row. bias: float32 [O]. The operator computes the range of the input,
    quantizes the input to int8, multiplies integers and returns float32. The range is the range of the whole
    tensor, as in choose_qparams.tensor (choose_qparams_symmetric.tensor if `symmetric`). With `per_token`, it
    is the range of each vector along the last dim, as in choose_qparams_per_token_symmetric or
    choose_qparams_per_token_asymmetric; with the latter, quant_min is -128, quant_max is 127, and eps is that
    of float32.
dynamic_linear_4bit
    Like dynamic_linear, with weight uint8 [O, I / 2]: a byte has two 4-bit numbers, each plus 8. The number
    with the even index is in the upper 4 bits, as in embedding_4bit.
linear_4bit
    input: float32, float16 or bfloat16; it is not quantized. weight: as in dynamic_linear_4bit.
    weight_scales: [O, G]. weight_zero_points: None, or the shape of weight_scales. bias and out have the
    dtype of input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (defines quantized_decomposed)

from rushlight.ir import quantized_reference as reference

_QPARAMS = "float {0}scale, int {0}zero_point"
_RANGE = "int {0}quant_min, int {0}quant_max"
_INPUT = "float input_scale, int input_zero_point"
_OUTPUT = "float output_scale, int output_zero_point, int output_min, int output_max"
_BINARY = ", ".join(
    f"Tensor {x}, float {x}_scale, int {x}_zero_point, int {x}_quant_min, int {x}_quant_max"
    for x in ("a", "b")
) + (", float out_scale, int out_zero_point, int out_quant_min, int out_quant_max")
_WEIGHT = "Tensor weight, Tensor weight_scales"
_ZEROS = "Tensor? weight_zero_points"
_EMBEDDING = f"{_WEIGHT}, {_ZEROS}, int weight_quant_min, int weight_quant_max, Tensor indices"
_DYNAMIC = (
    f"Tensor input, {_WEIGHT}, Tensor? bias, bool per_token, bool symmetric, "
    "int quant_min, int quant_max, float eps"
)
_CONVOLUTION = (
    "int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups"
)
_POOL = "int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad"

# Functional schemas and their implementations. Each gets an out overload, `out` or `<overload>_out`.
_NEW: dict[str, dict[str, Callable[..., object]]] = {
    "quantized_decomposed": {
        f"add({_BINARY}) -> Tensor": reference.add,
        f"embedding_byte({_EMBEDDING}) -> Tensor": reference.embedding_byte,
        f"embedding_byte.dtype({_EMBEDDING}, *, ScalarType? dtype=None) -> Tensor": reference.embedding_byte,
        f"embedding_2bit({_EMBEDDING}) -> Tensor": reference.embedding_2bit,
        f"embedding_2bit.dtype({_EMBEDDING}, *, ScalarType? dtype=None) -> Tensor": reference.embedding_2bit,
        f"embedding_4bit({_EMBEDDING}) -> Tensor": reference.embedding_4bit,
        f"embedding_4bit.dtype({_EMBEDDING}, *, ScalarType? dtype=None) -> Tensor": reference.embedding_4bit,
        f"mixed_mm(Tensor input, {_WEIGHT}, {_ZEROS}) -> Tensor": reference.mixed_mm,
        f"mixed_linear(Tensor input, {_WEIGHT}, {_ZEROS}, ScalarType? dtype=None) -> Tensor": (
            reference.mixed_linear
        ),
    },
    "rushlight": {
        f"quantized_convolution(Tensor input, {_INPUT}, {_WEIGHT}, Tensor? bias, {_CONVOLUTION}, {_OUTPUT})"
        " -> Tensor": reference.quantized_convolution,
        f"quantized_linear(Tensor input, {_INPUT}, {_WEIGHT}, Tensor? bias, {_OUTPUT}) -> Tensor": (
            reference.quantized_linear
        ),
        f"quantized_mul({_BINARY}) -> Tensor": reference.mul,
        "quantized_lookup(Tensor input, Tensor table) -> Tensor": reference.quantized_lookup,
        f"quantized_mean(Tensor input, {_INPUT}, int[] dim, bool keepdim, {_OUTPUT}) -> Tensor": (
            reference.quantized_mean
        ),
        f"quantized_avg_pool2d(Tensor input, {_INPUT}, {_POOL}, {_OUTPUT}) -> Tensor": (
            reference.quantized_avg_pool2d
        ),
        f"quantized_softmax(Tensor input, Tensor exponentials, int dim, {_OUTPUT}) -> Tensor": (
            reference.quantized_softmax
        ),
        f"choose_qparams_per_token_symmetric(Tensor input, {_RANGE.format('')}, float eps, ScalarType dtype)"
        " -> (Tensor, Tensor)": reference.choose_qparams_per_token_symmetric,
        f"dynamic_linear({_DYNAMIC}) -> Tensor": reference.dynamic_linear,
        f"dynamic_linear_4bit({_DYNAMIC}) -> Tensor": reference.dynamic_linear_4bit,
        f"linear_4bit(Tensor input, {_WEIGHT}, {_ZEROS}, Tensor? bias) -> Tensor": reference.linear_4bit,
    },
}

_OUT = "Tensor(a!) out) -> Tensor(a!)"
_OUTS = "Tensor(a!) scale_out, Tensor(b!) zero_point_out) -> (Tensor(a!), Tensor(b!))"
_TENSORS = "Tensor scale, Tensor zero_point"

# Out variants of operators that torch defines, with the functional overload of each.
_OUT_VARIANTS: dict[str, str] = {
    f"quantize_per_tensor.out(Tensor input, {_QPARAMS.format('')}, {_RANGE.format('')}, ScalarType dtype, "
    f"*, {_OUT}": "quantize_per_tensor.default",
    f"quantize_per_tensor.Tensor_out(Tensor input, {_TENSORS}, {_RANGE.format('')}, ScalarType dtype, "
    f"*, {_OUT}": "quantize_per_tensor.tensor",
    f"dequantize_per_tensor.out(Tensor input, {_QPARAMS.format('')}, {_RANGE.format('')}, ScalarType dtype, "
    f"*, ScalarType? out_dtype=None, {_OUT}": "dequantize_per_tensor.default",
    f"dequantize_per_tensor.Tensor_out(Tensor input, {_TENSORS}, {_RANGE.format('')}, ScalarType dtype, "
    f"*, ScalarType? out_dtype=None, {_OUT}": "dequantize_per_tensor.tensor",
    f"quantize_per_tensor.tensor2_out(Tensor input, {_TENSORS}, Tensor quant_min, Tensor quant_max, "
    f"ScalarType dtype, *, {_OUT}": "quantize_per_tensor.tensor2",
    f"dequantize_per_tensor.tensor2_out(Tensor input, {_TENSORS}, Tensor quant_min, Tensor quant_max, "
    f"ScalarType dtype, *, ScalarType? out_dtype=None, {_OUT}": "dequantize_per_tensor.tensor2",
    f"fake_quant_per_channel.out(Tensor input, Tensor scales, Tensor zero_points, int axis, "
    f"{_RANGE.format('')}, *, {_OUT}": "fake_quant_per_channel.default",
    f"convert_element_type.no_fuse_out(Tensor input, ScalarType dtype, *, {_OUT}": (
        "convert_element_type.no_fuse"
    ),
    f"quantize_per_channel.out(Tensor input, Tensor scales, Tensor zero_points, int axis, "
    f"{_RANGE.format('')}, ScalarType dtype, *, {_OUT}": "quantize_per_channel.default",
    f"dequantize_per_channel.out(Tensor input, Tensor scales, Tensor? zero_points, int axis, "
    f"{_RANGE.format('')}, ScalarType dtype, *, ScalarType? out_dtype=None, {_OUT}": (
        "dequantize_per_channel.default"
    ),
    f"quantize_per_channel_group.out(Tensor input, Tensor scales, Tensor zero_points, {_RANGE.format('')}, "
    f"ScalarType dtype, int group_size, *, {_OUT}": "quantize_per_channel_group.default",
    f"dequantize_per_channel_group.out(Tensor input, Tensor scales, Tensor? zero_points, "
    f"{_RANGE.format('')}, ScalarType dtype, int group_size, ScalarType output_dtype, *, {_OUT}": (
        "dequantize_per_channel_group.default"
    ),
    f"quantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, {_RANGE.format('')}, "
    f"ScalarType dtype, *, {_OUT}": "quantize_per_token.default",
    f"dequantize_per_token.out(Tensor input, Tensor scales, Tensor zero_points, {_RANGE.format('')}, "
    f"ScalarType dtype, ScalarType output_dtype, *, {_OUT}": "dequantize_per_token.default",
    f"choose_qparams.Tensor_out(Tensor input, {_RANGE.format('')}, float eps, ScalarType dtype, *, "
    f"{_OUTS}": "choose_qparams.tensor",
    f"choose_qparams_symmetric.Tensor_out(Tensor input, {_RANGE.format('')}, float eps, ScalarType dtype, *, "
    f"{_OUTS}": "choose_qparams_symmetric.tensor",
    f"choose_qparams_per_token.out(Tensor input, ScalarType dtype, *, {_OUTS}": (
        "choose_qparams_per_token.default"
    ),
    f"choose_qparams_per_token_asymmetric.out(Tensor input, ScalarType dtype, *, {_OUTS}": (
        "choose_qparams_per_token_asymmetric.default"
    ),
}


def _out_schema(schema: str) -> str:
    """Returns the schema of the out variant, which writes the results into its last arguments."""
    name, _, rest = schema.partition("(")
    arguments, _, results = rest.rpartition(") -> ")
    star = "" if "*" in arguments else "*, "
    overload = f"{name}_out" if "." in name else f"{name}.out"
    return f"{overload}({arguments}, {star}{_OUT if results == 'Tensor' else _OUTS}"


def _outs(schema: str) -> tuple[str, ...]:
    return ("scale_out", "zero_point_out") if schema.endswith(_OUTS) else ("out",)


def _writer(functional: Callable[..., Any], outs: tuple[str, ...]) -> Callable[..., object]:
    """Returns an implementation that calls `functional` and copies the results into the tensors `outs`."""

    def run(*args: object, **kwargs: Any) -> object:
        targets = tuple(kwargs.pop(name) for name in outs)
        results = functional(*args, **kwargs)
        for target, result in zip(targets, results if len(outs) > 1 else (results,), strict=True):
            target.resize_(result.shape).copy_(result)
        return targets if len(outs) > 1 else targets[0]

    return run


def _define(library: torch.library.Library, schema: str, function: Callable[..., object]) -> None:
    name = schema.partition("(")[0]
    if torch._C._dispatch_has_kernel(f"{library.ns}::{name}"):
        return
    library.define(schema)
    library.impl(name, function, "CompositeExplicitAutograd")


def _op(namespace: str, name: str) -> OpOverload:
    packet, _, overload = name.partition(".")
    op: OpOverload = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
    return op


def _register() -> list[torch.library.Library]:
    libraries = []
    for namespace, operators in _NEW.items():
        library = torch.library.Library(namespace, "FRAGMENT")
        libraries.append(library)
        for schema, function in operators.items():
            _define(library, schema, function)
            functional = _op(namespace, schema.partition("(")[0])
            out = _out_schema(schema)
            _define(library, out, _writer(functional, _outs(out)))
        if namespace == "quantized_decomposed":
            for schema, functional_name in _OUT_VARIANTS.items():
                _define(library, schema, _writer(_op(namespace, functional_name), _outs(schema)))
    return libraries


def _choose_meta(
    input: torch.Tensor, quant_min: int, quant_max: int, eps: float, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (*input.shape[:-1], 1)
    return input.new_empty(shape), input.new_empty(shape, dtype=torch.int64)


_libraries = _register()
_libraries[-1].impl("choose_qparams_per_token_symmetric", _choose_meta, "Meta")
