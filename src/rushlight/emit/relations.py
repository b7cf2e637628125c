"""Encodes relations between the integers of a method, such as `u0 <= u1`, as named data.

The runtime checks the relations. A runtime that does not support this named data ignores it. The steps of a
relation are a program for a stack machine. All numbers are little-endian. The data consist of:

- The header, four uint32: version, number of relations, number of steps, 0.
- For each relation, six uint32: the index of the value after which the relation is checked (0xFFFFFFFF
  means before the execution), the index of the first step, the number of steps, the byte offset of the text
  of the relation, the byte offset of the source line in the model, and 0.
- For each step, four uint32 and an int64: operation, index of the input or value, dimension, byte offset of
  the name of the pushed value, constant.
- The texts. Each of them ends with a zero byte.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import sympy
import torch
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.facts import Relation
from rushlight.ir.sym import IntLike

KEY = "rushlight.relations."
VERSION = 1
START = 0xFFFFFFFF

_HEADER = struct.Struct("<IIII")
_RELATION = struct.Struct("<IIIIII")
_STEP = struct.Struct("<IIIIq")
_DEPTH = 16
_INT64 = range(-(2**63), 2**63)

(
    _CONSTANT, _SIZE, _INTEGER, _VALUE, _ADD, _SUBTRACT, _MULTIPLY, _FLOOR_DIVIDE, _MODULO, _MAXIMUM,
    _MINIMUM, _LESS, _LESS_EQUAL, _EQUAL, _AND, _OR, _NOT,
) = range(17)  # fmt: skip

# Class names of sympy and torch. Functions of many arguments are converted to chains of binary operations.
_CHAINS = {
    "Add": _ADD, "Mul": _MULTIPLY, "Max": _MAXIMUM, "Min": _MINIMUM, "And": _AND, "Or": _OR,
    "FloorDiv": _FLOOR_DIVIDE, "CleanDiv": _FLOOR_DIVIDE, "Mod": _MODULO, "PythonMod": _MODULO,
    "LessThan": _LESS_EQUAL, "StrictLessThan": _LESS, "Equality": _EQUAL,
}  # fmt: skip
_SWAPPED = {"GreaterThan": _LESS_EQUAL, "StrictGreaterThan": _LESS}


class _NotEncoded(Exception):
    """A relation contains a function or a symbol that the runtime does not support."""


# Operation, index of the input or value, dim, name of the pushed value, constant.
_Step = tuple[int, int, int, str, int]


@dataclass(frozen=True, slots=True)
class _Origin:
    """The origin of a symbol's value: a size or an integer that is equal to scale * symbol + offset."""

    op: int
    index: int
    dim: int
    name: str
    scale: int = 1
    offset: int = 0
    order: int = -1  # the position in the list of computed integers, or -1


@dataclass(slots=True)
class _Texts:
    """Zero-terminated texts. Equal texts are stored once."""

    start: int
    data: bytearray = field(default_factory=bytearray)
    places: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        if text not in self.places:
            self.places[text] = self.start + len(self.data)
            self.data += text.encode() + b"\0"
        return self.places[text]


def encode_relations(
    relations: Sequence[Relation],
    inputs: Sequence[Node],
    computed: Sequence[tuple[Node, int]],
) -> bytes:
    """Encodes the relations of a method.

    Args:
        relations: the relations, with their source lines.
        inputs: the nodes of the user inputs.
        computed: the nodes with an integer result, each with the index of its value.

    Returns:
        The bytes. They are empty if there are no relations. They do not contain relations that the runtime
        cannot compute.
    """
    origins = _origins(inputs, computed)
    programs: list[tuple[list[_Step], int, str, str]] = []
    for relation, line in relations:
        try:
            steps, used = _steps(relation, origins)
        except _NotEncoded:
            continue
        last = max(used, key=lambda origin: origin.order)
        trigger = last.index if last.order >= 0 else START
        source = f"{PurePath(line.file).name}:{line.line}" if line is not None else ""
        programs.append((steps, trigger, _text(relation, origins), source))
    if not programs:
        return b""
    total = sum(len(steps) for steps, *_ in programs)
    texts = _Texts(_HEADER.size + _RELATION.size * len(programs) + _STEP.size * total)
    nothing = texts.place("")
    records, encoded, first = bytearray(), bytearray(), 0
    for steps, trigger, text, source in programs:
        records += _RELATION.pack(trigger, first, len(steps), texts.place(text), texts.place(source), 0)
        for op, index, dim, name, constant in steps:
            encoded += _STEP.pack(op, index, dim, texts.place(name) if name else nothing, constant)
        first += len(steps)
    return _HEADER.pack(VERSION, len(programs), total, 0) + bytes(records + encoded + texts.data)


def _origins(inputs: Sequence[Node], computed: Sequence[tuple[Node, int]]) -> dict[sympy.Symbol, _Origin]:
    origins: dict[sympy.Symbol, _Origin] = {}

    def offer(size: object, make: Callable[[int, int], _Origin]) -> None:
        if not isinstance(size, torch.SymInt):
            return
        expression = size.node.expr
        symbols = list(expression.free_symbols)
        if len(symbols) != 1:
            return
        scale = expression.coeff(symbols[0])
        offset = expression - scale * symbols[0]
        if not (scale.is_Integer and offset.is_Integer and scale > 0):
            return
        origin = make(int(scale), int(offset))
        known = origins.get(symbols[0])
        if known is None or (origin.scale, abs(origin.offset)) < (known.scale, abs(known.offset)):
            origins[symbols[0]] = origin

    for index, node in enumerate(inputs):
        value = meta.get_val(node) if meta.has_val(node) else None
        name = str(node.target)
        offer(value, lambda s, o, i=index, n=name: _Origin(_INTEGER, i, 0, n, s, o))  # type: ignore[misc]
        if isinstance(value, torch.Tensor):
            sizes: tuple[IntLike, ...] = tuple(value.shape)
            for dim, size in enumerate(sizes):
                offer(
                    size,
                    lambda s, o, i=index, d=dim, n=name: _Origin(_SIZE, i, d, f"{n}.shape[{d}]", s, o),  # type: ignore[misc]
                )
    given = set(origins)
    for order, (node, index) in enumerate(computed):
        size = meta.get_val(node)
        if size.node.expr.is_Symbol and size.node.expr not in given:
            origins.setdefault(size.node.expr, _Origin(_VALUE, index, 0, str(size.node.expr), order=order))
    return origins


def _steps(
    relation: sympy.Expr, origins: Mapping[sympy.Symbol, _Origin]
) -> tuple[list[_Step], list[_Origin]]:
    """The steps of a relation in postfix order, and the origins of the symbols in the relation."""
    steps: list[_Step] = []
    used: list[_Origin] = []

    def constant(value: int) -> None:
        if value not in _INT64:
            raise _NotEncoded
        steps.append((_CONSTANT, 0, 0, "", value))

    def operation(op: int) -> None:
        steps.append((op, 0, 0, "", 0))

    def visit(expression: sympy.Expr) -> None:
        if expression.is_Integer:
            return constant(int(expression))
        if expression.is_Symbol:
            origin = origins.get(expression)
            if origin is None:
                raise _NotEncoded
            used.append(origin)
            steps.append((origin.op, origin.index, origin.dim, origin.name, 0))
            if origin.offset:
                constant(origin.offset)
                operation(_SUBTRACT)
            if origin.scale != 1:
                constant(origin.scale)
                operation(_FLOOR_DIVIDE)
            return None
        kind, args = type(expression).__name__, expression.args
        if kind == "Pow" and args[1].is_Integer and 1 < args[1] <= 4:
            kind, args = "Mul", (args[0],) * int(args[1])
        if kind in ("Unequality", "Not"):
            for argument in args:
                visit(argument)
            if kind != "Not":
                operation(_EQUAL)
            return operation(_NOT)
        op = _CHAINS.get(kind)
        if kind in _SWAPPED:
            op, args = _SWAPPED[kind], tuple(reversed(args))
        if op is None:
            raise _NotEncoded
        visit(args[0])
        for argument in args[1:]:
            visit(argument)
            operation(op)

    visit(relation)
    depths = [0]
    for op, *_ in steps:
        depths.append(depths[-1] + (1 if op <= _VALUE else 0 if op == _NOT else -1))
    if not used or max(depths) > _DEPTH:
        raise _NotEncoded
    return steps, used


def _text(relation: sympy.Expr, origins: Mapping[sympy.Symbol, _Origin]) -> str:
    """The text of a relation, with the names of sizes and integers instead of symbols."""
    text = {"Equality": "{} == {}", "Unequality": "{} != {}"}.get(type(relation).__name__, "")
    text = text.format(*relation.args) if text else str(relation)
    names = {str(s): origin.name for s, origin in origins.items() if origin.scale == 1 and origin.offset == 0}
    return re.sub(r"\b[a-z]+[0-9]+\b", lambda found: names.get(found[0], found[0]), text)
