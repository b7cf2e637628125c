"""The parts of a generated file that methods share: kernels, helpers, constants and planned memories."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from rushlight.aot_c.code import double_literal, float_literal, int_literal
from rushlight.aot_c.dtypes import C_TYPES, DOUBLE, ELEMENTS, FLOAT, SIXTEEN, part_type, size_of
from rushlight.aot_c.helpers import HELPERS, with_needs
from rushlight.aot_c.kernel import SCRATCH, Kernel, Parameter
from rushlight.format.program import ScalarType

_FORMATS = {
    ScalarType.BYTE: "B",
    ScalarType.CHAR: "b",
    ScalarType.SHORT: "h",
    ScalarType.INT: "i",
    ScalarType.LONG: "q",
    ScalarType.HALF: "H",
    ScalarType.FLOAT: "f",
    ScalarType.DOUBLE: "d",
    ScalarType.BOOL: "B",
    ScalarType.BFLOAT16: "H",
    ScalarType.UINT16: "H",
    ScalarType.UINT32: "I",
    ScalarType.UINT64: "Q",
}
_WIDTH = 110
_MAY_ALIAS = """/* Tensors of different types use the same bytes of planned memory, one after another. */
#if defined(__GNUC__)
#define MAY_ALIAS __attribute__((__may_alias__))
#else
#define MAY_ALIAS
#endif
"""


def elements_of(data: bytes, dtype: ScalarType) -> list[int] | list[float]:
    """Reads the elements of a tensor from its bytes."""
    count = len(data) // size_of(dtype)
    return list(struct.unpack(f"<{count}{_FORMATS[dtype]}", data[: count * size_of(dtype)]))


def element_literal(value: float | int, dtype: ScalarType) -> str:
    """Writes an element as a C literal."""
    if dtype == FLOAT:
        return float_literal(value)
    if dtype == DOUBLE:
        return double_literal(value)
    if dtype == ScalarType.UINT64:
        return f"UINT64_C({value})"
    if dtype == ScalarType.UINT32:
        return f"{value}u"
    if dtype == ScalarType.INT and value == -(2**31):
        return "INT32_MIN"
    if dtype in SIXTEEN:
        return f"{value:#x}"
    return int_literal(int(value)) if size_of(dtype) == 8 else str(int(value))


def array(declaration: str, data: bytes, dtype: ScalarType) -> str:
    """Writes the definition of an array with the elements of a tensor. An array has at least one element.

    A complex element is written as its real and its imaginary part.
    """
    data = data or bytes(size_of(dtype))
    dtype = part_type(dtype)
    texts = [element_literal(value, dtype) for value in elements_of(data, dtype)]
    lines, line = [], " "
    for text in texts:
        if len(line) + len(text) + 2 > _WIDTH:
            lines.append(line)
            line = " "
        line += f" {text},"
    body = "\n".join([*lines, line])
    return f"{declaration}[{len(texts)}] = {{\n{body}\n}};"


@dataclass
class Source:
    """The parts of a generated file that its methods share.

    Attributes:
        name: the prefix of public names.
        headers: the headers of the C library to include.
        helpers: the names of the helpers that kernels call.
        dtypes: the dtypes of the tensors.
        kernels: the definitions of the kernel functions.
        constants: the name of the array of each constant, by (index, dtype, bytes).
        memories: the size of each planned memory in bytes, by name.
        operators: the names of the operators that the program calls.
    """

    name: str
    headers: set[str] = field(default_factory=set)
    helpers: set[str] = field(default_factory=set)
    dtypes: set[ScalarType] = field(default_factory=set)
    kernels: list[str] = field(default_factory=list)
    constants: dict[tuple[int, ScalarType, int], str] = field(default_factory=dict)
    memories: dict[str, int] = field(default_factory=dict)
    operators: set[str] = field(default_factory=set)
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _arrays: dict[str, tuple[str, int]] = field(default_factory=dict)

    def constant(self, index: int, dtype: ScalarType, data: bytes) -> str:
        """Adds an array with the elements of a constant. Returns the name of the array."""
        key = (index, dtype, len(data))
        name = self.constants.get(key)
        if name is None:
            name = self.constants[key] = f"constant_{len(self.constants)}"
            dtype = part_type(dtype)
            self.dtypes.add(dtype)
            if dtype in (FLOAT, DOUBLE):
                values = elements_of(data, dtype)
                if not all(math.isfinite(value) for value in values):
                    self.headers.add("math.h")
            text = array(f"static const {ELEMENTS[dtype]} {name}", data, dtype)
            self._arrays[name] = (text, len(data))
        return name

    def memory(self, name: str, size: int) -> str:
        """Adds a planned memory. Returns the C expression for its address."""
        self.memories[name] = max(self.memories.get(name, 0), size)
        return f"{name}.bytes"

    def function(self, k: Kernel, parameters: Sequence[Parameter], no_alias: bool) -> str:
        """Adds the function of a kernel call and returns its name. Calls with equal texts share a function.

        Args:
            k: the kernel.
            parameters: the parameters that the function uses.
            no_alias: whether no result overlaps another tensor, so that pointers may be `restrict`.
        """
        body = k.code.text
        self.helpers |= k.needs
        self.headers |= k.headers
        if k.scratch_needed is not None:
            dtype, count = k.scratch_needed
            self.dtypes.add(dtype)
            self.memory(SCRATCH, count * size_of(dtype))
        texts = []
        for parameter in parameters:
            if parameter.tensor is None:
                texts.append(f"{parameter.type} {parameter.name}".replace("* ", "*"))
                continue
            self.dtypes.add(parameter.tensor.dtype)
            constant = "" if parameter.writes else "const "
            restrict = "restrict " if no_alias else ""
            texts.append(f"{constant}{parameter.type} *{restrict}{parameter.name}")
        head = "static int" if k.can_fail else "static void"
        end = "\n  return 0;" if k.can_fail else ""
        key = (f"{head}({', '.join(texts)})", body)
        name = self._names.get(key)
        if name is None:
            base = k.operator.split("::")[-1].split(".")[0].strip("_")
            count = self._counts[base] = self._counts.get(base, -1) + 1
            name = self._names[key] = f"{base}_{count}"
            signature = wrapped(f"{head} {name}(", texts or ["void"], ") {")
            self.kernels.append(f"/* {k.operator} */\n{signature}\n{body}{end}\n}}")
        return name

    def definitions(self, methods: str) -> tuple[list[str], int, int]:
        """Writes the definitions before the methods, limited to the parts that the methods use.

        Args:
            methods: the text of all methods.

        Returns:
            The definitions, and the sizes of the constants and of the planned memories in bytes.
        """
        used = methods + "\n".join(self.kernels)
        helpers = with_needs(name for name in self.helpers if is_named(used, name))
        for name in helpers:
            self.headers |= set(HELPERS[name].headers)
        arrays = [self._arrays[name] for name in self._arrays if is_named(methods, name)]
        memories = {name: size for name, size in self.memories.items() if is_named(methods, name)}
        texts = [text for text, _ in arrays]
        texts += [
            f"static union {{\n  double alignment;\n  int64_t alignment_of_integers;\n"
            f"  uint8_t bytes[{max(size, 1)}];\n}} {name};"
            for name, size in memories.items()
        ]
        types = self._element_types(used + "\n".join(texts))
        definitions = [types, *(HELPERS[name].text for name in helpers), *texts, *self.kernels]
        return (
            [text for text in definitions if text],
            sum(size for _, size in arrays),
            sum(memories.values()),
        )

    def _element_types(self, used: str) -> str:
        lines = []
        for dtype in sorted(self.dtypes):
            if is_named(used, ELEMENTS[dtype]):
                alias = "" if size_of(dtype) == 1 else " MAY_ALIAS"
                lines.append(f"typedef {C_TYPES[dtype]} {ELEMENTS[dtype]}{alias};")
        if not any("MAY_ALIAS" in line for line in lines):
            return "\n".join(lines)
        return _MAY_ALIAS + "\n".join(lines)


def is_named(text: str, name: str) -> bool:
    """Returns whether a C text contains a name as a whole word."""
    return re.search(rf"\b{name}\b", text) is not None


def wrapped(head: str, items: Sequence[str], tail: str, indent: str = "") -> str:
    """Formats a call or a signature, on several lines if it is long."""
    one = f"{indent}{head}{', '.join(items)}{tail}"
    if len(one) <= _WIDTH:
        return one
    margin = " " * (len(indent) + len(head)) if len(head) < 40 else indent + "    "
    lines, line = [], f"{indent}{head}"
    for i, item in enumerate(items):
        text = item + ("," if i + 1 < len(items) else tail)
        if len(line) + len(text) + 1 > _WIDTH and line.strip() and not line.endswith("("):
            lines.append(line.rstrip())
            line = margin
        line += text if line.endswith("(") or line == margin else f" {text}"
    lines.append(line)
    return "\n".join(lines)
