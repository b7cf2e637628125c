"""Checks the references between the tables of a plan whose bytes are not trusted, as the runtime does."""

from __future__ import annotations

from collections.abc import Iterable

from rushlight.backends.cpu.plan.evaluate import ADD, CONSTANT, MINIMUM, SYMBOL
from rushlight.backends.cpu.plan.tables import Plan, StorageKind
from rushlight.format.elements import ELEMENT_SIZES
from rushlight.format.errors import MalformedError

MAX_DEPTH = 16  # numbers on the stack of an expression, as in the runtime


def check_references(plan: Plan) -> None:
    """Checks that every index of a plan is the index of an existing item, and that expressions are complete.

    Raises:
        MalformedError: an index or an expression is wrong. The message contains the item.
    """
    for index, expression in enumerate(plan.expressions):
        _check_expression(f"expression {index} of the plan", expression.code, len(plan.symbols))
    for index, value in enumerate(plan.values):
        name = f"value {index} of the plan"
        _check(name, "storage", [value.storage], len(plan.storages))
        _check(name, "expression", [value.offset, *value.sizes, *value.strides], len(plan.expressions))
        if len(value.sizes) != len(value.strides):
            raise MalformedError(f"{name} has {len(value.sizes)} sizes, but {len(value.strides)} strides")
        if value.dtype not in ELEMENT_SIZES:
            raise MalformedError(f"{name} has the unknown dtype {value.dtype}")
    for index, argument in enumerate(plan.arguments):
        if argument.value is not None:
            _check(f"argument {index} of the plan", "value", [argument.value], len(plan.values))
    for index, symbol in enumerate(plan.symbols):
        _check(f"symbol {index} of the plan", "argument", [symbol.argument], len(plan.arguments))
    for index, storage in enumerate(plan.storages):
        if storage.kind is StorageKind.ARGUMENT:
            _check(f"storage {index} of the plan", "argument", [storage.index], len(plan.arguments))
    for index, step in enumerate(plan.steps):
        name = f"step {index} of the plan ({type(step.operation).__name__})"
        _check(name, "value", (value for _, value in step.operation.operands()), len(plan.values))


def _check(name: str, kind: str, indices: Iterable[int], count: int) -> None:
    for index in indices:
        if index >= count:
            raise MalformedError(f"{name} refers to {kind} {index}, but there are {count}")


def _check_expression(name: str, code: list[int], symbols: int) -> None:
    depth = 0
    words = iter(code)
    for operation in words:
        if operation in (CONSTANT, SYMBOL):
            operand = next(words, None)
            if operand is None:
                raise MalformedError(f"{name} ends after a code without its operand")
            if operation == SYMBOL and not 0 <= operand < symbols:
                raise MalformedError(f"{name} refers to symbol {operand}, but there are {symbols}")
            depth += 1
        elif ADD <= operation <= MINIMUM and depth >= 2:
            depth -= 1
        else:
            raise MalformedError(f"{name} is invalid at the code {operation}")
        if depth > MAX_DEPTH:
            raise MalformedError(f"{name} is nested too deeply")
    if depth != 1:
        raise MalformedError(f"{name} leaves {depth} numbers on the stack instead of 1")
