"""Mutators: tables are changed by the mutator of `fuzz/`, archives by their entries, text by its lines."""

from __future__ import annotations

import ctypes
import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Mutate = Callable[[bytes, random.Random], bytes]

# In the order of rushlight::fuzz::Format.
FORMATS = ("program", "data_file", "bundled_program", "etdump", "cpu_plan", "xnnpack_payload")
GROWTH = 1 << 16  # maximum growth of a file in bytes

NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 2**64, 1e308, -0.0)
TEXTS = ("", "0", "x", "None", "../x", "\0", "é", "a" * 5000, "%s", "aten::add.out", "{}", "[]")


def tables(library: Path, kind: str) -> Mutate:
    """Returns the mutator of the shared library `rushlight_mutator` for a format."""
    function = ctypes.CDLL(str(library)).rushlight_mutate
    function.restype = ctypes.c_size_t
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint64]
    number = FORMATS.index(kind)

    def mutate(data: bytes, chosen: random.Random) -> bytes:
        buffer = ctypes.create_string_buffer(data, len(data) + GROWTH)
        size = function(number, buffer, len(data), len(data) + GROWTH, chosen.getrandbits(64))
        return buffer.raw[:size]

    return mutate


def some_bytes(data: bytes, chosen: random.Random) -> bytes:
    """Changes some bytes at random positions."""
    changed = bytearray(data)
    for _ in range(chosen.randint(1, 4)):
        if changed:
            changed[chosen.randrange(len(changed))] = chosen.choice(
                [0, 1, 4, 127, 128, 255, chosen.randrange(256)]
            )
    return bytes(changed[: chosen.randrange(len(changed) + 1)] if chosen.randrange(20) == 0 else changed)


def _other(value: Any, chosen: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float) and chosen.randrange(3):
        return chosen.choice([value + 1, value - 1, -value, *NUMBERS])
    if isinstance(value, str) and chosen.randrange(3):
        at = chosen.randrange(len(value) + 1)
        return chosen.choice([value[:at], value[at:], value + value, value[:at] + "\0" + value[at:]])
    return chosen.choice([None, True, [], {}, [[]], {"a": None}, *NUMBERS, *TEXTS])


def json_value(value: Any, chosen: random.Random) -> Any:
    """Changes one value in a JSON tree."""
    if isinstance(value, dict) and value and chosen.randrange(12):
        key = chosen.choice(list(value))
        action = chosen.randrange(10)
        if action == 0:
            return {k: v for k, v in value.items() if k != key}
        if action == 1:
            return {(str(_other(k, chosen)) if k == key else k): v for k, v in value.items()}
        if action == 2:
            return {**value, key: value[chosen.choice(list(value))]}
        return {**value, key: json_value(value[key], chosen)}
    if isinstance(value, list) and value and chosen.randrange(12):
        at = chosen.randrange(len(value))
        action = chosen.randrange(10)
        if action == 0:
            return value[:at] + value[at + 1 :]
        if action == 1:
            return [*value, value[at]]
        if action == 2:
            return [*value[:at], chosen.choice(value), *value[at + 1 :]]
        return [*value[:at], json_value(value[at], chosen), *value[at + 1 :]]
    return _other(value, chosen)


def _entry(data: bytes, chosen: random.Random) -> bytes:
    try:
        return json.dumps(json_value(json.loads(data), chosen)).encode()
    except (ValueError, RecursionError):
        return some_bytes(data, chosen)


def json_text(data: bytes, chosen: random.Random) -> bytes:
    """Changes one value in a JSON file."""
    if chosen.randrange(20) == 0:
        return b"[" * chosen.choice([100, 10000, 100000]) + data
    return _entry(data, chosen)


def archive(data: bytes, chosen: random.Random) -> bytes:
    """Changes, removes or renames an entry of a zip archive, and writes correct checksums."""
    if chosen.randrange(10) == 0:
        return some_bytes(data, chosen)
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        entries = [(name, source.read(name)) for name in source.namelist()]
        comment = source.comment
    for _ in range(chosen.randint(1, 2)):
        at = chosen.randrange(len(entries))
        name, contents = entries[at]
        action = chosen.randrange(12)
        if action == 0 and len(entries) > 1:
            del entries[at]
        elif action == 1:
            entries[at] = chosen.choice([name + "x", name[:-1] or "x", "data"]), contents
        elif action == 2:
            entries[at] = name, chosen.choice(entries)[1]
        else:
            entries[at] = name, _entry(contents, chosen)
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as target:
        for name, contents in dict(entries).items():
            target.writestr(name, contents)
        target.comment = comment if chosen.randrange(10) else some_bytes(comment, chosen)
    return result.getvalue()


def text(data: bytes, chosen: random.Random) -> bytes:
    """Changes words, lines and indentation."""
    lines = data.decode().split("\n")
    for _ in range(chosen.randint(1, 3)):
        at = chosen.randrange(len(lines))
        match chosen.randrange(6):
            case 0:
                del lines[at : at + chosen.randint(1, 3)]
                lines = lines or [""]
            case 1:
                lines.insert(at, chosen.choice(lines))
            case 2:
                lines[at] = " " * chosen.randrange(6) + lines[at].lstrip()
            case 3:
                lines[at] = some_bytes(lines[at].encode(), chosen).decode(errors="replace")
            case _:
                words = re.split(r"(\W+)", lines[at])
                words[chosen.randrange(len(words))] = str(
                    chosen.choice([*NUMBERS, *TEXTS, "[", "{", "&a", "*a", ":", "!!int"])
                )
                lines[at] = "".join(words)
    return "\n".join(lines).encode(errors="replace")
