"""Lowers elementwise operators: they are fused into convolutions or into elementwise chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.comparisons import compare
from rushlight.backends.cpu.lower.lowering import ChainBuilder, Lowering
from rushlight.backends.cpu.lower.nodes import dtype_of
from rushlight.backends.cpu.lower.row import Category, Check, Lower, Row, rows
from rushlight.backends.cpu.lower.written_functions import written_function
from rushlight.backends.cpu.lower.written_norms import shifted_norm, weighted_norm, written_norm
from rushlight.backends.cpu.plan.node import INFINITY
from rushlight.backends.cpu.plan.sizes import same
from rushlight.backends.cpu.plan.tables import BinaryFunction, Comparison, UnaryFunction
from rushlight.backends.cpu.plan.tensor import constant
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument, aten_op

aten = torch.ops.aten
Bounds = tuple[float, float]


def _unary(lowering: Lowering, node: Node, function: UnaryFunction, p: float = 0.0, q: float = 0.0) -> None:
    source = node.args[0]
    found = lowering.convolution_of(source, node)
    if found is not None:
        step, convolution = found
        convolution.epilogue = replace(convolution.epilogue, function=function, p=p, q=q)
        assert isinstance(source, Node)
        lowering.append_fused(step, source, node)
        return
    chain = ChainBuilder(lowering, node, lowering.sizes(node))
    chain.add(function, chain.take(source), p=p, q=q)
    chain.finish()


def _clamp(lowering: Lowering, node: Node, low: float, high: float) -> None:
    source = node.args[0]
    found = lowering.convolution_of(source, node)
    if found is None:
        chain = ChainBuilder(lowering, node, lowering.sizes(node))
        chain.add(UnaryFunction.CLAMP, chain.take(source), p=low, q=high)
        chain.finish()
        return
    step, convolution = found
    e = convolution.epilogue
    # Two consecutive clamps are one clamp.
    convolution.epilogue = replace(e, low=min(max(e.low, low), high), high=min(max(e.high, low), high))
    assert isinstance(source, Node)
    lowering.append_fused(step, source, node)


def plain(function: UnaryFunction) -> Callable[[Lowering, Node], None]:
    """Returns a function that lowers nodes which apply a function without parameters."""
    return lambda lowering, node: _unary(lowering, node, function)


FUNCTIONS = {
    aten.abs.default: UnaryFunction.ABS,
    aten.neg.default: UnaryFunction.NEG,
    aten.hardsigmoid.default: UnaryFunction.HARDSIGMOID,
    aten.hardswish.default: UnaryFunction.HARDSWISH,
    aten.sqrt.default: UnaryFunction.SQRT,
    aten.rsqrt.default: UnaryFunction.RSQRT,
    aten.reciprocal.default: UnaryFunction.RECIPROCAL,
    aten.square.default: UnaryFunction.SQUARE,
    aten.exp.default: UnaryFunction.EXP,
    aten.log.default: UnaryFunction.LOG,
    aten.tanh.default: UnaryFunction.TANH,
    aten.erf.default: UnaryFunction.ERF,
    aten.sigmoid.default: UnaryFunction.SIGMOID,
    aten.silu.default: UnaryFunction.SILU,
    aten.sin.default: UnaryFunction.SIN,
    aten.cos.default: UnaryFunction.COS,
    aten.log1p.default: UnaryFunction.LOG1P,
    aten.expm1.default: UnaryFunction.EXPM1,
    aten.log2.default: UnaryFunction.LOG2,
    aten.log10.default: UnaryFunction.LOG10,
    aten.mish.default: UnaryFunction.MISH,
    aten.floor.default: UnaryFunction.FLOOR,
    aten.ceil.default: UnaryFunction.CEIL,
    aten.trunc.default: UnaryFunction.TRUNC,
    aten.round.default: UnaryFunction.ROUND,
    aten.sign.default: UnaryFunction.SIGN,
}
"""Operators that apply a function without parameters."""


def relu(lowering: Lowering, node: Node) -> None:
    """Lowers relu to a clamp to [0, inf]."""
    _clamp(lowering, node, 0.0, INFINITY)


def relu6(lowering: Lowering, node: Node) -> None:
    """Lowers relu6 to a clamp to [0, 6]."""
    _clamp(lowering, node, 0.0, 6.0)


def hardtanh(lowering: Lowering, node: Node) -> None:
    """Lowers hardtanh to a clamp to its bounds, [-1, 1] by default."""
    _clamp(lowering, node, float(argument(node, 1, -1.0)), float(argument(node, 2, 1.0)))


def clamp_between(lowering: Lowering, node: Node) -> None:
    """Lowers clamp with tensors as bounds to a maximum and a minimum."""
    chain = ChainBuilder(lowering, node, lowering.sizes(node))
    x = chain.take(node.args[0])
    for function, bound in (
        (BinaryFunction.MAXIMUM, argument(node, 1)),
        (BinaryFunction.MINIMUM, argument(node, 2)),
    ):
        if bound is not None:
            x = chain.add(function, x, chain.take(bound))
    chain.finish()


def clamp(lowering: Lowering, node: Node) -> None:
    """Lowers clamp; a bound that is None is replaced by an infinite bound."""
    low, high = argument(node, 1), argument(node, 2)
    _clamp(lowering, node, -INFINITY if low is None else low, INFINITY if high is None else high)


def leaky_relu(lowering: Lowering, node: Node) -> None:
    """Lowers leaky_relu; its slope is 0.01 by default."""
    _unary(lowering, node, UnaryFunction.LEAKY_RELU, p=float(argument(node, 1, 0.01)))


def prelu(lowering: Lowering, node: Node) -> None:
    """Lowers prelu with one slope to leaky_relu, otherwise to relu(x) + slope * min(x, 0) by channel."""
    slopes = lowering.constant_value(node.args[1])
    assert slopes is not None
    if slopes.numel() == 1:
        _unary(lowering, node, UnaryFunction.LEAKY_RELU, p=float(slopes))
        return
    sizes = lowering.sizes(node)
    factors = constant(slopes.float().view(-1, *(1,) * (len(sizes) - 2)))
    chain = ChainBuilder(lowering, node, sizes)
    x = chain.take(node.args[0])
    scaled = chain.add(
        BinaryFunction.MUL, chain.add(UnaryFunction.CLAMP, x, p=-INFINITY, q=0.0), chain.operand(factors)
    )
    chain.add(BinaryFunction.ADD, chain.add(UnaryFunction.RELU, x), scaled)
    chain.finish()


def elu(lowering: Lowering, node: Node) -> None:
    """Lowers elu.

    With an input factor s, elu(x) = scale * relu(x) + scale * alpha * (e^(s * min(x, 0)) - 1).
    """
    alpha, scale, input_scale = (float(argument(node, i, 1)) for i in (1, 2, 3))
    if input_scale == 1:
        _unary(lowering, node, UnaryFunction.ELU, p=alpha * scale, q=scale)
        return
    chain = ChainBuilder(lowering, node, lowering.sizes(node))
    x = chain.take(node.args[0])
    below = chain.add(UnaryFunction.CLAMP, x, p=-INFINITY, q=0.0)
    power = chain.add(UnaryFunction.EXPM1, chain.add(UnaryFunction.AFFINE, below, p=input_scale, q=0.0))
    above = chain.add(UnaryFunction.RELU, x)
    if scale != 1:
        above = chain.add(UnaryFunction.AFFINE, above, p=scale, q=0.0)
    chain.add(BinaryFunction.ADD_SCALED, above, power, p=alpha * scale)
    chain.finish()


def softplus(lowering: Lowering, node: Node) -> None:
    """Lowers softplus."""
    beta, threshold = float(argument(node, 1, 1)), float(argument(node, 2, 20))
    _unary(lowering, node, UnaryFunction.SOFTPLUS, p=beta, q=threshold)


def gelu(lowering: Lowering, node: Node) -> None:
    """Lowers gelu, exact or with the approximation by tanh."""
    _unary(
        lowering, node, UnaryFunction.GELU_TANH if argument(node, 1, "none") == "tanh" else UnaryFunction.GELU
    )


POWERS = {
    2.0: UnaryFunction.SQUARE,
    3.0: UnaryFunction.CUBE,
    0.5: UnaryFunction.SQRT,
    -0.5: UnaryFunction.RSQRT,
    -1.0: UnaryFunction.RECIPROCAL,
    -2.0: UnaryFunction.RECIPROCAL_SQUARE,
}


def power(lowering: Lowering, node: Node) -> None:
    """Lowers a power whose exponent is in POWERS, or 0.75, 1.5 or 4 as a product of two powers."""
    exponent = float(node.args[1])  # type: ignore[arg-type]
    if exponent in POWERS:
        _unary(lowering, node, POWERS[exponent])
        return
    chain = ChainBuilder(lowering, node, lowering.sizes(node))
    x = chain.take(node.args[0])
    if exponent == 4:
        chain.add(UnaryFunction.SQUARE, chain.add(UnaryFunction.SQUARE, x))
    else:
        root = chain.add(UnaryFunction.SQRT, x)
        chain.add(BinaryFunction.MUL, root, x if exponent == 1.5 else chain.add(UnaryFunction.SQRT, root))
    chain.finish()


def _single(lowering: Lowering, operand: object) -> float | None:
    """Returns the value of a constant operand with one element."""
    value = lowering.constant_value(operand)
    return float(value) if value is not None and value.numel() == 1 else None


def _add_residual(lowering: Lowering, node: Node, source: Any, other: object) -> bool:
    """Fuses source + other into the convolution that computes `source`; returns whether this was possible."""
    found = lowering.convolution_of(source, node)
    if found is None or found[1].residual is not None or found[1].clamps or other in lowering.constants:
        return False
    step, convolution = found
    x, y = lowering.tensor(source), lowering.tensor(other)
    if not x.has_layout_of(y) or convolution.is_depthwise or convolution.has_small_groups:
        return False
    out = convolution.output
    convolution.residual = replace(out, storage=y.storage, offset=y.offset + out.offset - x.offset)
    lowering.append_fused(step, source, node)
    return True


_BY_NUMBER: dict[BinaryFunction, Callable[[float, float], tuple[float, float]]] = {
    BinaryFunction.ADD: lambda number, p: (1.0, number),
    BinaryFunction.SUB: lambda number, p: (1.0, -number),
    BinaryFunction.ADD_SCALED: lambda number, p: (1.0, p * number),
    BinaryFunction.MUL: lambda number, p: (number, -0.0),
}
"""For each function whose second operand is a number: the factor and the shift that replace the function."""


def _binary(lowering: Lowering, node: Node, function: BinaryFunction, p: float = 0.0) -> None:
    a, b = node.args[0], node.args[1]
    if dtype_of(node) is not torch.float32:
        compare(lowering, node, Comparison[function.name], a, b)
        return
    sizes = lowering.sizes(node)
    if function is BinaryFunction.ADD and isinstance(a, Node) and isinstance(b, Node) and a is not b:
        if _add_residual(lowering, node, b, a) or _add_residual(lowering, node, a, b):
            return
    chain = ChainBuilder(lowering, node, sizes)
    number = _single(lowering, b)
    if number is not None and function in _BY_NUMBER:
        first = lowering.tensor(a)
        if first.rank == len(sizes) and all(same(s, t) for s, t in zip(first.sizes, sizes, strict=True)):
            x = chain.take(a)
            factor, shift = _BY_NUMBER[function](number, p)
            chain.add(UnaryFunction.AFFINE, x, p=factor, q=shift)
            chain.finish()
            return
    chain.add(function, chain.take(a), chain.take(b), p=p)
    chain.finish()


def add(lowering: Lowering, node: Node) -> None:
    """Lowers a + alpha * b.

    If a convolution computes one operand and only this node reads it, the addition is fused into the
    convolution. A constant row that is added to a norm is a part of the norm.
    """
    alpha = argument(node, 2, 1)
    if alpha == 1 and shifted_norm(lowering, node):
        return
    _binary(lowering, node, BinaryFunction.ADD if alpha == 1 else BinaryFunction.ADD_SCALED, p=float(alpha))


def sub(lowering: Lowering, node: Node) -> None:
    """Lowers a - alpha * b."""
    alpha = argument(node, 2, 1)
    _binary(lowering, node, BinaryFunction.SUB if alpha == 1 else BinaryFunction.ADD_SCALED, p=-float(alpha))


def mul(lowering: Lowering, node: Node) -> None:
    """Lowers the elementwise product of two tensors.

    It may be a norm, the product of a norm with a weight, or an activation.
    """
    if written_norm(lowering, node) or weighted_norm(lowering, node):
        return
    _binary(lowering, node, BinaryFunction.MUL)
    written_function(lowering, node)


def div(lowering: Lowering, node: Node) -> None:
    """Lowers the elementwise quotient of two tensors, which may be a norm or an activation."""
    if written_norm(lowering, node):
        return
    _binary(lowering, node, BinaryFunction.DIV)
    written_function(lowering, node)


def maximum(lowering: Lowering, node: Node) -> None:
    """Lowers the elementwise maximum of two tensors."""
    _binary(lowering, node, BinaryFunction.MAXIMUM)


def minimum(lowering: Lowering, node: Node) -> None:
    """Lowers the elementwise minimum of two tensors."""
    _binary(lowering, node, BinaryFunction.MINIMUM)


def atan2(lowering: Lowering, node: Node) -> None:
    """Lowers atan2(a, b), the angle of the point (b, a)."""
    _binary(lowering, node, BinaryFunction.ATAN2)


def _arcsine(chain: ChainBuilder, x: int, is_cosine: bool = False) -> None:
    """Appends asin(x) = atan2(x, y) or acos(x) = atan2(y, x), where y = sqrt((1 - x) (1 + x))."""
    factors = [chain.add(UnaryFunction.AFFINE, x, p=sign, q=1.0) for sign in (-1.0, 1.0)]
    y = chain.add(UnaryFunction.SQRT, chain.add(BinaryFunction.MUL, *factors))
    chain.add(BinaryFunction.ATAN2, *((y, x) if is_cosine else (x, y)))


def _artanh(chain: ChainBuilder, x: int) -> None:
    """Appends (log(1 + x) - log(1 - x)) / 2. The logarithms have different signs, so that nothing cancels."""
    below = chain.add(UnaryFunction.LOG1P, chain.add(UnaryFunction.NEG, x))
    difference = chain.add(BinaryFunction.SUB, chain.add(UnaryFunction.LOG1P, x), below)
    chain.add(UnaryFunction.AFFINE, difference, p=0.5, q=-0.0)


def _hyperbolic(chain: ChainBuilder, x: int, is_cosine: bool) -> None:
    """Appends sinh(x) or cosh(x), which do not overflow before their result does.

    sinh(x) is (a (a + 2) - b (b + 2)) / 2 for a = e^(x / 2) - 1 and b = e^(-x / 2) - 1. cosh(x) is
    (a a + b b) / 2 for a = e^(x / 2) and b = e^(-x / 2).
    """
    parts = []
    for half in (0.5, -0.5):
        exponent = chain.add(UnaryFunction.AFFINE, x, p=half, q=-0.0)
        power = chain.add(UnaryFunction.EXP if is_cosine else UnaryFunction.EXPM1, exponent)
        other = power if is_cosine else chain.add(UnaryFunction.AFFINE, power, p=1.0, q=2.0)
        parts.append(
            chain.add(BinaryFunction.MUL, chain.add(UnaryFunction.AFFINE, power, p=0.5, q=-0.0), other)
        )
    chain.add(BinaryFunction.ADD if is_cosine else BinaryFunction.SUB, *parts)


FORMULAS: dict[object, Callable[[ChainBuilder, int], Any]] = {
    aten.atan.default: lambda c, x: c.add(BinaryFunction.ATAN2, x, c.operand(constant(torch.ones(())))),
    aten.asin.default: _arcsine,
    aten.acos.default: lambda c, x: _arcsine(c, x, is_cosine=True),
    aten.tan.default: lambda c, x: c.add(
        BinaryFunction.DIV, c.add(UnaryFunction.SIN, x), c.add(UnaryFunction.COS, x)
    ),
    aten.atanh.default: _artanh,
    aten.sinh.default: lambda c, x: _hyperbolic(c, x, is_cosine=False),
    aten.cosh.default: lambda c, x: _hyperbolic(c, x, is_cosine=True),
}
"""Operators that several functions compute. A plan is much faster than their kernels."""


def formula(lowering: Lowering, node: Node) -> None:
    """Lowers an operator of FORMULAS to a chain."""
    chain = ChainBuilder(lowering, node, lowering.sizes(node))
    FORMULAS[aten_op(node.target)](chain, chain.take(node.args[0]))
    chain.finish()


# Checks: each returns the reason why a node is refused, or None.


def check_prelu(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the slopes are not constant."""
    return None if constants.is_constant(node.args[1]) else "its slopes are not constant"


def check_elu(node: Node, constants: Constants) -> str | None:
    """Refuses the node if a parameter is symbolic, or the factor of the input is not positive."""
    numbers = [argument(node, i, 1) for i in (1, 2, 3)]
    if not all(isinstance(n, (int, float)) for n in numbers):
        return "its parameters are symbolic"
    return None if numbers[2] > 0 else "the factor of its input is not positive"


def check_softplus(node: Node, constants: Constants) -> str | None:
    """Refuses the node if a parameter is symbolic."""
    numbers = [argument(node, i, 1) for i in (1, 2)]
    return None if all(isinstance(n, (int, float)) for n in numbers) else "its parameters are symbolic"


def check_pow(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the exponent is not in POWERS."""
    exponent = node.args[1]
    is_supported = isinstance(exponent, (int, float)) and float(exponent) in (*POWERS, 0.75, 1.5, 4.0)
    return None if is_supported else f"plans do not support its exponent {exponent}"


def check_clamp(node: Node, constants: Constants) -> str | None:
    """Refuses the node if a bound is symbolic or NaN."""
    numbers = [n for n in (argument(node, 1), argument(node, 2)) if n is not None]
    if not all(isinstance(n, (int, float)) for n in numbers):
        return "its bounds are symbolic"
    return "a bound is NaN" if any(n != n for n in numbers) else None


def check_add(node: Node, constants: Constants) -> str | None:
    """Refuses the node if alpha is symbolic."""
    return None if isinstance(argument(node, 2, 1), (int, float)) else "its factor alpha is symbolic"


def _row(lower: Lower, check: Check | None = None) -> Row:
    return Row(check, lower, Category.ELEMENTWISE)


ROWS: dict[object, Row] = {
    **{op: _row(plain(function)) for op, function in FUNCTIONS.items()},
    aten.relu.default: _row(relu),
    aten.relu6.default: _row(relu6),
    aten.hardtanh.default: _row(hardtanh, check_clamp),
    aten.clamp.default: _row(clamp, check_clamp),
    aten.leaky_relu.default: _row(leaky_relu),
    aten.prelu.default: _row(prelu, check_prelu),
    aten.elu.default: _row(elu, check_elu),
    aten.softplus.default: _row(softplus, check_softplus),
    aten.gelu.default: _row(gelu),
    aten.pow.Tensor_Scalar: _row(power, check_pow),
    aten.add.Tensor: _row(add, check_add),
    aten.add.Scalar: _row(add, check_add),
    aten.sub.Tensor: _row(sub, check_add),
    aten.sub.Scalar: _row(sub, check_add),
    aten.mul.Tensor: _row(mul),
    aten.mul.Scalar: _row(mul),
    aten.div.Tensor: _row(div),
    aten.div.Scalar: _row(div),
    aten.maximum.default: _row(maximum),
    aten.minimum.default: _row(minimum),
    aten.atan2.default: _row(atan2),
    **rows(FORMULAS, Row(None, formula)),
    aten.clamp.Tensor: _row(clamp_between),
}
