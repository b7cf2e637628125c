"""`plan/references.py`: a plan that refers to items that do not exist is an error when it is read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rushlight.backends.cpu.plan.evaluate import ADD, CONSTANT, MULTIPLY, SYMBOL, numbers
from rushlight.backends.cpu.plan.payload import read_plan, write_plan
from rushlight.backends.cpu.plan.tables import (
    Argument,
    Copy,
    Expression,
    Plan,
    Step,
    Storage,
    StorageKind,
    Symbol,
    Value,
)
from rushlight.format.errors import MalformedError
from rushlight.format.program import ScalarType


def plan() -> Plan:
    """Returns a plan that copies its input of n elements, with n from 1 to 4."""
    return Plan(
        symbols=[Symbol(argument=0, axis=0, factor=1, shift=0, lower=1, upper=4)],
        expressions=[
            Expression(code=[CONSTANT, 0]),
            Expression(code=[SYMBOL, 0]),
            Expression(code=[CONSTANT, 1]),
        ],
        storages=[Storage(kind=StorageKind.ARGUMENT, index=0), Storage(kind=StorageKind.ARGUMENT, index=1)],
        values=[Value(storage=i, dtype=ScalarType.FLOAT, offset=0, sizes=[1], strides=[2]) for i in range(2)],
        arguments=[Argument(value=0), Argument(value=1, is_output=True)],
        steps=[Step(operation=Copy(input=0, output=1), debug_handle=1)],
    )


def test_a_valid_plan() -> None:
    read = read_plan(write_plan(plan()))
    assert numbers(read) == [0, 4, 1]


DAMAGE: dict[str, Callable[[Plan], object]] = {
    r"expression 0 of the plan ends after": lambda p: p.expressions[0].code.pop(),
    r"expression 1 of the plan refers to symbol 1, but there are 1": lambda p: p.expressions[
        1
    ].code.__setitem__(1, 1),
    r"expression 0 of the plan is invalid at the code 2": lambda p: p.expressions[0].code.append(ADD),
    r"expression 0 of the plan is invalid at the code 8": lambda p: p.expressions[0].code.append(8),
    r"expression 0 of the plan leaves 0 numbers": lambda p: p.expressions[0].code.clear(),
    r"expression 0 of the plan is nested too deeply": lambda p: p.expressions[0].code.extend([0, 0] * 20),
    r"value 1 of the plan refers to storage 7, but there are 2": lambda p: setattr(p.values[1], "storage", 7),
    r"value 0 of the plan refers to expression 3, but there are 3": lambda p: setattr(
        p.values[0], "offset", 3
    ),
    r"value 0 of the plan has 1 sizes, but 0 strides": lambda p: p.values[0].strides.clear(),
    r"value 0 of the plan has the unknown dtype 99": lambda p: setattr(p.values[0], "dtype", 99),
    r"argument 1 of the plan refers to value 2": lambda p: setattr(p.arguments[1], "value", 2),
    r"symbol 0 of the plan refers to argument 2": lambda p: setattr(p.symbols[0], "argument", 2),
    r"storage 0 of the plan refers to argument 2": lambda p: setattr(p.storages[0], "index", 2),
    r"step 0 of the plan \(Copy\) refers to value 5": lambda p: setattr(p.steps[0].operation, "input", 5),
}


@pytest.mark.parametrize("message", DAMAGE)
def test_a_damaged_plan(message: str) -> None:
    damaged = plan()
    DAMAGE[message](damaged)
    with pytest.raises(MalformedError, match=message):
        read_plan(write_plan(damaged))


def test_a_number_that_is_too_large() -> None:
    large = plan()
    large.expressions[0].code = [CONSTANT, 2**40, CONSTANT, 2**40, MULTIPLY]
    with pytest.raises(MalformedError, match="expression 0 of the plan cannot be computed: it overflows"):
        numbers(read_plan(write_plan(large)))
