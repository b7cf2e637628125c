"""Evaluates the expressions of a plan."""

from __future__ import annotations

from collections.abc import Callable

from rushlight.backends.cpu.plan.tables import Plan
from rushlight.format.errors import MalformedError

CONSTANT, SYMBOL, ADD, MULTIPLY, FLOOR_DIVIDE, MODULUS, MAXIMUM, MINIMUM = range(8)
"""The operations of an expression, which is a program for a stack machine: see schema/cpu_plan.fbs."""

_BINARY: dict[int, Callable[[int, int], int]] = {
    ADD: lambda a, b: a + b,
    MULTIPLY: lambda a, b: a * b,
    FLOOR_DIVIDE: lambda a, b: a // b if b else 0,
    MODULUS: lambda a, b: a % b if b else 0,
    MAXIMUM: max,
    MINIMUM: min,
}


def numbers(plan: Plan) -> list[int]:
    """Returns the value of each expression, at the upper bounds of all symbols.

    Raises:
        MalformedError: a number does not fit into 64 bits.
    """
    symbols = [symbol.upper for symbol in plan.symbols]
    return [_evaluate(index, expression.code, symbols) for index, expression in enumerate(plan.expressions)]


def _evaluate(index: int, code: list[int], symbols: list[int]) -> int:
    """Returns the value of expression `index` for the given values of the symbols."""
    stack: list[int] = []
    words = iter(code)
    for operation in words:
        if operation == CONSTANT:
            stack.append(next(words))
        elif operation == SYMBOL:
            stack.append(symbols[next(words)])
        else:
            b, a = stack.pop(), stack.pop()
            result = _BINARY[operation](a, b)
            if not -(2**63) <= result < 2**63:
                raise MalformedError(f"expression {index} of the plan cannot be computed: it overflows")
            stack.append(result)
    return stack[-1]
