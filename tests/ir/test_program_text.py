"""Texts of programs: field by field, and one line for each instruction."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
import torch

from rushlight.exir import to_edge
from rushlight.format.program import (
    AllocationDetails,
    Bool,
    Buffer,
    Chain,
    ContainerMetadata,
    EValue,
    ExecutionPlan,
    FreeCall,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Operator,
    Program,
    ScalarType,
    SubsegmentOffsets,
    Tensor,
    TensorShapeDynamism,
)
from rushlight.ir.program_text import pretty_print, print_program


def tensor(sizes: list[int], place: AllocationDetails | None, buffer: int = 0) -> EValue:
    dynamism = TensorShapeDynamism.DYNAMIC_BOUND if place else TensorShapeDynamism.STATIC
    order = list(range(len(sizes)))
    return EValue(Tensor(ScalarType.FLOAT, 0, sizes, order, False, 0, buffer, place, dynamism))


def program(*names: str) -> Program:
    values = [
        tensor([2, 3], AllocationDetails(1, 16, 1)),
        tensor([3], None, buffer=1),
        EValue(Bool(True)),
        EValue(IntList([4, 5])),
        tensor([], None),
    ]
    calls: list[KernelCall | JumpFalseCall | MoveCall | FreeCall]
    calls = [KernelCall(0, [0, 1, 2, 3]), JumpFalseCall(2, 3), MoveCall(0, 4), FreeCall(4)]
    chain = Chain([], [], [*map(Instruction, calls)], None)
    operators = [Operator("aten::add", "out")]
    plans = [
        ExecutionPlan(name, ContainerMetadata("", ""), values, [0], [4, 0], [chain], operators, [], [0, 64])
        for name in names
    ]
    return Program(0, plans, [], [], [], SubsegmentOffsets(0, []))


def pretty(value: object) -> str:
    out = io.StringIO()
    pretty_print(value, out=out)
    return out.getvalue()


def test_print_program(capsys: pytest.CaptureFixture[str]) -> None:
    print_program(program("forward"), mark_dynamic_shape_tensor=True)
    value = "0\033[31mI0\033[0m\033[31mO1\033[0m\033[34mUBTm1.4294967312[2, 3]f\033[0m"
    other = "4\033[31mO0\033[0m\033[34mTm.[]f\033[0m"
    assert capsys.readouterr().out.splitlines() == [
        "The program contains the following 4 instructions",
        f"  0: aten::add.out {value},1\033[34mCT[3]f\033[0m,2\033[34mB1\033[0m,3\033[34mIL[4, 5]\033[0m",
        "  1: JF (2\033[34mB1\033[0m) -> 3",
        f"  2: MOVE {value} -> {other}",
        f"  3: FREE {other}",
    ]
    print_program(program("a", "b"), show_meminfo=False)
    plain = re.sub("\033\\[[0-9]+m", "", capsys.readouterr().out)
    assert "The method b contains the following 4 instructions\n  0: aten::add.out 0I0O1T[2, 3]f," in plain


def test_pretty_print() -> None:
    assert pretty(EValue(Int(3))) == "EValue(\n  val=Int(int_val=3)\n)\n"
    assert pretty(Operator("aten::add", "out")) == "Operator(name=aten::add, overload=out)\n"
    assert pretty(KernelCall(0, [1, 2])) == "KernelCall(\n  op_index=0, \n  args=[1, 2]\n)\n"
    long = IntList(list(range(10)))
    assert pretty(long).startswith("IntList(\n  items=[\n    0(index=0),\n    1(index=1),\n")
    assert pretty(Buffer(b"a" * 3)) == "Buffer(\n  storage=b'aaa'\n)\n"
    assert len(pretty(Buffer(bytes(5000)))) < 1100
    lines = pretty(program("forward")).splitlines()
    assert lines[:4] == ["Program(", "  version=0, ", "  execution_plan=[", "    ExecutionPlan("]
    place = "AllocationDetails(memory_id=1, memory_offset_low=16, memory_offset_high=1)"
    assert f"            allocation_info={place}, " in lines
    assert "        )(index=0)," in lines and lines[-1] == ")"
    with pytest.raises(TypeError, match="not a graph module"):
        pretty_print(torch.fx.GraphModule({}, torch.fx.Graph()))


def test_programs_of_the_compiler(export_case: Any) -> None:
    manager = to_edge(export_case("dynamic_batch")).to_executorch()
    short, long = io.StringIO(), io.StringIO()
    manager.dump_executorch_program(out=short)
    manager.dump_executorch_program(verbose=True, out=long)
    assert short.getvalue().startswith("The program contains the following ")
    assert long.getvalue() == pretty(manager.executorch_program)
