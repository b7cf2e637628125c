"""The checks of a program before it is written."""

from collections.abc import Callable
from typing import Any

import pytest

from rushlight.format.check import check_program
from rushlight.format.errors import FormatError
from rushlight.format.program import (
    AllocationDetails,
    DelegateCall,
    FreeCall,
    Instruction,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    NonConstBufferDevice,
    Program,
    ScalarType,
    Tensor,
    TensorShapeDynamism,
)
from rushlight.format.pte import PTEFile


def change(value: int, **changes: Any) -> Callable[[Program], None]:
    def apply(program: Program) -> None:
        held: Any = program.execution_plan[0].values[value].val
        for name, new in changes.items():
            setattr(held, name, new)

    return apply


def call(instruction: Any) -> Callable[[Program], None]:
    def apply(program: Program) -> None:
        program.execution_plan[0].chains[0].instructions[0] = Instruction(instruction)

    return apply


def plan(**changes: Any) -> Callable[[Program], None]:
    def apply(program: Program) -> None:
        for name, new in changes.items():
            setattr(program.execution_plan[0], name, new)

    return apply


def drop_trace(program: Program) -> None:
    traces = program.execution_plan[0].chains[0].stacktrace
    assert traces is not None
    traces.pop()


def chain_output(program: Program) -> None:
    program.execution_plan[0].chains[0].outputs = [16]


def sub_byte(program: Program) -> None:
    held = program.execution_plan[0].values[10].val
    assert isinstance(held, Tensor)
    held.scalar_type = ScalarType.QUINT4x2
    held.allocation_info = AllocationDetails(1, 257, 0)


def test_a_sound_program(every_kind: PTEFile) -> None:
    check_program(every_kind.program)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (plan(name="second"), "two methods have the name 'second'"),
        (plan(inputs=[16]), "method 'forward': an input refers to value 16, but there are 16 values"),
        (plan(outputs=[-1]), "an output refers to value -1, but there are 16 values"),
        (chain_output, "an output of chain 0 refers to value 16, but there are 16 values"),
        (plan(non_const_buffer_sizes=[0, -1]), "a planned buffer has a negative size"),
        (plan(non_const_buffer_device=[NonConstBufferDevice(2)]), "device is set for planned buffer 2"),
        (change(6, items=[16]), "value 6 refers to value 16, but there are 16 values"),
        (change(6, items=[4]), "value 6 expects value 4 to be Int, but it is Tensor"),
        (change(9, items=[-1]), "value 9 refers to value -1, but there are 16 values"),
        (change(9, items=[1]), "value 9 expects value 1 to be Tensor, but it is Int"),
        (change(11, items=[-2]), "value 11 refers to value -2, but there are 16 values"),
        (change(11, items=[1]), "value 11 expects value 1 to be Tensor, but it is Int"),
        (change(10, sizes=[2, -3]), r"value 10 has a negative size: \[2, -3\]"),
        (change(10, sizes=[1] * 17), "value 10 has 17 dimensions; at most 16"),
        (change(10, dim_order=[0, 0]), r"value 10 of 2 dimensions has the invalid dim order \[0, 0\]"),
        (change(10, allocation_info=AllocationDetails(0, 0, 0)), "planned in memory 0, which does not exist"),
        (change(10, allocation_info=AllocationDetails(2, 0, 0)), "planned in memory 2, which does not exist"),
        (
            change(10, allocation_info=AllocationDetails(1, 240, 0)),
            r"value 10 \(24 bytes at 240\) does not fit in memory 1 of 256 bytes",
        ),
        (change(10, allocation_info=AllocationDetails(1, 0, 1)), "at 4294967296"),
        (sub_byte, "at 257"),
        (call(KernelCall(2, [])), "instruction 0 calls operator 2, but there are 2"),
        (call(KernelCall(0, [0, 16])), "instruction 0 refers to value 16, but there are 16 values"),
        (call(DelegateCall(-1, [])), "instruction 0 calls delegate -1, but there are 2"),
        (call(DelegateCall(0, [-1])), "instruction 0 refers to value -1, but there are 16 values"),
        (call(MoveCall(0, 16)), "instruction 0 refers to value 16, but there are 16 values"),
        (call(JumpFalseCall(16, 0)), "instruction 0 refers to value 16, but there are 16 values"),
        (call(JumpFalseCall(1, 0)), "instruction 0 has the condition value 1, a Int"),
        (call(JumpFalseCall(2, 6)), "instruction 0 jumps to instruction 6, but its chain has 5"),
        (call(FreeCall(1)), "instruction 0 expects value 1 to be Tensor, but it is Int"),
        (drop_trace, "chain 0 has 5 instructions and 4 stack traces"),
    ],
)
def test_what_is_refused(every_kind: PTEFile, damage: Callable[[Program], None], message: str) -> None:
    damage(every_kind.program)
    with pytest.raises(FormatError, match=message):
        check_program(every_kind.program)


def test_the_place_of_an_unbounded_tensor_is_not_judged(every_kind: PTEFile) -> None:
    change(
        10,
        shape_dynamism=TensorShapeDynamism.DYNAMIC_UNBOUND,
        allocation_info=AllocationDetails(9, 0, 0),
    )(every_kind.program)
    check_program(every_kind.program)
