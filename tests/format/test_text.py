"""The text form of a program file."""

from rushlight.format.pte import PTEFile
from rushlight.format.text import format_pte

EXPECTED = """\
program, version 0

method forward(%14) -> (%10)
  memory 1: 256 bytes on cuda:1
  delegate 0: SomeBackend(level=b'\\x02', none=b''), data 0
  delegate 1: Empty(), data 1
  values
    %0 = none
    %1 = int -4611686018427387904
    %2 = bool true
    %3 = float -0.0
    %4 = float32[2, 3] constant 1
    %5 = string 'schön'
    %6 = [%1, %1]
    %7 = floats [0.5, inf]
    %8 = bools [true, false]
    %9 = [%4, %10]
    %10 = float32[<=2, <=3] in memory 1 at 64
    %11 = [%4, none, %0]
    %12 = float32[4] in memory 1 at 0, initially 1 'mod.state'
    %13 = float32[2, 2] external 'mod.weight'
    %14 = float32[?, ?] given at run time
    %15 = int64[] constant 2
  instructions
    0: aten::add.out(%4, %10, %1, %10)  # model.py:0
    1: if not %2: go to 4  # model.py:1
    2: %1 = %1  # model.py:2
    3: delegate 0 SomeBackend(%4, %10)  # model.py:3
    4: free %14  # model.py:4

method second() -> ()
  memory 1: 256 bytes
  values
    %0 = float32[2, 3] constant 1
  instructions

constants: 2, 32 bytes
initial values: 1, 16 bytes
delegate data: 2, 8 bytes
named data
  'a': 5 bytes
  'b': 5 bytes
  'c': 5 bytes
"""


def test_every_kind_of_value_and_instruction(every_kind: PTEFile) -> None:
    assert format_pte(every_kind) == EXPECTED


def test_a_dim_order_is_printed_if_it_is_not_the_usual_one(every_kind: PTEFile) -> None:
    every_kind.program.execution_plan[1].values[0].val.dim_order = [1, 0]  # type: ignore[union-attr]
    assert "%0 = float32[2, 3] order [1, 0] constant 1\n" in format_pte(every_kind)
