"""Parser for the subset of the FlatBuffers schema language that `schema/*.fbs` uses.

The parser supports tables, enums, unions (also with renamed members), includes, defaults (`null` for optional
numbers), documentation (`///`), the attributes `required`, `deprecated` and `force_align`, and attributes
that a schema declares. The generators interpret these declared attributes:

- `min`, `max`: the bounds of a number. The verifiers check them, and the default must be within them.
- `closed`, of an enum: the verifiers reject values that are not members.
- `optional`, of a table or union: an absent value is None in Python. Without the attribute, it is a table
  with default values.
- `reads`, `writes`, `updates`: the number is an operand, which is the index of a value that the operation
  reads, writes, or writes in part.
- `in_place`, of an operand: the output may use the memory of the operand.
- `recursive`, of a table: this table may contain the table that has the field. A schema with this attribute
  has no C++ header.

Structs, keyed tables, vectors of unions and other cyclic tables are not supported. The parser runs only when
sources are generated; no program parses a schema at run time.
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
    """A schema has an error or is not supported. The message names the file and the line or field."""


@dataclass
class EnumDecl:
    """An enumeration.

    Attributes:
        name: the name of the enumeration.
        base: the integer type, such as `int8`.
        members: the values by name.
        doc: the documentation.
        is_closed: whether the verifiers reject values that are not members.
    """

    name: str
    base: str
    members: dict[str, int]
    doc: str = ""
    is_closed: bool = False


@dataclass
class UnionDecl:
    """A union. The number of a member's tag is its position, counted from 1.

    Attributes:
        name: the name of the union.
        members: the names of the tables by the names of the tags.
        docs: the documentation by the names of the tags.
    """

    name: str
    members: dict[str, str]
    docs: dict[str, str]


EFFECTS = ("reads", "writes", "updates")


@dataclass
class FieldDecl:
    """A field of a table.

    Attributes:
        name: the name of the field.
        kind: `scalar`, `bool`, `enum`, `string`, `table` or `union`.
        target: a scalar type such as `int32`, or the name of an enum, table or union.
        is_vector: whether the field is a vector of this type.
        default: the default value; None for an optional number.
        attributes: the values of the field's attributes. An attribute without a value has the value 1.
        doc: the documentation.
        slot: the index of the field in the vtable.
        bounds: the smallest and the largest valid number; None if all numbers are valid.
    """

    name: str
    kind: str
    target: str
    is_vector: bool
    default: int | float | None
    attributes: dict[str, int]
    doc: str = ""
    slot: int = 0
    bounds: tuple[int, int] | None = None

    @property
    def required(self) -> bool:
        """Whether a file without the field is invalid."""
        return "required" in self.attributes

    @property
    def deprecated(self) -> bool:
        """Whether the field is no longer used. It keeps its slot in the vtable."""
        return "deprecated" in self.attributes

    @property
    def recursive(self) -> bool:
        """Whether the table of the field may contain the table that has the field."""
        return "recursive" in self.attributes

    @property
    def align(self) -> int:
        """The alignment of the field in bytes; 0 if the schema does not set it."""
        return self.attributes.get("force_align", 0)

    @property
    def effect(self) -> str | None:
        """How the operation uses this operand: `reads`, `writes` or `updates`. None if it is no operand."""
        return next((name for name in EFFECTS if name in self.attributes), None)


@dataclass
class TableDecl:
    """A table with its fields."""

    name: str
    fields: list[FieldDecl]
    doc: str = ""

    @property
    def operands(self) -> list[FieldDecl]:
        """The fields that are operands, in the schema's order."""
        return [member for member in self.fields if member.effect is not None]


@dataclass
class SchemaDecl:
    """One schema file with all included files.

    In `tables`, a table follows the tables that it uses, except those of recursive fields.
    """

    namespace: str = ""
    identifier: str = ""
    extension: str = ""
    root: str = ""
    tables: dict[str, TableDecl] = field(default_factory=dict)
    enums: dict[str, EnumDecl] = field(default_factory=dict)
    unions: dict[str, UnionDecl] = field(default_factory=dict)
    namespaces: dict[str, str] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=lambda: {"required", "deprecated", "force_align"})

    @property
    def is_recursive(self) -> bool:
        """Whether a table may contain itself."""
        return any(member.recursive for table in self.tables.values() for member in table.fields)

    def depth(self) -> int:
        """Returns the number of tables in the longest chain of nested tables, including the root table."""
        depths: dict[str, int] = {}
        for table in self.tables.values():
            below = [depths[child] for child in self._children(table)]
            depths[table.name] = 1 + max(below, default=0)
        return depths[self.root]

    def _children(self, table: TableDecl) -> list[str]:
        children: list[str] = []
        for member in table.fields:
            if member.kind == "table" and not member.recursive:
                children.append(member.target)
            elif member.kind == "union":
                children.extend(self.unions[member.target].members.values())
        return children


def parse_schema(path: Path) -> SchemaDecl:
    """Parses a schema file and the files that it includes.

    Raises:
        SchemaSyntaxError: the schema has an error or is not supported.
    """
    schema = SchemaDecl()
    _Parser(path, schema).parse(is_root=True)
    _resolve(path, schema)
    return schema


_TOKEN = re.compile(
    r"""(?P<doc>///[^\n]*)|(?P<space>\s+|//[^\n]*)|(?P<string>"[^"\n]*")"""
    r"""|(?P<number>-?(?:\d+(?:\.\d+)?|inf\b))"""
    r"""|(?P<word>[A-Za-z_][A-Za-z0-9_.]*)|(?P<mark>[{}\[\]():;,=])"""
)


@dataclass
class _Token:
    """A token, with the documentation in front of it."""

    kind: str
    text: str
    line: int
    doc: str


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
        doc: list[str] = []
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise SchemaSyntaxError(f"{self._path.name}:{line}: unexpected {text[at]!r}")
            if match.lastgroup == "doc":
                doc.append(match.group()[3:].strip())
            elif match.lastgroup != "space":
                tokens.append(_Token(str(match.lastgroup), match.group(), line, "\n".join(doc)))
                doc = []
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
            doc = self._tokens[self._at].doc
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
            elif keyword == "attribute":
                schema.attributes.add(self._take("string").strip('"'))
                self._mark(";")
            elif keyword == "enum":
                self._enum(doc)
            elif keyword == "union":
                self._union()
            elif keyword == "table":
                self._table(doc)
            else:
                raise self._fail(f"{keyword!r} is not supported")

    def _declare(self, name: str) -> None:
        if name in self._schema.namespaces:
            raise self._fail(f"{name} is declared twice")
        self._schema.namespaces[name] = self._namespace

    def _attributes(self) -> dict[str, int]:
        """Reads the attributes in parentheses. An attribute without a number has the value 1."""
        attributes: dict[str, int] = {}
        if self._try("("):
            while not self._try(")"):
                key = self._take("word")
                if key not in self._schema.attributes:
                    raise self._fail(f"attribute {key!r} is not supported")
                attributes[key] = int(self._take("number")) if self._try(":") else 1
                self._try(",")
        return attributes

    def _enum(self, doc: str) -> None:
        name = self._take("word")
        self._declare(name)
        self._mark(":")
        base = self._take("word")
        if base not in SCALARS or base in ("bool", "float", "double"):
            raise self._fail(f"{base!r} cannot be the type of an enum")
        is_closed = "closed" in self._attributes()
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
        values = sorted(members.values())
        if is_closed and values != list(range(values[0], values[0] + len(values))):
            raise self._fail(f"the members of the closed enum {name} are not consecutive numbers")
        self._schema.enums[name] = EnumDecl(name, SCALARS[base], members, doc, is_closed)

    def _union(self) -> None:
        name = self._take("word")
        self._declare(name)
        self._mark("{")
        members: dict[str, str] = {}
        docs: dict[str, str] = {}
        while not self._try("}"):
            doc = self._tokens[self._at].doc if self._at < len(self._tokens) else ""
            member = self._take("word")
            docs[member] = doc
            if member in members or member == "NONE":
                raise self._fail(f"{name}.{member} is declared twice")
            members[member] = self._take("word") if self._try(":") else member
            if not self._try(",") and self._peek() != "}":
                raise self._fail("expected ',' or '}'")
        self._schema.unions[name] = UnionDecl(name, members, docs)

    def _table(self, doc: str) -> None:
        name = self._take("word")
        self._declare(name)
        self._mark("{")
        fields: list[FieldDecl] = []
        while not self._try("}"):
            fields.append(self._field())
        self._schema.tables[name] = TableDecl(name, fields, doc)

    def _field(self) -> FieldDecl:
        doc = self._tokens[self._at].doc if self._at < len(self._tokens) else ""
        name = self._take("word")
        self._mark(":")
        is_vector = self._try("[")
        target = self._take("word")
        if is_vector:
            self._mark("]")
        default: int | float | None = 0
        default_name = ""
        if self._try("="):
            if self._tokens[self._at].kind == "number":
                text = self._take("number")
                default = float(text) if "." in text or "inf" in text else int(text)
            else:
                default_name = self._take("word")
        attributes = self._attributes()
        self._mark(";")
        declared = FieldDecl(name, "", target, is_vector, default, attributes, doc)
        if default_name in ("true", "false"):
            declared.default = int(default_name == "true")
        elif default_name == "null":
            declared.default = None
        elif default_name:
            enum = self._schema.enums.get(target.rpartition(".")[2])
            if enum is None or default_name not in enum.members:
                raise self._fail(f"{default_name!r} is not a valid default for the type {target}")
            declared.default = enum.members[default_name]
        return declared


def _bounds(schema: SchemaDecl, member: FieldDecl) -> tuple[int, int] | None:
    """Returns the smallest and the largest valid value; None if all values are valid."""
    if member.kind == "enum" and schema.enums[member.target].is_closed:
        values = schema.enums[member.target].members.values()
        return min(values), max(values)
    if "min" in member.attributes or "max" in member.attributes:
        return member.attributes["min"], member.attributes["max"]
    return None


def _resolve(path: Path, schema: SchemaDecl) -> None:
    """Sets the kind, target, slot and bounds of each field, and sorts the tables by use."""
    for table in schema.tables.values():
        slot = 0
        for member in table.fields:
            problem = _set_kind(schema, member) or _problem_of(schema, member) or _set_bounds(schema, member)
            if problem is not None:
                raise SchemaSyntaxError(f"{path.name}: {table.name}.{member.name}: {problem}")
            if member.kind == "union":
                slot += 1  # the slot of the number that selects a member of the union
            member.slot = slot
            slot += 1
    for union in schema.unions.values():
        for tag, target in union.members.items():
            if target not in schema.tables:
                raise SchemaSyntaxError(f"{path.name}: {union.name}.{tag}: unknown table {target!r}")
    if schema.root not in schema.tables:
        raise SchemaSyntaxError(f"{path.name}: root_type {schema.root!r} is not a table")
    schema.tables = _sorted_by_use(path, schema)


def _set_kind(schema: SchemaDecl, member: FieldDecl) -> str | None:
    """Sets the kind and the target of a field. Returns an error text if the type of the field is unknown."""
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
        return f"unknown type {target!r}"
    return None


def _is_reference(member: FieldDecl) -> bool:
    """Returns whether a table stores the offset of the value, and not the value itself."""
    return member.is_vector or member.kind in ("string", "table", "union")


def _problem_of(schema: SchemaDecl, member: FieldDecl) -> str | None:
    """Returns an error text if the kind, default and attributes of a field contradict each other."""
    is_reference = _is_reference(member)
    if member.kind == "union" and member.is_vector:
        return "vectors of unions are not supported"
    if member.kind == "enum" and not member.is_vector:
        if member.default not in schema.enums[member.target].members.values():
            return "the default is not a member of the enum"
    if member.required and not is_reference:
        return "only references can be required"
    if member.default is None and (is_reference or member.kind != "scalar"):
        return "only numbers can have the default null"
    if member.effect is not None and member.target != "uint32":
        return "an operand must be a uint or a vector of uints"
    if ("min" in member.attributes) != ("max" in member.attributes):
        return "bounds need both a min and a max"
    return None


def _set_bounds(schema: SchemaDecl, member: FieldDecl) -> str | None:
    """Sets the bounds of a number. Returns an error text if its default is out of the bounds."""
    if _is_reference(member):
        return None
    member.bounds = _bounds(schema, member)
    if member.bounds and not member.bounds[0] <= (member.default or 0) <= member.bounds[1]:
        return "the default is out of its bounds"
    return None


def _sorted_by_use(path: Path, schema: SchemaDecl) -> dict[str, TableDecl]:
    """Returns the tables in an order in which each table comes after the tables that it contains.

    Raises:
        SchemaSyntaxError: a table contains itself.
    """
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
    return ordered
