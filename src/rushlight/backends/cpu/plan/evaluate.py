"""Evaluates the expressions of a plan."""

from __future__ import annotations

from collections.abc import Callable

from rushlight.backends.cpu.plan.tables import Plan

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
    """Returns the value of each expression, at the upper bounds of all symbols."""
    symbols = [symbol.upper for symbol in plan.symbols]
    return [_evaluate(expression.code, symbols) for expression in plan.expressions]


def _evaluate(code: list[int], symbols: list[int]) -> int:
    """Returns the value of an expression for the given values of the symbols."""
    stack: list[int] = []
    words = iter(code)
    for operation in words:
        if operation == CONSTANT:
            stack.append(next(words))
        elif operation == SYMBOL:
            stack.append(symbols[next(words)])
        else:
            b, a = stack.pop(), stack.pop()
            stack.append(_BINARY[operation](a, b))
    return stack[-1]
