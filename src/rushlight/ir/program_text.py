"""Formats programs as text in ExecuTorch's layouts: field by field, or one line for each instruction."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TextIO

from torch.fx import GraphModule

_SHOWN_BYTES = 1024  # The length at which the text of bytes is shortened.
_SHORT_LIST = 10  # A shorter list of integers is on one line.
_BLUE, _RED, _DEFAULT = "\033[34m", "\033[31m", "\033[0m"

# The letters of values that are not tensors.
_LETTERS = {
    "TensorList": "TL",
    "OptionalTensorList": "OTL",
    "IntList": "IL",
    "DoubleList": "DL",
    "BoolList": "BL",
    "Int": "I",
    "Double": "D",
    "Bool": "B",
    "String": "S",
    "Null": "N",
}
_DTYPES = {
    "BYTE": "bt",
    "CHAR": "c",
    "SHORT": "s",
    "INT": "i",
    "LONG": "l",
    "HALF": "h",
    "FLOAT": "f",
    "DOUBLE": "d",
    "COMPLEX32": "c32",
    "COMPLEX64": "c64",
    "COMPLEX128": "c128",
    "BOOL": "b",
    "QINT8": "qi8",
    "QUINT8": "qui8",
    "QINT32": "qi32",
    "BFLOAT16": "bf16",
    "FLOAT8E5M2": "f8e5m2",
    "FLOAT8E4M3FN": "f8e4m3fn",
    "QUINT4X2": "qui4x2",
    "QUINT2X4": "qui2x4",
}


def pretty_print(obj: object, indent: int = 0, out: TextIO | None = None) -> None:
    """Prints a program, or a part of a program, field by field.

    Args:
        obj: the program or its part.
        indent: the depth of `obj` in the program. At depth 0, the text ends with a line break.
        out: the output; None means standard output.

    Raises:
        TypeError: `obj` is a graph module.
    """
    if isinstance(obj, GraphModule):
        raise TypeError(
            "pretty_print() supports parts of a program, not a graph module; print its graph instead"
        )
    print(_pretty(obj, indent), end="\n" if indent == 0 and _has_fields(obj) else "", file=out)


def _has_fields(obj: object) -> bool:
    return is_dataclass(obj) and not isinstance(obj, type)


def _pretty(obj: Any, depth: int) -> str:
    if _has_fields(obj):
        return _pretty_fields(obj, depth)
    if isinstance(obj, (list, tuple)):
        return _pretty_list(obj, depth)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        shortened = reprlib.Repr()
        shortened.maxother = _SHOWN_BYTES
        return shortened.repr(bytes(obj))
    return str(int(obj)) if isinstance(obj, int) and not isinstance(obj, bool) else str(obj)


def _pretty_fields(obj: Any, depth: int) -> str:
    values = {field.name: getattr(obj, field.name) for field in fields(obj)}
    name = type(obj).__name__
    if all(value is None or isinstance(value, (int, str, float)) for value in values.values()):
        return f"{name}({', '.join(f'{key}={_pretty(value, 0)}' for key, value in values.items())})"
    pad = "  " * (depth + 1)
    lines = [f"{pad}{key}={_pretty(value, depth + 1)}" for key, value in values.items()]
    return "\n".join([f"{name}(", ", \n".join(lines), f"{'  ' * depth})"])


def _pretty_list(items: Sequence[Any], depth: int) -> str:
    if len(items) < _SHORT_LIST and all(isinstance(item, int) for item in items):
        return str(list(items))
    pad = "  " * (depth + 1)
    lines = [f"{pad}{_pretty(item, depth + 1)}(index={index}),\n" for index, item in enumerate(items)]
    return f"[\n{''.join(lines)}{'  ' * depth}]"


def print_program(
    program: Any,
    show_meminfo: bool = True,
    mark_dynamic_shape_tensor: bool = False,
    out: TextIO | None = None,
) -> None:
    """Prints the instructions of a program, each with its operator and the values that it reads and writes.

    A value is shown as its index and a letter for its type. A tensor is shown as T, or CT for a constant,
    with its sizes and a letter for its dtype. Indices of inputs (I) and outputs (O) of the method are red.

    Args:
        program: the program. The line before the instructions names the method if there are several.
        show_meminfo: also show where a tensor is planned: `m<memory>.<offset>`, or `m.` if it is not planned.
        mark_dynamic_shape_tensor: show UBT for a tensor with a bounded dynamic shape, and DUT for a
            tensor with an unbounded dynamic shape.
        out: the output; None means standard output.
    """
    for plan in program.execution_plan:
        instructions = [instruction for chain in plan.chains for instruction in chain.instructions]
        named = f"method {plan.name}" if len(program.execution_plan) > 1 else "program"
        print(f"The {named} contains the following {len(instructions)} instructions", file=out)
        shown = _Values(plan, show_meminfo, mark_dynamic_shape_tensor)
        for number, instruction in enumerate(instructions):
            print(f"{number:3}: {_instruction(plan, instruction.instr_args, shown)}", file=out)


class _Values:
    """The texts of the values of a method."""

    def __init__(self, plan: Any, show_memory: bool, mark_dynamic: bool) -> None:
        self._plan = plan
        self._show_memory = show_memory
        self._mark_dynamic = mark_dynamic

    def text(self, index: int) -> str:
        """Returns the text of a value: its index, its places among inputs and outputs, and its type."""
        value = self._plan.values[index].val if index >= 0 else None
        return f"{index}{''.join(self._places(index))}{_BLUE}{self._type(value)}{_DEFAULT}"

    def texts(self, indices: Sequence[int]) -> str:
        return ",".join(map(self.text, indices))

    def _places(self, index: int) -> Iterator[str]:
        for letter, listed in (("I", self._plan.inputs), ("O", self._plan.outputs)):
            if index in listed:
                yield f"{_RED}{letter}{listed.index(index)}{_DEFAULT}"

    def _type(self, value: Any) -> str:
        kind = "Null" if value is None else type(value).__name__
        if kind == "Tensor":
            return self._tensor(value)
        inside = [getattr(value, field.name) for field in fields(value)] if _has_fields(value) else []
        shown = (int(item) if isinstance(item, bool) else item for item in inside)
        return _LETTERS[kind] + "".join(map(str, shown))

    def _tensor(self, tensor: Any) -> str:
        place = tensor.allocation_info
        ending = f"{list(tensor.sizes)}{_DTYPES[tensor.scalar_type.name.upper()]}"
        if tensor.data_buffer_idx > 0 and place is None:
            return f"CT{ending}"
        text = ("", "UB", "DU")[int(tensor.shape_dynamism)] if self._mark_dynamic else ""
        text += "T"
        if self._show_memory:
            text += "m." if place is None else f"m{place.memory_id}.{place.memory_offset}"
        return text + ending


def _instruction(plan: Any, instruction: Any, values: _Values) -> str:
    kind = type(instruction).__name__
    if kind == "KernelCall":
        return f"{plan.operators[instruction.op_index].full_name} {values.texts(instruction.args)}"
    if kind == "DelegateCall":
        return f"{plan.delegates[instruction.delegate_index].id} {values.texts(instruction.args)}"
    if kind == "JumpFalseCall":
        return f"JF ({values.text(instruction.cond_value_index)}) -> {instruction.destination_instruction}"
    if kind == "MoveCall":
        return f"MOVE {values.text(instruction.move_from)} -> {values.text(instruction.move_to)}"
    if kind == "FreeCall":
        return f"FREE {values.text(instruction.value_index)}"
    raise TypeError(f"unknown instruction {kind}")
