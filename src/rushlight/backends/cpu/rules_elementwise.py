"""Elementwise operators: fused into the step before them, or into chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lowering import ChainBuilder, Lowering, rule
from rushlight.backends.cpu.plan.node import INFINITY
from rushlight.backends.cpu.plan.sizes import same
from rushlight.backends.cpu.plan.tables import BinaryFunction, Comparison, UnaryFunction
from rushlight.backends.cpu.plan.tensor import constant
from rushlight.backends.cpu.rules_masks import compare, dtype_of
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten
Bounds = tuple[float, float]


def _unary(lowering: Lowering, node: Node, function: UnaryFunction, p: float = 0.0, q: float = 0.0) -> None:
    source = node.args[0]
    found = lowering.convolution_of(source, node)
    if found is not None:
        step, convolution = found
        convolution.epilogue = replace(convolution.epilogue, function=function, p=p, q=q)
        assert isinstance(source, Node)
        lowering.fused(step, source, node)
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
    # A clamp of a clamp is one.
    convolution.epilogue = replace(e, low=min(max(e.low, low), high), high=min(max(e.high, low), high))
    assert isinstance(source, Node)
    lowering.fused(step, source, node)


def _plain(function: UnaryFunction) -> Callable[[Lowering, Node], None]:
    return lambda lowering, node: _unary(lowering, node, function)


for _op, _function in {
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
}.items():
    rule(_op)(_plain(_function))


@rule(aten.relu.default)
def relu(lowering: Lowering, node: Node) -> None:
    _clamp(lowering, node, 0.0, INFINITY)


@rule(aten.relu6.default)
def relu6(lowering: Lowering, node: Node) -> None:
    _clamp(lowering, node, 0.0, 6.0)


@rule(aten.hardtanh.default)
def hardtanh(lowering: Lowering, node: Node) -> None:
    _clamp(lowering, node, float(argument(node, 1, -1.0)), float(argument(node, 2, 1.0)))


@rule(aten.clamp.default)
def clamp(lowering: Lowering, node: Node) -> None:
    low, high = argument(node, 1), argument(node, 2)
    _clamp(lowering, node, -INFINITY if low is None else low, INFINITY if high is None else high)


@rule(aten.leaky_relu.default)
def leaky_relu(lowering: Lowering, node: Node) -> None:
    _unary(lowering, node, UnaryFunction.LEAKY_RELU, p=float(argument(node, 1, 0.01)))


@rule(aten.prelu.default)
def prelu(lowering: Lowering, node: Node) -> None:
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


@rule(aten.gelu.default)
def gelu(lowering: Lowering, node: Node) -> None:
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


@rule(aten.pow.Tensor_Scalar)
def power(lowering: Lowering, node: Node) -> None:
    _unary(lowering, node, POWERS[float(node.args[1])])  # type: ignore[arg-type]


def _single(lowering: Lowering, operand: Any) -> float | None:
    """The number that a constant operand of one element is."""
    value = lowering.constant_value(operand)
    return float(value) if value is not None and value.numel() == 1 else None


def _add_residual(lowering: Lowering, node: Node, source: Any, other: Any) -> bool:
    """Fuses source + other into the convolution that computes `source`."""
    found = lowering.convolution_of(source, node)
    if found is None or found[1].residual is not None or found[1].clamps or other in lowering.constants:
        return False
    step, convolution = found
    x, y = lowering.tensor(source), lowering.tensor(other)
    if not x.lies_as(y) or convolution.is_depthwise:
        return False
    out = convolution.output
    convolution.residual = replace(out, storage=y.storage, offset=y.offset + out.offset - x.offset)
    lowering.fused(step, source, node)
    return True


_BY_NUMBER: dict[BinaryFunction, Callable[[float, float], tuple[float, float]]] = {
    BinaryFunction.ADD: lambda number, p: (1.0, number),
    BinaryFunction.SUB: lambda number, p: (1.0, -number),
    BinaryFunction.ADD_SCALED: lambda number, p: (1.0, p * number),
    BinaryFunction.MUL: lambda number, p: (number, -0.0),
}
"""By function, the factor and the shift of what it does with a number."""


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


@rule(aten.add.Tensor, aten.add.Scalar)
def add(lowering: Lowering, node: Node) -> None:
    alpha = argument(node, 2, 1)
    _binary(lowering, node, BinaryFunction.ADD if alpha == 1 else BinaryFunction.ADD_SCALED, p=float(alpha))


@rule(aten.sub.Tensor, aten.sub.Scalar)
def sub(lowering: Lowering, node: Node) -> None:
    alpha = argument(node, 2, 1)
    _binary(lowering, node, BinaryFunction.SUB if alpha == 1 else BinaryFunction.ADD_SCALED, p=-float(alpha))


@rule(aten.mul.Tensor, aten.mul.Scalar)
def mul(lowering: Lowering, node: Node) -> None:
    _binary(lowering, node, BinaryFunction.MUL)


@rule(aten.div.Tensor, aten.div.Scalar)
def div(lowering: Lowering, node: Node) -> None:
    _binary(lowering, node, BinaryFunction.DIV)


@rule(aten.maximum.default)
def maximum(lowering: Lowering, node: Node) -> None:
    _binary(lowering, node, BinaryFunction.MAXIMUM)


@rule(aten.minimum.default)
def minimum(lowering: Lowering, node: Node) -> None:
    _binary(lowering, node, BinaryFunction.MINIMUM)
