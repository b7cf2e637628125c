"""Parser of the part of the FlatBuffers schema language that `schema/*.fbs` is written in.

Tables, enums, unions (with renamed members), includes, defaults and the attributes `required`,
`deprecated` and `force_align`. Structs, keyed tables, vectors of unions and cyclic tables are refused.
Used when sources are generated; nothing at run time parses a schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SCALARS = {
    "bool": "bool",
    "byte": "int8",
    "int8": "int8",
    "ubyte": "uint8",
    "uint8": "uint8",
    "short": "int16",
    "int16": "int16",
    "ushort": "uint16",
    "uint16": "uint16",
    "int": "int32",
    "int32": "int32",
    "uint": "uint32",
    "uint32": "uint32",
    "long": "int64",
    "int64": "int64",
    "ulong": "uint64",
    "uint64": "uint64",
    "float": "float32",
    "float32": "float32",
    "double": "float64",
    "float64": "float64",
}


class SchemaSyntaxError(ValueError):
    """A schema that cannot be used; names the file and line."""


@dataclass
class EnumDecl:
    """An enumeration with its members by name."""

    name: str
    base: str
    members: dict[str, int]


@dataclass
class UnionDecl:
    """`members` maps the tag's name to the table's name; tags count from 1."""

    name: str
    members: dict[str, str]


@dataclass
class FieldDecl:
    """`kind` is scalar, bool, enum, string, table or union; `target` a canonical scalar or a name."""

    name: str
    kind: str
    target: str
    is_vector: bool
    default: int | float
    required: bool
    deprecated: bool
    align: int
    slot: int = 0


@dataclass
class TableDecl:
    """A table with its fields."""

    name: str
    fields: list[FieldDecl]


@dataclass
class SchemaDecl:
    """One schema file and all it includes. `tables` are ordered so that each comes after those it uses."""

    namespace: str = ""
    identifier: str = ""
    extension: str = ""
    root: str = ""
    tables: dict[str, TableDecl] = field(default_factory=dict)
    enums: dict[str, EnumDecl] = field(default_factory=dict)
    unions: dict[str, UnionDecl] = field(default_factory=dict)
    namespaces: dict[str, str] = field(default_factory=dict)

    def depth(self) -> int:
        """Longest chain of tables from the root, the root included."""
        depths: dict[str, int] = {}
        for table in self.tables.values():
            below = [depths[child] for child in self._children(table)]
            depths[table.name] = 1 + max(below, default=0)
        return depths[self.root]

    def _children(self, table: TableDecl) -> list[str]:
        children: list[str] = []
        for member in table.fields:
            if member.kind == "table":
                children.append(member.target)
            elif member.kind == "union":
                children.extend(self.unions[member.target].members.values())
        return children


def parse_schema(path: Path) -> SchemaDecl:
    """Parses a schema file. Raises SchemaSyntaxError."""
    schema = SchemaDecl()
    _Parser(path, schema).parse(is_root=True)
    _resolve(path, schema)
    return schema


_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)|(?P<string>"[^"\n]*")|(?P<number>-?\d+(?:\.\d+)?)"""
    r"""|(?P<word>[A-Za-z_][A-Za-z0-9_.]*)|(?P<mark>[{}\[\]():;,=])"""
)


@dataclass
class _Token:
    kind: str
    text: str
    line: int


class _Parser:
    def __init__(self, path: Path, schema: SchemaDecl) -> None:
        self._path = path
        self._schema = schema
        self._tokens = self._scan(path.read_text())
        self._at = 0
        self._namespace = ""

    def _scan(self, text: str) -> list[_Token]:
        tokens: list[_Token] = []
        at, line = 0, 1
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise SchemaSyntaxError(f"{self._path.name}:{line}: unexpected {text[at]!r}")
            if match.lastgroup != "space":
                tokens.append(_Token(str(match.lastgroup), match.group(), line))
            line += match.group().count("\n")
            at = match.end()
        return tokens

    def _fail(self, message: str) -> SchemaSyntaxError:
        line = self._tokens[min(self._at, len(self._tokens) - 1)].line if self._tokens else 1
        return SchemaSyntaxError(f"{self._path.name}:{line}: {message}")

    def _peek(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _take(self, kind: str) -> str:
        if self._at >= len(self._tokens) or self._tokens[self._at].kind != kind:
            raise self._fail(f"expected a {kind}, found {self._peek() or 'the end'!r}")
        self._at += 1
        return self._tokens[self._at - 1].text

    def _mark(self, text: str) -> None:
        if self._peek() != text:
            raise self._fail(f"expected {text!r}, found {self._peek() or 'the end'!r}")
        self._at += 1

    def _try(self, text: str) -> bool:
        if self._peek() == text:
            self._at += 1
            return True
        return False

    def parse(self, is_root: bool) -> None:
        schema = self._schema
        while self._at < len(self._tokens):
            keyword = self._take("word")
            if keyword == "include":
                included = self._path.parent / self._take("string").strip('"')
                self._mark(";")
                _Parser(included, schema).parse(is_root=False)
            elif keyword == "namespace":
                self._namespace = self._take("word")
                self._mark(";")
                if is_root:
                    schema.namespace = self._namespace
            elif keyword in ("file_identifier", "file_extension"):
                text = self._take("string").strip('"')
                self._mark(";")
                if keyword == "file_extension":
                    schema.extension = text
                elif len(text) != 4:
                    raise self._fail("a file identifier has four characters")
                else:
                    schema.identifier = text
            elif keyword == "root_type":
                schema.root = self._take("word")
                self._mark(";")
            elif keyword == "enum":
                self._enum()
            elif keyword == "union":
                self._union()
            elif keyword == "table":
                self._table()
            else:
                raise self._fail(f"{keyword!r} is not supported")

    def _declare(self, name: str) -> None:
        if name in self._schema.namespaces:
            raise self._fail(f"{name} is declared twice")
        self._schema.namespaces[name] = self._namespace

    def _enum(self) -> None:
        name = self._take("word")
        self._declare(name)
        self._mark(":")
        base = self._take("word")
        if base not in SCALARS or base in ("bool", "float", "double"):
            raise self._fail(f"{base!r} cannot be the type of an enum")
        self._mark("{")
        members: dict[str, int] = {}
        following = 0
        while not self._try("}"):
            member = self._take("word")
            value = int(self._take("number")) if self._try("=") else following
            if member in members or value in members.values():
                raise self._fail(f"{name}.{member} is declared twice")
            members[member] = value
            following = value + 1
            if not self._try(",") and self._peek() != "}":
                raise self._fail("expected ',' or '}'")
        self._schema.enums[name] = EnumDecl(name, SCALARS[base], members)

    def _union(self) -> None:
        name = self._take("word")
        self._declare(name)
        self._mark("{")
        members: dict[str, str] = {}
        while not self._try("}"):
            member = self._take("word")
            if member in members or member == "NONE":
                raise self._fail(f"{name}.{member} is declared twice")
            members[member] = self._take("word") if self._try(":") else member
            if not self._try(",") and self._peek() != "}":
                raise self._fail("expected ',' or '}'")
        self._schema.unions[name] = UnionDecl(name, members)

    def _table(self) -> None:
        name = self._take("word")
        self._declare(name)
        self._mark("{")
        fields: list[FieldDecl] = []
        while not self._try("}"):
            fields.append(self._field())
        self._schema.tables[name] = TableDecl(name, fields)

    def _field(self) -> FieldDecl:
        name = self._take("word")
        self._mark(":")
        is_vector = self._try("[")
        target = self._take("word")
        if is_vector:
            self._mark("]")
        default: int | float = 0
        default_name = ""
        if self._try("="):
            if self._tokens[self._at].kind == "number":
                text = self._take("number")
                default = float(text) if "." in text else int(text)
            else:
                default_name = self._take("word")
        attributes: dict[str, int] = {}
        if self._try("("):
            while not self._try(")"):
                key = self._take("word")
                attributes[key] = int(self._take("number")) if self._try(":") else 1
                self._try(",")
        self._mark(";")
        unknown = attributes.keys() - {"required", "deprecated", "force_align"}
        if unknown:
            raise self._fail(f"attribute {sorted(unknown)[0]!r} is not supported")
        declared = FieldDecl(
            name=name,
            kind="",
            target=target,
            is_vector=is_vector,
            default=default,
            required="required" in attributes,
            deprecated="deprecated" in attributes,
            align=attributes.get("force_align", 0),
        )
        if default_name in ("true", "false"):
            declared.default = int(default_name == "true")
        elif default_name:
            enum = self._schema.enums.get(target.rpartition(".")[2])
            if enum is None or default_name not in enum.members:
                raise self._fail(f"{default_name!r} is no default of a {target}")
            declared.default = enum.members[default_name]
        return declared


def _resolve(path: Path, schema: SchemaDecl) -> None:
    """Fills in kinds, canonical targets and slots, and orders the tables."""

    def fail(table: TableDecl, member: FieldDecl, message: str) -> SchemaSyntaxError:
        return SchemaSyntaxError(f"{path.name}: {table.name}.{member.name}: {message}")

    for table in schema.tables.values():
        slot = 0
        for member in table.fields:
            target = member.target
            local = target.rpartition(".")[2]
            if target in SCALARS:
                member.target = SCALARS[target]
                member.kind = "bool" if target == "bool" else "scalar"
            elif target == "string":
                member.kind = "string"
            elif local in schema.enums:
                member.kind, member.target = "enum", local
            elif local in schema.tables:
                member.kind, member.target = "table", local
            elif local in schema.unions:
                member.kind, member.target = "union", local
            else:
                raise fail(table, member, f"unknown type {target!r}")
            if member.kind == "union":
                if member.is_vector:
                    raise fail(table, member, "vectors of unions are not supported")
                slot += 1
            if member.kind == "enum" and not member.is_vector:
                if member.default not in schema.enums[local].members.values():
                    raise fail(table, member, "the default is not a member of the enum")
            is_reference = member.is_vector or member.kind in ("string", "table", "union")
            if member.required and not is_reference:
                raise fail(table, member, "only references can be required")
            member.slot = slot
            slot += 1
    for union in schema.unions.values():
        for tag, target in union.members.items():
            if target not in schema.tables:
                raise SchemaSyntaxError(f"{path.name}: {union.name}.{tag}: unknown table {target!r}")
    if schema.root not in schema.tables:
        raise SchemaSyntaxError(f"{path.name}: root_type {schema.root!r} is not a table")

    ordered: dict[str, TableDecl] = {}
    entered: set[str] = set()

    def visit(name: str) -> None:
        if name in ordered:
            return
        if name in entered:
            raise SchemaSyntaxError(f"{path.name}: table {name} contains itself")
        entered.add(name)
        for child in schema._children(schema.tables[name]):
            visit(child)
        ordered[name] = schema.tables[name]

    for name in list(schema.tables):
        visit(name)
    schema.tables = ordered
