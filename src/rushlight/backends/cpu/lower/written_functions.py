"""Finds functions that a model writes as several operators, such as x * sigmoid(x) for SiLU.

The constants and the order of the operators differ from model to model. Therefore a chain is evaluated at
some points, in float64, and compared with the functions of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor as Numbers
from torch.fx import Node
from torch.nn import functional

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.plan.node import Chain, ChainInstruction, Convolution
from rushlight.backends.cpu.plan.tables import BinaryFunction, UnaryFunction
from rushlight.backends.cpu.plan.tensor import Tensor

_KNOWN: dict[UnaryFunction, Callable[[Numbers], Numbers]] = {
    UnaryFunction.SILU: functional.silu,
    UnaryFunction.GELU: functional.gelu,
    UnaryFunction.GELU_TANH: lambda x: functional.gelu(x, approximate="tanh"),
    UnaryFunction.MISH: functional.mish,
}
"""The functions that are found. Like all of `_UNARY`, they are smooth: a chain does not differ between the
points.
"""

_UNARY: dict[UnaryFunction, Callable[[Numbers, float, float], Numbers]] = {
    UnaryFunction.NEG: lambda x, p, q: -x,
    UnaryFunction.AFFINE: lambda x, p, q: p * x + q,
    UnaryFunction.SQUARE: lambda x, p, q: x.square(),
    UnaryFunction.CUBE: lambda x, p, q: x**3,
    UnaryFunction.RECIPROCAL: lambda x, p, q: x.reciprocal(),
    UnaryFunction.EXP: lambda x, p, q: x.exp(),
    UnaryFunction.LOG1P: lambda x, p, q: x.log1p(),
    UnaryFunction.TANH: lambda x, p, q: x.tanh(),
    UnaryFunction.ERF: lambda x, p, q: x.erf(),
    UnaryFunction.SIGMOID: lambda x, p, q: x.sigmoid(),
    UnaryFunction.SOFTPLUS: lambda x, p, q: functional.softplus(x, p, q),
}
_BINARY: dict[BinaryFunction, Callable[[Numbers, Numbers, float], Numbers]] = {
    BinaryFunction.ADD: lambda a, b, p: a + b,
    BinaryFunction.SUB: lambda a, b, p: a - b,
    BinaryFunction.MUL: lambda a, b, p: a * b,
    BinaryFunction.DIV: lambda a, b, p: a / b,
    BinaryFunction.ADD_SCALED: lambda a, b, p: a + p * b,
}

_RELATIVE, _ABSOLUTE = 1e-6, 1e-7  # models write constants such as sqrt(2 / pi) with eight or more digits


def written_function(lowering: Lowering, node: Node) -> None:
    """Replaces the chain that computes a node by one function, if it computes a known function of a tensor.

    The function becomes a part of the convolution or the product that computes this tensor, if nothing else
    reads it.

    Args:
        lowering: the steps emitted so far; the last one computes the node.
        node: a product or a quotient.
    """
    step = lowering.steps[-1] if lowering.steps else None
    chain = None if step is None else step.of(Chain)
    if step is None or chain is None or node not in step.nodes:
        return
    variables = [tensor for tensor in chain.inputs if _number(tensor) is None]
    function = _function_of(chain) if len(variables) == 1 else None
    if function is None:
        return
    (x,) = chain.inputs = variables
    chain.code = [ChainInstruction(function, (0,))]
    producer = lowering.aliases.sole_writer_for_step(x, step)
    convolution = None if producer is None else producer.of(Convolution)
    if producer is None or convolution is None or convolution.has_function or not x.is_dense():
        return
    convolution.epilogue = replace(convolution.epilogue, function=function)
    lowering.remove_step(step)
    lowering.remove_step(producer)
    producer.nodes += step.nodes
    lowering.append_step(producer, None)
    lowering.set_tensor(node, x)


@cache
def _points() -> Numbers:
    return torch.cat([torch.linspace(-12, 12, 385, dtype=torch.float64), torch.tensor([-40.0, 40.0])])


def _number(tensor: Tensor) -> float | None:
    """Returns the number that all elements of a constant are equal to, if the constant is a number."""
    data = tensor.storage.data if tensor.is_constant else None
    return float(data) if data is not None and data.numel() == 1 else None


def _function_of(chain: Chain) -> UnaryFunction | None:
    """Returns the known function that a chain with one variable computes; None if there is none."""
    x = _points()
    inputs = [
        x if (number := _number(tensor)) is None else torch.full_like(x, number) for tensor in chain.inputs
    ]
    results: list[Numbers] = []
    for step in chain.code:
        # Source -1 is the first result, -2 the second.
        operands = [inputs[source] if source >= 0 else results[-source - 1] for source in step.sources]
        if isinstance(step.function, UnaryFunction):
            unary = _UNARY.get(step.function)
            result = None if unary is None else unary(operands[0], step.p, step.q)
        else:
            binary = _BINARY.get(step.function)
            result = None if binary is None else binary(operands[0], operands[1], step.p)
        if result is None:
            return None
        results.append(result)
    for function, known in _KNOWN.items() if len(results) > 1 else ():
        if torch.allclose(results[-1], known(x), rtol=_RELATIVE, atol=_ABSOLUTE):
            return function
    return None
