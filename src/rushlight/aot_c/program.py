"""Writes a program as the source files of a C library."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rushlight.aot_c.code import is_identifier
from rushlight.aot_c.dtypes import parts_of
from rushlight.aot_c.errors import AotCError
from rushlight.aot_c.method import MethodText, MethodWriter
from rushlight.aot_c.method_values import End
from rushlight.aot_c.source import Source
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.program import ExecutionPlan
from rushlight.format.pte import SHARED_MEMORY_KEY, PTEFile, read_pte


@dataclass(frozen=True)
class CProgram:
    """A program in C.

    Attributes:
        files: the text of each file, by the name of the file.
        methods: the methods, by name.
        operators: the names of the operators that the program calls.
        constant_bytes: the size of the weights and other constants in bytes.
        memory_bytes: the size of the planned memory in bytes.
    """

    files: Mapping[str, str]
    methods: Mapping[str, MethodText]
    operators: frozenset[str]
    constant_bytes: int
    memory_bytes: int


def c_program(data: bytes, name: str, origin: str = "a program") -> CProgram:
    """Writes a program as C.

    Args:
        data: the bytes of a `.pte` file.
        name: the prefix of the C names; it must be a C identifier.
        origin: the name of the program in comments and messages.

    Raises:
        AotCError: parts of the program cannot be written as C; the message names them.
        FormatError: the bytes are not a program.
    """
    if not is_identifier(name):
        raise AotCError(f"{name!r} is not a name that C programs may use")
    file = read_pte(data)
    shared = _shared_memories(file)
    source = Source(name)
    writers = [MethodWriter(source, file, plan, shared, _names(plan)) for plan in file.program.execution_plan]
    methods = [writer.write() for writer in writers]
    refusals = [refusal for writer in writers for refusal in writer.refusals]
    if refusals:
        shown = "\n".join(f"  {refusal}" for refusal in refusals[:20])
        more = f"\n  and {len(refusals) - 20} more" if len(refusals) > 20 else ""
        raise AotCError(f"{origin} cannot be written as C:\n{shown}{more}")
    functions = [method.function for method in methods] + sorted(source.helpers)
    reset = f"{name}_reset" if _has_state(methods) else ""
    functions += [reset] if reset else []
    # Macros have the names of functions in capitals.
    count = Counter(function.upper() for function in functions)
    same = sorted({function for function in functions if count[function.upper()] > 1})
    if same:
        raise AotCError(
            f"{origin}: two functions have the same name in C: {', '.join(same)}; "
            + (
                f"{reset} sets the state to its initial values, so rename the method"
                if reset in same
                else "use another --name, or rename a method"
            )
        )
    body, constant_bytes, memory_bytes = _body(source, methods, origin)
    return CProgram(
        {f"{name}.h": _header(name, methods, origin), f"{name}.c": body},
        {method.name: method for method in methods},
        frozenset(source.operators),
        constant_bytes,
        memory_bytes,
    )


def _shared_memories(file: PTEFile) -> set[int]:
    entry = file.named_data.get(SHARED_MEMORY_KEY)
    if entry is None:
        return set()
    data = bytes(entry.data)
    return {*struct.unpack(f"<{len(data) // 4}I", data)}


def _names(plan: ExecutionPlan) -> list[str]:
    """Returns the names of the positional inputs; an empty list if they are unknown or an input is nested."""
    try:
        root = json.loads(plan.container_meta_type.encoded_inp_str)[1]
        names = [str(item) for item in root.get("names", [])]
    except (ValueError, IndexError, KeyError, TypeError, AttributeError):
        return []
    return names if len(names) == len(plan.inputs) else []


def _has_state(methods: list[MethodText]) -> bool:
    return any(method.state_bytes or method.initial for method in methods)


def _header(name: str, methods: list[MethodText], origin: str) -> str:
    guard = f"{name.upper()}_H"
    parts = []
    for method in methods:
        parts.append(f"{_description(name, method)}\n{method.signature};")
        for end in (*method.inputs, *method.outputs):
            if isinstance(end.value, TensorValue) and end.name is not None:
                macro = f"{method.function}_{end.name}_size".upper()
                parts.append(f"#define {macro} {end.value.numel * parts_of(end.value.dtype)}")
    reset = ""
    if _has_state(methods):
        reset = f"\n/* Sets the state of all methods to its initial values. */\nvoid {name}_reset(void);\n"
    body = "\n\n".join(_grouped(parts))
    return f"""/* Written by `rushlight aot-c` from {_comment(origin)}.
 *
 * Each function is a method of the model. It returns 0 for success. It returns 1 if an input is not valid: an
 * index that is out of range, a mask that selects another number of elements than there are values, an
 * integer division by zero, or a number that differs from the number that was used at export. The results
 * are incomplete in this case.
 *
 * The functions use static memory, so that only one call may run at a time. Inputs and outputs must not
 * overlap.
 */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{body}
{reset}
#ifdef __cplusplus
}}
#endif

#endif
"""


def _grouped(parts: list[str]) -> list[str]:
    """Joins consecutive `#define` lines into one block."""
    grouped: list[str] = []
    for part in parts:
        if part.startswith("#define") and grouped and grouped[-1].startswith("#define"):
            grouped[-1] += "\n" + part
        else:
            grouped.append(part)
    return grouped


def _description(name: str, method: MethodText) -> str:
    lines = [f"/* Method {_comment(method.name)}."]
    for end in (*method.inputs, *method.outputs):
        lines.append(f" *   {_comment(_end_text(end))}")
    if method.state_bytes:
        lines.append(
            f" * {method.state_bytes} bytes of state are kept between calls; {name}_reset() resets them."
        )
    return "\n".join([*lines, " */"])


def _comment(text: str) -> str:
    """Returns a text that a comment may contain: it does not end the comment or the line."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", text).replace("*/", "* /").replace("/*", "/ *")


def _end_text(end: End) -> str:
    title = f"{end.title}, " if end.title else ""
    if isinstance(end.value, TensorValue):
        tensor = end.value
        order = "" if tensor.is_row_major else f", with dims in the order {list(tensor.dim_order)} in memory"
        bits = ", as bits" if tensor.dtype.name in ("HALF", "BFLOAT16") else ""
        return f"{end.name}: {title}{tensor.describe()}{order}{bits}"
    if isinstance(end.value, Number):
        fixed = ", which must equal the number that was used at export" if end.is_fixed else ""
        return f"{end.name}: {title}a number{fixed}"
    return f"{end.title or 'a value'}: not a parameter, because no instruction reads it"


def _body(source: Source, methods: list[MethodText], origin: str) -> tuple[str, int, int]:
    """Returns the text of the C file, and the sizes of its constants and of planned memory in bytes."""
    initial = [item for method in methods for item in method.initial]
    texts = []
    if _has_state(methods):
        source.headers.add("string.h")
        texts.append(_reset(source, initial))
    for method in methods:
        head, brace, rest = method.text.partition(" {\n")
        start = f"  if (!is_ready) {source.name}_reset();\n" if initial else ""
        texts.append(f"{head}{brace}{start}{rest}")
    definitions, constants, memories = source.definitions("\n".join(texts))
    includes = "\n".join(f"#include <{header}>" for header in sorted({"stddef.h", *source.headers}))
    first = f"""/* Written by `rushlight aot-c` from {_comment(origin)}. */
#include "{source.name}.h"

{includes}

/* Without fused multiply-add, the results equal the results of the interpreter bit for bit. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif"""
    return "\n\n".join([first, *definitions, *texts]) + "\n", constants, memories


def _reset(source: Source, initial: list[tuple[str, str, int]]) -> str:
    lines = [f"  memset({memory}.bytes, 0, sizeof {memory}.bytes);" for memory in source.memories]
    lines += [f"  memcpy({address}, {name}, {size});" for address, name, size in initial]
    flag = "static bool is_ready = false;\n\n" if initial else ""
    if initial:
        lines.append("  is_ready = true;")
    body = "\n".join(lines)
    return f"{flag}void {source.name}_reset(void) {{\n{body}\n}}"
