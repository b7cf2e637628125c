"""Encodes relations between a method's integers, such as `u0 <= u1`, as named data that the runtime checks.

A runtime that does not know this named data ignores it. All numbers are little-endian. The header is uint32
version, number of relations, number of steps, 0. For each relation follow six uint32: the index of the value
after whose computation the relation is checked (0xFFFFFFFF for before the execution), the index of its first
step, the number of its steps, the byte offset of its text, the byte offset of the user's source line, and 0.
For each step follow four uint32 (operation, index of the input or value, dim, byte offset of the name of the
pushed value) and an int64 constant. Then follow the texts, each terminated by a zero byte. The steps are a
program for a stack machine.
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

# Classes of sympy and of torch; their functions of many arguments become chains of binary operations.
_CHAINS = {
    "Add": _ADD, "Mul": _MULTIPLY, "Max": _MAXIMUM, "Min": _MINIMUM, "And": _AND, "Or": _OR,
    "FloorDiv": _FLOOR_DIVIDE, "CleanDiv": _FLOOR_DIVIDE, "Mod": _MODULO, "PythonMod": _MODULO,
    "LessThan": _LESS_EQUAL, "StrictLessThan": _LESS, "Equality": _EQUAL,
}  # fmt: skip
_TURNED = {"GreaterThan": _LESS_EQUAL, "StrictGreaterThan": _LESS}


class _NotEncoded(Exception):
    """The relation has a function or a symbol that the runtime does not support."""


# Operation, index of the input or value, dim, name of the pushed value, constant.
_Step = tuple[int, int, int, str, int]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """The source of a symbol's value: an input size or integer equal to scale * symbol + offset."""

    op: int
    index: int
    dim: int
    name: str
    scale: int = 1
    offset: int = 0
    order: int = -1  # the position of a computed integer among the computed integers


@dataclass(slots=True)
class _Texts:
    """Zero-terminated strings; equal strings are stored once."""

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
    """Encodes the relations of a method's user inputs and computed integers.

    The result is empty if there are no relations. Relations with symbols that are unknown at run time are
    left out.
    """
    leaves = _leaves(inputs, computed)
    programs: list[tuple[list[_Step], int, str, str]] = []
    for relation, line in relations:
        try:
            steps, used = _steps(relation, leaves)
        except _NotEncoded:
            continue
        last = max(used, key=lambda leaf: leaf.order)
        trigger = last.index if last.order >= 0 else START
        source = f"{PurePath(line.file).name}:{line.line}" if line is not None else ""
        programs.append((steps, trigger, _text(relation, leaves), source))
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


def _leaves(inputs: Sequence[Node], computed: Sequence[tuple[Node, int]]) -> dict[sympy.Symbol, _Leaf]:
    leaves: dict[sympy.Symbol, _Leaf] = {}

    def offer(size: object, make: Callable[[int, int], _Leaf]) -> None:
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
        leaf = make(int(scale), int(offset))
        known = leaves.get(symbols[0])
        if known is None or (leaf.scale, abs(leaf.offset)) < (known.scale, abs(known.offset)):
            leaves[symbols[0]] = leaf

    for index, node in enumerate(inputs):
        value = meta.get_val(node) if meta.has_val(node) else None
        name = str(node.target)
        offer(value, lambda s, o, i=index, n=name: _Leaf(_INTEGER, i, 0, n, s, o))  # type: ignore[misc]
        if isinstance(value, torch.Tensor):
            sizes: tuple[IntLike, ...] = tuple(value.shape)
            for dim, size in enumerate(sizes):
                offer(
                    size,
                    lambda s, o, i=index, d=dim, n=name: _Leaf(_SIZE, i, d, f"{n}.shape[{d}]", s, o),  # type: ignore[misc]
                )
    given = set(leaves)
    for order, (node, index) in enumerate(computed):
        size = meta.get_val(node)
        if size.node.expr.is_Symbol and size.node.expr not in given:
            leaves.setdefault(size.node.expr, _Leaf(_VALUE, index, 0, str(size.node.expr), order=order))
    return leaves


def _steps(relation: sympy.Expr, leaves: Mapping[sympy.Symbol, _Leaf]) -> tuple[list[_Step], list[_Leaf]]:
    """The relation in postfix order, and the sources that it reads."""
    steps: list[_Step] = []
    used: list[_Leaf] = []

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
            leaf = leaves.get(expression)
            if leaf is None:
                raise _NotEncoded
            used.append(leaf)
            steps.append((leaf.op, leaf.index, leaf.dim, leaf.name, 0))
            if leaf.offset:
                constant(leaf.offset)
                operation(_SUBTRACT)
            if leaf.scale != 1:
                constant(leaf.scale)
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
        if kind in _TURNED:
            op, args = _TURNED[kind], tuple(reversed(args))
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


def _text(relation: sympy.Expr, leaves: Mapping[sympy.Symbol, _Leaf]) -> str:
    """The text of the relation, with names of sizes and integers in place of symbols."""
    text = {"Equality": "{} == {}", "Unequality": "{} != {}"}.get(type(relation).__name__, "")
    text = text.format(*relation.args) if text else str(relation)
    names = {str(s): leaf.name for s, leaf in leaves.items() if leaf.scale == 1 and leaf.offset == 0}
    return re.sub(r"\b[a-z]+[0-9]+\b", lambda found: names.get(found[0], found[0]), text)
