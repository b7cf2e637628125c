"""Evaluates the expressions of a plan."""

from __future__ import annotations

from rushlight.backends.cpu.plan.tables import Plan


def numbers(plan: Plan) -> list[int]:
    """Returns the value of each expression, at the upper bounds of all symbols."""
    symbols = [symbol.upper for symbol in plan.symbols]
    return [_evaluate(expression.code, symbols) for expression in plan.expressions]


def _evaluate(code: list[int], symbols: list[int]) -> int:
    """Returns the value of an expression: see schema/cpu_plan.fbs."""
    stack: list[int] = []
    at = 0
    while at < len(code):
        op = code[at]
        at += 1
        if op < 2:
            stack.append(code[at] if op == 0 else symbols[code[at]])
            at += 1
            continue
        b, a = stack.pop(), stack.pop()
        stack.append((a + b, a * b, a // b if b else 0, a % b if b else 0, max(a, b), min(a, b))[op - 2])
    return stack[-1]
