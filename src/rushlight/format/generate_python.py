"""Python field tables for the codec, from parsed schemas."""

from __future__ import annotations

from collections.abc import Mapping

from rushlight.format.fbs import FieldDecl, SchemaDecl

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
    """Text of a module with one `Schema` constant per schema, named in upper case."""
    sources = ", ".join(f"schema/{name}.fbs" for name in schemas)
    lines = [
        f'"""Generated from {sources} by `python -m rushlight.format.generate`."""',
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
    if member.default:
        parts.append(f"default={member.default!r}")
    if member.required:
        parts.append("required=True")
    if member.align:
        parts.append(f"align={member.align}")
    return f"Field({', '.join(parts)})"
