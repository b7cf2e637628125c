"""Generates Python field tables for the codec, and dataclasses, from parsed schemas."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping

from rushlight.codegen.fbs import FieldDecl, SchemaDecl, TableDecl, UnionDecl

_CODES = {
    "bool": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}


def python_tables(schemas: Mapping[str, SchemaDecl]) -> str:
    """Returns the text of a module with one `Schema` constant for each schema.

    Args:
        schemas: the schemas by name. The name of a constant is that of the schema in upper case.
    """
    sources = ", ".join(f"schema/{name}.fbs" for name in schemas)
    lines = [
        f'"""Generated from {sources} by `python -m rushlight.codegen.generate`."""',
        "",
        "from rushlight.format.wire import Field, Kind, Schema",
    ]
    for name, schema in schemas.items():
        lines += [
            "",
            f"{name.upper()} = Schema(",
            f'    root="{schema.root}",',
            f'    identifier=b"{schema.identifier}",',
            "    tables={",
        ]
        for table in schema.tables.values():
            fields = [_field(schema, member) for member in table.fields if not member.deprecated]
            if len(fields) < 2:
                lines.append(f'        "{table.name}": ({"".join(fields)}{"," if fields else ""}),')
                continue
            lines.append(f'        "{table.name}": (')
            lines += [f"            {text}," for text in fields]
            lines.append("        ),")
        lines += ["    },", "    unions={" if schema.unions else "    unions={},"]
        for union in schema.unions.values():
            lines.append(f'        "{union.name}": (')
            lines += [f'            ("{tag}", "{target}"),' for tag, target in union.members.items()]
            lines.append("        ),")
        lines += ["    },"] if schema.unions else []
        lines.append("    enums={")
        for enum in schema.enums.values():
            lines.append(f'        "{enum.name}": {{')
            lines += [f'            "{member}": {value},' for member, value in enum.members.items()]
            lines.append("        },")
        lines += ["    },", ")"]
    return "\n".join(lines) + "\n"


def _field(schema: SchemaDecl, member: FieldDecl) -> str:
    parts = [f'"{member.name}"', str(member.slot), f"Kind.{member.kind.upper()}"]
    if member.kind in ("scalar", "bool"):
        parts.append(f'"{_CODES[member.target]}"')
    elif member.kind == "enum":
        base = schema.enums[member.target].base
        parts += [f'"{_CODES[base]}"', f'"{member.target}"']
    elif member.kind in ("table", "union"):
        parts.append(f'target="{member.target}"')
    if member.is_vector:
        parts.append("is_vector=True")
    if member.default or member.default is None:
        parts.append(f"default={_literal(member.default)}")
    if member.required:
        parts.append("required=True")
    if member.align:
        parts.append(f"align={member.align}")
    if member.bounds:
        parts.append(f"bounds={member.bounds}")
    return f"Field({', '.join(parts)})"


def _literal(value: int | float | None) -> str:
    if isinstance(value, float) and math.isinf(value):
        return f'float("{value}")'
    return repr(value)


def python_dataclasses(schema: SchemaDecl, source: str, operations: str | None = None) -> str:
    """Returns the text of a module with an IntEnum for each enum and a dataclass for each table.

    A member of a union whose name differs from its table's becomes a subclass of the table's class.

    Args:
        schema: the schema.
        source: the name of its file.
        operations: the module that defines `Operation`, the base class of tables with operands; None if no
            table has operands. These classes are generic in the type of an operand: an object of the
            compiler while a plan is built, and an index in a file.
    """
    lines = [
        f'"""Generated from schema/{source} by `python -m rushlight.codegen.generate`."""',
        "",
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass, field",
        "from enum import IntEnum",
        *(["from typing import TypeAlias"] if operations is None else _imports(operations)),
    ]
    for enum in schema.enums.values():
        lines += [
            "",
            "",
            f"class {enum.name}(IntEnum):",
            *_docstring(enum.doc or f"See schema/{source}.", 4),
            "",
        ]
        lines += [f"    {member} = {value}" for member, value in enum.members.items()]
    written: set[str] = set()
    for table in schema.tables.values():
        if operations is None:
            targets = (member.target for member in table.fields if member.kind == "union")
            unions = dict.fromkeys(name for name in targets if name not in written)
            for name in unions:
                lines += _union(schema.unions[name], source)
            written.update(unions)
        lines += _dataclass(schema, table, source, is_plain=operations is None)
    return "\n".join(lines) + "\n"


def _imports(operations: str) -> list[str]:
    return [
        "from typing import ClassVar, Generic, TypeVar",
        "",
        f"from {operations} import Effect, Operand, Operation",
        "",
        'V = TypeVar("V")',
    ]


def _union(union: UnionDecl, source: str) -> list[str]:
    """Returns the classes of renamed members, and the type alias of the union."""
    lines: list[str] = []
    for tag, table in union.members.items():
        if tag != table:
            doc = _docstring(union.docs[tag] or f"See schema/{source}.", 4)
            lines += ["", "", "@dataclass", f"class {tag}({table}):", *doc]
    alias = f"{union.name}: TypeAlias = "
    if len(alias + " | ".join(union.members)) <= 110:
        return [*lines, "", "", alias + " | ".join(union.members)]
    return [*lines, "", "", f"{alias}(", "    " + "\n    | ".join(union.members), ")"]


def _docstring(doc: str, indent: int) -> list[str]:
    space = " " * indent
    lines = [part for line in doc.splitlines() for part in textwrap.wrap(line, 103 - indent) or [""]]
    if len(lines) == 1:
        return [f'{space}"""{lines[0]}"""']
    return [f'{space}"""{lines[0]}', *(f"{space}{line}".rstrip() for line in lines[1:]), f'{space}"""']


def _is_generic(schema: SchemaDecl, table: TableDecl) -> bool:
    """Whether a table has operands, directly or in nested tables."""
    return bool(table.operands) or any(
        _is_generic(schema, schema.tables[target])
        for member in table.fields
        for target in _targets(schema, member)
    )


def _targets(schema: SchemaDecl, member: FieldDecl) -> list[str]:
    if member.kind == "union":
        return list(schema.unions[member.target].members.values())
    return [member.target] if member.kind == "table" else []


def _dataclass(schema: SchemaDecl, table: TableDecl, source: str, is_plain: bool) -> list[str]:
    base = "(Operation[V], Generic[V])" if table.operands else ""
    lines = [
        "",
        "",
        "@dataclass" if is_plain else "@dataclass(kw_only=True)",
        f"class {table.name}{base}:",
    ]
    lines += _docstring(table.doc or f"See schema/{source}.", 4)
    if table.operands:
        lines += ["", "    OPERANDS: ClassVar[tuple[Operand, ...]] = ("]
        lines += [f"        {_operand(member)}," for member in table.operands]
        lines.append("    )")
    if any(not member.deprecated for member in table.fields):
        lines.append("")
    for member in table.fields:
        if member.deprecated:
            continue
        lines.append(f"    {member.name}: {_annotation(member, is_plain)}{_initial(schema, member)}")
        lines += _docstring(member.doc, 4) if member.doc else []
    return lines


def _operand(member: FieldDecl) -> str:
    assert member.effect is not None
    parts = [f'"{member.name}"', f"Effect.{member.effect.upper()}"]
    parts += ["in_place=True"] if "in_place" in member.attributes else []
    parts += ["is_vector=True"] if member.is_vector else []
    return f"Operand({', '.join(parts)})"


_PYTHON_TYPES = {"bool": "bool", "string": "str"}


def _annotation(member: FieldDecl, is_plain: bool) -> str:
    if member.effect is not None:
        name = "V"
    elif member.kind == "scalar":
        name = "float" if member.target.startswith("float") else "int"
    elif member.kind == "union" and not is_plain:
        name = "Operation[int]"
    else:
        name = _PYTHON_TYPES.get(member.kind, member.target)
    if member.is_vector:
        return f"list[{name}]"
    is_optional = member.default is None or "optional" in member.attributes
    return f"{name} | None" if is_optional else name


def _initial(schema: SchemaDecl, member: FieldDecl) -> str:
    """Returns the default of a field with an equals sign; empty for a field without a default."""
    if member.is_vector:
        return " = field(default_factory=list)"
    if member.default is None or "optional" in member.attributes:
        return " = None"
    if member.effect is not None or member.kind == "union":
        return ""
    if member.kind == "table":
        return f" = field(default_factory={member.target})"
    if member.kind == "string":
        return ' = ""'
    if member.kind == "bool":
        return f" = {bool(member.default)}"
    if member.kind == "enum":
        members = schema.enums[member.target].members
        return (
            f" = {member.target}.{next(name for name, value in members.items() if value == member.default)}"
        )
    is_float = member.target.startswith("float")
    return f" = {_literal(float(member.default) if is_float else member.default)}"
