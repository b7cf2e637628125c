"""Elementwise operators: fused into the step before them, or into chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.drafts import BINARY, INFINITY, UNARY
from rushlight.backends.cpu.lowering import Chain, Lowering, rule
from rushlight.backends.cpu.rules_masks import combine, dtype_of
from rushlight.backends.cpu.sizes import same
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten
Bounds = tuple[float, float]


def _unary(lowering: Lowering, node: Node, name: str, p: float = 0.0, q: float = 0.0) -> None:
    source = node.args[0]
    draft = lowering.convolution_of(source, node)
    if draft is not None:
        draft.epilogue = replace(draft.epilogue, op=UNARY[name], p=p, q=q)
        assert isinstance(source, Node)
        lowering.fused(draft, source, node)
        return
    chain = Chain(lowering, node, lowering.sizes(node))
    chain.add(UNARY[name], chain.take(source), p=p, q=q)
    chain.finish()


def _clamp(lowering: Lowering, node: Node, low: float, high: float) -> None:
    source = node.args[0]
    draft = lowering.convolution_of(source, node)
    if draft is None:
        chain = Chain(lowering, node, lowering.sizes(node))
        chain.add(UNARY["clamp"], chain.take(source), p=low, q=high)
        chain.finish()
        return
    e = draft.epilogue
    # A clamp of a clamp is one.
    draft.epilogue = replace(e, low=min(max(e.low, low), high), high=min(max(e.high, low), high))
    assert isinstance(source, Node)
    lowering.fused(draft, source, node)


def _plain(name: str) -> Callable[[Lowering, Node], None]:
    return lambda lowering, node: _unary(lowering, node, name)


for _op, _name in {
    aten.abs.default: "abs",
    aten.neg.default: "neg",
    aten.hardsigmoid.default: "hardsigmoid",
    aten.hardswish.default: "hardswish",
    aten.sqrt.default: "sqrt",
    aten.rsqrt.default: "rsqrt",
    aten.reciprocal.default: "reciprocal",
    aten.square.default: "square",
    aten.exp.default: "exp",
    aten.log.default: "log",
    aten.tanh.default: "tanh",
    aten.erf.default: "erf",
    aten.sigmoid.default: "sigmoid",
    aten.silu.default: "silu",
}.items():
    rule(_op)(_plain(_name))


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
    _unary(lowering, node, "leaky_relu", p=float(argument(node, 1, 0.01)))


@rule(aten.prelu.default)
def prelu(lowering: Lowering, node: Node) -> None:
    slopes = lowering.constant_value(node.args[1])
    assert slopes is not None
    if slopes.numel() == 1:
        _unary(lowering, node, "leaky_relu", p=float(slopes))
        return
    sizes = lowering.sizes(node)
    factors = lowering.constant(slopes.float().view(-1, *(1,) * (len(sizes) - 2)))
    chain = Chain(lowering, node, sizes)
    x = chain.take(node.args[0])
    scaled = chain.add(
        BINARY["mul"], chain.add(UNARY["clamp"], x, p=-INFINITY, q=0.0), chain.operand(factors)
    )
    chain.add(BINARY["add"], chain.add(UNARY["relu"], x), scaled)
    chain.finish()


@rule(aten.gelu.default)
def gelu(lowering: Lowering, node: Node) -> None:
    _unary(lowering, node, "gelu_tanh" if argument(node, 1, "none") == "tanh" else "gelu")


POWERS = {
    2.0: "square",
    3.0: "cube",
    0.5: "sqrt",
    -0.5: "rsqrt",
    -1.0: "reciprocal",
    -2.0: "reciprocal_square",
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
    draft = lowering.convolution_of(source, node)
    if draft is None or draft.residual is not None or draft.epilogue.clamps or other in lowering.constants:
        return False
    x, y = lowering.tensor(source), lowering.tensor(other)
    if not x.lies_as(y) or draft.is_depthwise:
        return False
    out = draft.out
    draft.operands[3] = replace(out, storage=y.storage, offset=y.offset + out.offset - x.offset)
    lowering.fused(draft, source, node)
    return True


def _binary(lowering: Lowering, node: Node, name: str, p: float = 0.0) -> None:
    a, b = node.args[0], node.args[1]
    if dtype_of(node) is not torch.float32:
        combine(lowering, node, name, a, b)
        return
    sizes = lowering.sizes(node)
    if name == "add" and isinstance(a, Node) and isinstance(b, Node) and a is not b:
        if _add_residual(lowering, node, b, a) or _add_residual(lowering, node, a, b):
            return
    chain = Chain(lowering, node, sizes)
    number = _single(lowering, b)
    if number is not None and name in ("add", "sub", "mul", "add_scaled"):
        first = lowering.tensor(a)
        if first.rank == len(sizes) and all(same(s, t) for s, t in zip(first.sizes, sizes, strict=True)):
            x = chain.take(a)
            shift = {"add": number, "sub": -number, "add_scaled": p * number, "mul": -0.0}[name]
            chain.add(UNARY["affine"], x, p=number if name == "mul" else 1.0, q=shift)
            chain.finish()
            return
    chain.add(BINARY[name], chain.take(a), chain.take(b), p=p)
    chain.finish()


@rule(aten.add.Tensor, aten.add.Scalar)
def add(lowering: Lowering, node: Node) -> None:
    alpha = argument(node, 2, 1)
    _binary(lowering, node, "add" if alpha == 1 else "add_scaled", p=float(alpha))


@rule(aten.sub.Tensor, aten.sub.Scalar)
def sub(lowering: Lowering, node: Node) -> None:
    alpha = argument(node, 2, 1)
    _binary(lowering, node, "sub" if alpha == 1 else "add_scaled", p=-float(alpha))


@rule(aten.mul.Tensor, aten.mul.Scalar)
def mul(lowering: Lowering, node: Node) -> None:
    _binary(lowering, node, "mul")


@rule(aten.div.Tensor, aten.div.Scalar)
def div(lowering: Lowering, node: Node) -> None:
    _binary(lowering, node, "div")


@rule(aten.maximum.default)
def maximum(lowering: Lowering, node: Node) -> None:
    _binary(lowering, node, "maximum")


@rule(aten.minimum.default)
def minimum(lowering: Lowering, node: Node) -> None:
    _binary(lowering, node, "minimum")
