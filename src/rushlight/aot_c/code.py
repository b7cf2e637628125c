"""Builds C source text: indented lines, literals and identifiers."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from rushlight.aot_c.dtypes import BOOL, DOUBLE, FLOAT, LONG
from rushlight.format.program import ScalarType

_INT64_MIN = -(2**63)
_KEYWORDS = frozenset(
    (
        "auto break case char const continue default do double else enum extern float for goto if inline int "
        "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
        "volatile while"
    ).split()
)


class Code:
    """C source lines, indented by their blocks."""

    def __init__(self, depth: int = 1) -> None:
        self.lines: list[str] = []
        self._depth = depth

    def add(self, text: str) -> None:
        """Adds a line."""
        self.lines.append("  " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Adds `head {`, the lines that the body of the with statement adds, and `}`."""
        self.add(f"{head} {{".strip())
        self._depth += 1
        yield
        self._depth -= 1
        self.add("}")

    @property
    def text(self) -> str:
        """All lines as one text."""
        return "\n".join(self.lines)


def float32(value: float) -> float:
    """Rounds a number to the nearest float32, as a cast from double to float does in C."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def float_literal(value: float) -> str:
    """Writes a literal of type float. The value is rounded to float32 first."""
    return _floating(float32(value), "f", _shortest_float32)


def double_literal(value: float) -> str:
    """Writes a literal of type double."""
    return _floating(value, "", repr)


def _floating(value: float, suffix: str, write: object) -> str:
    if math.isnan(value):
        return "NAN" if suffix else "(double)NAN"
    if math.isinf(value):
        text = "INFINITY" if suffix else "(double)INFINITY"
        return text if value > 0 else f"-{text}"
    assert callable(write)
    text = str(write(value))
    return (text if re.search(r"[.e]", text) else f"{text}.0") + suffix


def _shortest_float32(value: float) -> str:
    """Writes the shortest decimal number that a C compiler reads as the same float32."""
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if float32(float(text)) == value:
            return text
    return value.hex()


def int_literal(value: int) -> str:
    """Writes an integer literal: of type int if the value fits in 16 bits, else of type int64_t."""
    if value == _INT64_MIN:
        return "INT64_MIN"
    return str(value) if -(2**15) < value < 2**15 else f"INT64_C({value})"


def literal(value: float | int | bool, compute: ScalarType) -> str:
    """Writes a literal of a compute type (int64, float32 or float64) or of bool."""
    if compute == FLOAT:
        return float_literal(float(value))
    if compute == DOUBLE:
        return double_literal(float(value))
    if compute == BOOL:
        return "true" if value else "false"
    assert compute == LONG
    return int_literal(int(value))


def identifier(name: str) -> str:
    """Makes a C identifier from any text: other characters become `_`."""
    text = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "x"
    return f"x_{text}" if text[0].isdigit() or text in _KEYWORDS else text


def is_identifier(name: str) -> bool:
    """Returns whether C programs may use a text as an identifier."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) is not None and name not in _KEYWORDS


def terms(*parts: tuple[str, int] | str) -> str:
    """Writes a sum of indices times strides, such as `3 * i + j`.

    Args:
        parts: the summands: each is a pair of an index and a stride, or an expression.
    """
    texts = []
    for part in parts:
        if isinstance(part, str):
            if part not in ("0", ""):
                texts.append(part)
        elif part[1] != 0 and part[0] not in ("0", ""):
            index = part[0] if re.fullmatch(r"\w+", part[0]) else f"({part[0]})"
            if re.fullmatch(r"\d+", part[0]):
                texts.append(str(int(part[0]) * part[1]))
            else:
                texts.append(index if part[1] == 1 else f"{part[1]} * {index}")
    return " + ".join(texts) or "0"
