"""Names the steps of a plan for users, as the runtime names them in traces and error messages."""

from __future__ import annotations

from rushlight.backends.cpu.plan import tables as t
from rushlight.backends.cpu.plan.operation import Operation
from rushlight.format.program import ScalarType

_NAMES: dict[type[Operation[int]], str] = {
    t.BlockGemm: "int16 block GEMM",
    t.DepthwiseConv2d: "depthwise convolution",
    t.GroupedConv2d: "grouped convolution",
    t.Bottleneck: "bottleneck",
    t.Pool2d: "pooling",
    t.Elementwise: "elementwise chain",
    t.Copy: "copy",
    t.Reduce: "reduction",
    t.Softmax: "softmax",
    t.Normalize: "normalization",
    t.GroupNormStatistics: "group norm statistics",
    t.Attention: "attention",
    t.MatMul: "matrix multiplication",
    t.Gather: "gather",
    t.Take: "index select",
    t.CumulativeSum: "cumulative sum",
    t.Compare: "comparison",
    t.Where: "where",
    t.Scatter: "scatter",
    t.Resize2d: "resize",
    t.Int8DepthwiseConv2d: "int8 depthwise convolution",
    t.Int8GroupedConv2d: "int8 grouped convolution",
    t.Int8Pool2d: "int8 pooling",
    t.Int8Mean: "int8 mean",
    t.Int8Lookup: "int8 lookup table",
    t.Quantize: "quantization",
    t.Dequantize: "dequantization",
    t.DynamicQuantize: "dynamic quantization",
    t.Int4Gemm: "int8 GEMM with int4 weights",
}


def step_name(plan: t.Plan, operation: Operation[int]) -> str:
    """Returns the name of a step. The function `name()` of the runtime's step returns the same name.

    When the runtime loads the plan, it may choose another algorithm for an int8 convolution (int8 Winograd)
    or an int16 block GEMM (float32). Its name is then that of this algorithm.

    Args:
        plan: the plan.
        operation: the operation of one of its steps.

    Returns:
        The name, such as "convolution".
    """
    match operation:
        case t.Gemm():
            return _gemm(operation.window)
        case t.Int8Gemm():
            return "int8 " + _gemm(operation.window)
        case t.Winograd(stride=2):
            return "Winograd, stride 2"
        case t.Winograd():
            return f"Winograd convolution F{operation.m}"
        case t.Int8Binary():
            return "int8 multiplication" if operation.multiplies else "int8 addition"
        case t.Convert():
            widens = plan.values[operation.input].dtype != ScalarType.FLOAT
            return "conversion to float32" if widens else "conversion from float32"
        case t.Recurrent():
            return "GRU" if operation.is_gru else "LSTM"
        case t.WeightOnlyRecurrent():
            return f"{'GRU' if operation.is_gru else 'LSTM'} with int{operation.bits} weights"
        case t.WeightOnlyGemm():
            return f"GEMM with int{operation.bits} weights"
        case t.QuantizedGather():
            return f"gather of int{operation.bits} rows"
    return _NAMES[type(operation)]


def _gemm(window: t.Window) -> str:
    return "convolution" if window.kernel_h * window.kernel_w > 1 else "GEMM"
